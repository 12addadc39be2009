/** Inputs of rules that have no usable value although their channel answers: a sensor that is broken, gone, or silent. */
import type { Site } from '../../site/site.ts';
import { type AlarmSource, builtIn } from './source.ts';

/** Rules named in a message. */
const namedMax = 5;

export function inputAlarms({
  channels: all,
  instances,
  points,
}: Pick<Site, 'channels' | 'instances' | 'points'>): AlarmSource {
  const keyOf = (instance: number, kind: string, id: number): string => `${instance}:${kind}:${id}`;
  const byKey = new Map(points.map((point) => [keyOf(point.instance, point.kind, point.id), point]));
  const nameOf = new Map(instances.map(({ id, name }) => [id, name]));
  return {
    owns: (id) => id.startsWith('input-unusable:'),
    look: ({ unusableInputs, channels }, limits) =>
      unusableInputs?.flatMap(({ point: ref, rules }) => {
        const key = keyOf(ref.instance, ref.point_type, ref.point);
        const point = byKey.get(key);
        const channel = point === undefined ? undefined : all[point.channel];
        // The alarm of a device that refuses covers its points.
        if (point === undefined || channels.find(({ id }) => id === channel?.id)?.state !== 'online') return [];
        const others = rules.length - namedMax;
        return [
          {
            facts: builtIn({
              id: `input-unusable:${key}`,
              name: `${nameOf.get(ref.instance) ?? ref.instance} ${point.name} has no usable value`,
              priority: 'medium',
              message: `Rules that read it are skipped: ${rules.slice(0, namedMax).join(', ')}${others > 0 ? ` and ${others} more` : ''}.`,
            }),
            raw: true,
            delayMs: limits.input_unusable_ms,
          },
        ];
      }) ?? null,
  };
}
