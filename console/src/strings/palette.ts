/** The command palette. */

export const palette = {
  title: 'Commands',
  placeholder: 'Go to a rule, a page, or do something…',
  none: (text: string) => `Nothing is called “${text}”.`,
  page: 'Page',
  rule: 'Rule',
  action: 'Do',
  here: 'On this page',
  with: (action: string, name: string) => `${action}: ${name}`,
};
