/** One-click fixes in the problem list. */

export const fixWords = {
  fix: (label: string) => `Fix: ${label}`,
  useName: (name: string) => `Use “${name}”`,
  nameIt: (name: string) => `Rename to “${name}”`,
  remove: 'Remove the node',
  wireToEnd: 'Wire it to the end',
  moveFirst: 'Move it first',
  addEnd: 'Add an end node',
  redraw: 'Draw the edges from the wires',
};
