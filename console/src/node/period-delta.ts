/** The increase of a counter in a period. */
import { textOf } from '../editor/flow-document.ts';
import type { NodeView } from './view.ts';

export const periodDeltaView: NodeView = {
  title: 'Period counter',
  about: 'Increase of a counter since the start of the day, week, month or quarter.',
  tone: 'computes',
  parts: [],
  fields: [
    {
      name: 'input',
      label: 'Counter',
      hint: 'A variable that only increases, such as an energy meter',
      control: 'variable',
    },
    {
      name: 'period',
      label: 'Since the start of the',
      control: { daily: 'day', weekly: 'week (Monday)', monthly: 'month', quarterly: 'quarter' },
    },
    { name: 'timezone', label: 'Time zone (empty: the site’s)', control: 'text' },
    { name: 'name', label: 'Result variable', control: 'name' },
  ],
  starting: () => ({ input: '', period: 'daily', name: '' }),
  computed: (config) => ({
    name: textOf(config['name']),
    from: textOf(config['input']),
    detail: textOf(config['period']),
  }),
};
