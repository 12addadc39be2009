/** Alarms of site.yaml [alarms §1]: a point beyond a threshold for a time. */
import Type, { type Static } from 'typebox';
import { strict } from '../base/schema.ts';
import type { YamlFile } from '../base/yaml.ts';
import type { PointKind, PointRef } from './catalogue.ts';
import { identifier } from './protocol/protocol.ts';

/** Maximum number of alarms of one site. */
export const alarmsMaximum = 1000;

/** Alarms of every site. Those with a subject, such as `channel-offline`, are followed by a colon and its id. */
export const builtInAlarms = [
  'channel-offline',
  'device-refuses',
  'input-unusable',
  'command-failing',
  'rule-failing',
  'rule-skipped',
  'rule-not-runnable',
  'engine-restarted',
  'engine-overloaded',
  'executions-lost',
  'standby-missing',
  'clock-differs',
  'audit-broken',
  'audit-unavailable',
  'witness-silent',
  'storage-slow',
  'disk-low',
  'history-not-stored',
  'backup-overdue',
  'configuration-invalid',
  'certificate-expiring',
  'notification-failing',
  'forecast-failing',
  'override-active',
] as const;

export const alarmPriorities = ['low', 'medium', 'high', 'critical'] as const;
export type AlarmPriority = (typeof alarmPriorities)[number];

const wireId = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const alarmSchema = strict({
  id: identifier,
  name: Type.String({ minLength: 1, maxLength: 128 }),
  point: strict({ instance: wireId, point_type: Type.Optional(Type.Enum(['measurement', 'action'])), point: wireId }),
  above: Type.Optional(Type.Number()),
  below: Type.Optional(Type.Number()),
  equals: Type.Optional(Type.Number()),
  deadband: Type.Optional(Type.Number({ minimum: 0 })),
  delay_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
  priority: Type.Enum([...alarmPriorities]),
  message: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
});
export const siteAlarmsSchema = Type.Array(alarmSchema, { maxItems: alarmsMaximum });

export interface AlarmThreshold {
  readonly kind: 'above' | 'below' | 'equals';
  readonly value: number;
  /** Deadband for clearing the alarm. */
  readonly deadband: number;
}

/** Plain data: a site crosses threads. */
export interface SiteAlarm {
  readonly id: string;
  readonly name: string;
  readonly point: PointRef;
  /** Position of the point in the site. */
  readonly index: number;
  readonly threshold: AlarmThreshold;
  /** Time for which the value must be beyond the threshold. */
  readonly delayMs: number;
  readonly priority: AlarmPriority;
  readonly message: string | null;
}

/** The part of a point that alarms refer to. */
interface AlarmPoint {
  readonly index: number;
  readonly instance: number;
  readonly kind: PointKind;
  readonly id: number;
}

/** Resolves the alarms of a site file; adds errors to `faults`. */
export function readSiteAlarms(
  alarms: Static<typeof siteAlarmsSchema>,
  points: readonly AlarmPoint[],
  file: YamlFile,
  faults: string[],
): SiteAlarm[] {
  const seen = new Set<string>();
  return alarms.flatMap((text, position): SiteAlarm[] => {
    const path = `/alarms/${position}`;
    const { id, name, priority, message = null } = text;
    if (seen.has(id)) faults.push(file.at(`${path}/id`, `duplicate alarm ${id}`));
    seen.add(id);
    if (isBuiltIn(id)) faults.push(file.at(`${path}/id`, `${id} is the id of a built-in alarm; choose another`));
    const { instance, point: number, point_type: kind = 'measurement' } = text.point;
    const point = points.find((each) => each.kind === kind && each.instance === instance && each.id === number);
    if (point === undefined)
      faults.push(file.at(`${path}/point`, `unknown ${kind} point ${number} of instance ${instance}`));
    const threshold = thresholdOf(text);
    if (threshold === null) faults.push(file.at(path, 'give one of above, below and equals'));
    if (point === undefined || threshold === null) return [];
    const ref: PointRef = { instance, point_type: kind, point: number };
    return [{ id, name, point: ref, index: point.index, threshold, delayMs: text.delay_ms ?? 0, priority, message }];
  });
}

function isBuiltIn(id: string): boolean {
  return builtInAlarms.some((name) => id === name || id.startsWith(`${name}:`));
}

/** Null unless exactly one is given. */
function thresholdOf(text: Static<typeof alarmSchema>): AlarmThreshold | null {
  const { deadband = 0 } = text;
  const given = (['above', 'below', 'equals'] as const).flatMap((kind): AlarmThreshold[] => {
    const value = text[kind];
    return value === undefined ? [] : [{ kind, value, deadband }];
  });
  return given.length === 1 ? (given[0] ?? null) : null;
}
