/** The increase of a counter in a period. */
import { textOf } from '../editor/flow-document.ts';
import { said } from '../strings/language.ts';
import type { NodeView } from './view.ts';

export const periodDeltaView: NodeView = {
  title: said({ en: 'Period counter', de: 'Periodenzähler' }),
  about: said({
    en: 'Increase of a counter since the start of the day, week, month or quarter.',
    de: 'Zuwachs eines Zählers seit Beginn des Tages, der Woche, des Monats oder des Quartals.',
  }),
  tone: 'computes',
  parts: [],
  fields: [
    {
      name: 'input',
      label: said({ en: 'Counter', de: 'Zähler' }),
      hint: said({
        en: 'A variable that only increases, such as an energy meter',
        de: 'Eine Variable, die nur wächst, etwa ein Energiezähler',
      }),
      control: 'variable',
    },
    {
      name: 'period',
      label: said({ en: 'Since the start of the', de: 'Seit Beginn von' }),
      control: {
        daily: said({ en: 'day', de: 'Tag' }),
        weekly: said({ en: 'week (Monday)', de: 'Woche (Montag)' }),
        monthly: said({ en: 'month', de: 'Monat' }),
        quarterly: said({ en: 'quarter', de: 'Quartal' }),
      },
    },
    {
      name: 'timezone',
      label: said({ en: 'Time zone (empty: the site’s)', de: 'Zeitzone (leer: die der Anlage)' }),
      control: 'text',
    },
    { name: 'name', label: said({ en: 'Result variable', de: 'Ergebnisvariable' }), control: 'name' },
  ],
  starting: () => ({ input: '', period: 'daily', name: '' }),
  computed: (config) => ({
    name: textOf(config['name']),
    from: textOf(config['input']),
    detail: textOf(config['period']),
  }),
};
