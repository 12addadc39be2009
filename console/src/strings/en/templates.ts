/** Templates of rules. */

export const templateWords = {
  createTitle: 'New rule from a template',
  createLead: 'The rule is created disabled, with the tests of its template. Choose its points and its numbers.',
  template: 'Template',
  ofSite: 'Rules of this site with the tag #template',
  included: 'Included',
  name: 'Name',
  points: 'Points',
  numbers: 'Numbers',
  create: 'Create rule',
  created: (name: string) => `Created “${name}”.`,
  incomplete: 'Choose every point, and enter a name and every number.',
  updateTitle: 'Update from the template?',
  updateLead: (template: string) =>
    `The rule is built again from “${template}” with these points and numbers. It keeps its name and stays enabled or disabled.`,
  same: 'The rule matches its template. Nothing would change.',
  update: 'Update',
  updated: 'Updated from the template.',
  before: 'Stored',
  after: 'From the template',
};
