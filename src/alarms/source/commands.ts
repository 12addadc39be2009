/** Action points that do not take their commands although their channel answers. */
import type { FindPoint } from './named-points.ts';
import { type AlarmSource, builtIn } from './source.ts';

export function commandAlarms(find: FindPoint): AlarmSource {
  return {
    owns: (id) => id.startsWith('command-failing:'),
    look: ({ failedCommands, pointErrors, channels }, limits) =>
      failedCommands?.flatMap((ref) => {
        const named = find(ref, channels);
        if (named === undefined) return [];
        const reason = pointErrors.get(named.point.index) ?? 'It was not sent in time';
        return [
          {
            facts: builtIn({
              id: `command-failing:${named.key}`,
              name: `The last command to ${named.name} was not carried out`,
              priority: 'high',
              message: `${reason}. The device does not have the commanded value.`,
            }),
            raw: true,
            delayMs: limits.command_failing_ms,
          },
        ];
      }) ?? null,
  };
}
