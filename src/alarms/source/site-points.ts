/** Alarms that site.yaml defines: a point beyond a threshold. */

import { valueOf } from '../../points/point-value.ts';
import type { SitePoint } from '../../site/site.ts';
import { builtInAlarms, type SiteAlarm } from '../../site/site-alarms.ts';
import { beyond } from '../condition.ts';
import type { AlarmSource } from './source.ts';

export function sitePointAlarms(alarms: readonly SiteAlarm[], points: readonly SitePoint[]): AlarmSource {
  return {
    owns: (id) => !builtInAlarms.some((name) => id === name || id.startsWith(`${name}:`)),
    look: ({ sample }, _limits, was) =>
      alarms.map(({ index, delayMs, ...facts }) => {
        const point = points[index];
        const value = point === undefined ? null : valueOf(point, sample).value;
        return { facts, raw: value === null ? null : beyond(facts.threshold, value, was(facts.id)), delayMs };
      }),
  };
}
