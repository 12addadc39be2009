/** The command palette. */

export const palette = {
  title: 'Commands',
  placeholder: 'Search rules, pages and commands…',
  none: (text: string) => `No results for “${text}”.`,
  page: 'Page',
  rule: 'Rule',
  action: 'Command',
  here: 'On this page',
  with: (action: string, name: string) => `${action}: ${name}`,
};
