/** Triggers [rules §3.1]: reading `trigger_config`, strictly, with every issue at once. */
import type { PointRef, SiteCatalogue } from '../../site/catalogue.ts';
import type { Issue } from '../issues.ts';
import { Issues, isFields, Reader } from '../issues.ts';
import { triggerLimits } from '../limits.ts';

export interface IntervalTrigger {
  readonly type: 'interval';
  readonly interval_ms: number;
}
export interface ValueDeadband {
  readonly type: 'absolute' | 'percent';
  /** In the point's unit, or in percent of the last value. */
  readonly threshold: number;
}
export interface OnChangeTrigger {
  readonly type: 'on_change';
  readonly point_refs: readonly PointRef[];
  readonly time_deadband_ms: number;
  readonly value_deadband: ValueDeadband | null;
}
export type Trigger = IntervalTrigger | OnChangeTrigger;

export type ParsedTrigger =
  | { readonly ok: true; readonly trigger: Trigger }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Period of a rule without trigger and without cooldown, in milliseconds [rules §3.1]. */
export const defaultIntervalMs = 1000;

/** What a rule runs by: its trigger, else its cooldown as the period when that is above 0, else one second. */
export function effectiveTrigger(trigger: Trigger | null, cooldownMs: number): Trigger {
  return trigger ?? { type: 'interval', interval_ms: cooldownMs > 0 ? cooldownMs : defaultIntervalMs };
}

export function parseTrigger(value: unknown, catalogue: SiteCatalogue): ParsedTrigger {
  const issues = new Issues();
  if (!isFields(value)) {
    issues.add('invalid-trigger', '', 'a trigger is an object', '{"type":"interval","interval_ms":1000}');
    return { ok: false, issues: issues.list };
  }
  const reader = new Reader(value, '', undefined, issues);
  const trigger = readTrigger(reader, catalogue);
  return trigger === undefined || issues.list.length > 0 ? { ok: false, issues: issues.list } : { ok: true, trigger };
}

function readTrigger(reader: Reader, catalogue: SiteCatalogue): Trigger | undefined {
  const type = reader.get('type');
  if (type === 'interval') {
    reader.onlyKnown(['type', 'interval_ms']);
    const intervalMs = reader.integer('interval_ms', 1, triggerLimits.intervalMsMaximum);
    return intervalMs === undefined ? undefined : { type, interval_ms: intervalMs };
  }
  if (type === 'on_change') return readOnChange(reader, catalogue);
  reader.fault(
    'unknown-trigger-type',
    'type',
    "'type' must be interval or on_change",
    '{"type":"interval","interval_ms":1000}',
  );
  return undefined;
}

function readOnChange(reader: Reader, catalogue: SiteCatalogue): OnChangeTrigger | undefined {
  reader.onlyKnown(['type', 'point_refs', 'time_deadband_ms', 'value_deadband']);
  const refs = readPointRefs(reader, catalogue);
  const timeDeadbandMs = reader.integer('time_deadband_ms', 0, Number.MAX_SAFE_INTEGER);
  const valueDeadband = readValueDeadband(reader);
  if (timeDeadbandMs === undefined || valueDeadband === undefined) return undefined;
  return { type: 'on_change', point_refs: refs, time_deadband_ms: timeDeadbandMs, value_deadband: valueDeadband };
}

function readPointRefs(reader: Reader, catalogue: SiteCatalogue): PointRef[] {
  const seen = new Set<string>();
  return reader.list('point_refs', triggerLimits.pointsMaximum, true).flatMap((entry) => {
    entry.onlyKnown(['instance', 'point_type', 'point']);
    const instance = entry.integer('instance', 0, 4_294_967_295);
    const point = entry.integer('point', 0, 4_294_967_295);
    const pointType = entry.get('point_type');
    if (pointType !== 'measurement' && pointType !== 'action') {
      entry.fault(
        'invalid-field',
        'point_type',
        "'point_type' must be measurement or action",
        'for example measurement',
      );
      return [];
    }
    if (instance === undefined || point === undefined) return [];
    const ref = { instance, point_type: pointType, point } as const;
    const key = `${instance}:${pointType}:${point}`;
    if (seen.has(key))
      entry.fault('duplicate-point', '', 'the point stands twice in point_refs', 'name each point once');
    seen.add(key);
    if (catalogue.point(ref) !== undefined) return [ref];
    const message = `the site has no ${pointType} point ${point} of instance ${instance}`;
    entry.fault('unknown-point', '', message, 'GET /api/instances lists the points');
    return [];
  });
}

/** Undefined when the member is wrong; absent is null, which says "any change". */
function readValueDeadband(reader: Reader): ValueDeadband | null | undefined {
  if (reader.get('value_deadband') === null || !reader.has('value_deadband')) return null;
  const band = reader.inner('value_deadband');
  if (band === undefined) return undefined;
  band.onlyKnown(['type', 'threshold']);
  const type = band.get('type');
  const threshold = band.get('threshold');
  const knownType = type === 'absolute' || type === 'percent';
  if (!knownType)
    band.fault('invalid-field', 'type', "'type' must be absolute or percent", 'absolute is in the unit of the point');
  const knownThreshold = typeof threshold === 'number' && Number.isFinite(threshold) && threshold >= 0;
  if (!knownThreshold)
    band.fault('invalid-field', 'threshold', "'threshold' must be a finite number of 0 or more", 'for example 0.5');
  // Adding 0 makes -0 the 0 that it is stored as.
  return knownType && knownThreshold ? { type, threshold: threshold + 0 } : undefined;
}
