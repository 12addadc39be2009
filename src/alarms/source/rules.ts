/** Rules whose runs all fail, or are all skipped. */
import { type AlarmSource, builtIn } from './source.ts';

export const ruleAlarms: AlarmSource = {
  owns: (id) => id.startsWith('rule-failing:') || id.startsWith('rule-skipped:'),
  look: ({ troubles }) =>
    troubles?.map(({ rule_id: id, outcome, name, reason }) => {
      const [kind, text] =
        outcome === 'failed' ? (['rule-failing', 'fails'] as const) : (['rule-skipped', 'is skipped'] as const);
      return {
        facts: builtIn({
          id: `${kind}:${id}`,
          name: `Rule "${name}" ${text} at every run`,
          priority: 'medium',
          message: `Last reason: ${reason}. The history of the rule has each run.`,
        }),
        raw: true,
        delayMs: 0,
      };
    }) ?? null,
};
