/** Inputs of rules that have no usable value although their channel answers: a sensor that is broken, gone, or silent. */
import type { FindPoint } from './named-points.ts';
import { type AlarmSource, builtIn } from './source.ts';

export function inputAlarms(find: FindPoint): AlarmSource {
  return {
    owns: (id) => id.startsWith('input-unusable:'),
    look: ({ unusableInputs, channels }, limits) =>
      unusableInputs?.flatMap(({ point, rules, names }) => {
        const named = find(point, channels);
        if (named === undefined) return [];
        const others = rules - names.length;
        return [
          {
            facts: builtIn({
              id: `input-unusable:${named.key}`,
              name: `${named.name} has no usable value`,
              priority: 'medium',
              message: `Rules that read it are skipped: ${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}.`,
            }),
            raw: true,
            delayMs: limits.input_unusable_ms,
          },
        ];
      }) ?? null,
  };
}
