/** The command palette. */

export const palette = {
  title: 'Commands',
  placeholder: 'Search rules, points, pages and commands…',
  none: (text: string) => `No results for “${text}”.`,
  page: 'Page',
  rule: 'Rule',
  point: 'Point',
  action: 'Command',
  here: 'On this page',
  with: (action: string, name: string) => `${action}: ${name}`,
};
