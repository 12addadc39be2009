/** The builder of conditions, in the form of a decision. */

export const conditionWords = {
  title: 'Condition',
  compared: 'Compared',
  now: (value: string) => `now ${value}`,
  side: 'Holds when it is',
  above: 'above',
  below: 'below',
  value: 'Value',
  release: 'Releases at',
  seconds: 'For seconds',
  operand: 'Enter a number or a name that is known here.',
  releaseSide: {
    above: 'Enter a release value below the value.',
    below: 'Enter a release value above the value.',
  },
  incomplete: 'Choose a point or variable to compare, and enter a value.',
  use: 'Use this condition',
  chart: (threshold: string) =>
    `The last 24 hours, with the threshold at ${threshold}. Drag it, or enter a value below.`,
  noThreshold: 'no value',
  noHistory: 'No values of this point were recorded in the last 24 hours.',
};
