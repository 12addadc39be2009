/** Runs when a subscribed point changes by more than its deadbands [rules §3.2]. */
import type { PointRef, SiteCatalogue } from '../../site/catalogue.ts';
import type { Reader } from '../issues.ts';
import { triggerLimits } from '../limits.ts';
import { pointsText, type Teller } from '../teller.ts';
import type { ValueDeadband } from './change.ts';
import type { TriggerKind } from './kind.ts';

export interface OnChangeTrigger {
  readonly type: 'on_change';
  readonly point_refs: readonly PointRef[];
  readonly time_deadband_ms: number;
  readonly value_deadband: ValueDeadband | null;
}

/** Stateful functions of a rule without a period of its own count a gap in periods of this or more. */
const periodMs = 60_000;

export const onChange: TriggerKind<OnChangeTrigger> = {
  type: 'on_change',
  fields: ['point_refs', 'time_deadband_ms', 'value_deadband'],
  read: readOnChange,
  text: onChangeText,
  points: ({ point_refs }) => point_refs,
  deadband: ({ value_deadband }) => value_deadband,
  onEvents: true,
  isDue: ({ time_deadband_ms }, { lastTriggerMs }, nowMs, _mode, changed) =>
    changed && nowMs - lastTriggerMs >= time_deadband_ms,
  reasons: ({ time_deadband_ms }, { lastTriggerMs }, nowMs, { someUnavailable, noneChanged }) => [
    ...(nowMs - lastTriggerMs < time_deadband_ms ? ['time-deadband'] : []),
    ...(someUnavailable ? ['point-unavailable'] : []),
    ...(noneChanged ? ['no-change'] : []),
  ],
  nextDueMs: () => null,
  gateMs: ({ time_deadband_ms }) => time_deadband_ms,
  periodMs: ({ time_deadband_ms }) => Math.max(time_deadband_ms, periodMs),
};

function onChangeText({ point_refs: refs, value_deadband: band }: OnChangeTrigger, teller: Teller): string {
  const { words, number } = teller;
  if (band === null || band.threshold === 0) return words.whenever(pointsText(refs, teller), '');
  const threshold = number(band.threshold);
  return words.whenever(pointsText(refs, teller), words.byMore(band.type === 'percent' ? `${threshold} %` : threshold));
}

function readOnChange(reader: Reader, catalogue: SiteCatalogue): Omit<OnChangeTrigger, 'type'> | undefined {
  const refs = readPointRefs(reader, catalogue);
  const timeDeadbandMs = reader.integer('time_deadband_ms', 0, Number.MAX_SAFE_INTEGER);
  const valueDeadband = readValueDeadband(reader);
  if (timeDeadbandMs === undefined || valueDeadband === undefined) return undefined;
  return { point_refs: refs, time_deadband_ms: timeDeadbandMs, value_deadband: valueDeadband };
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
    if (seen.has(key)) entry.fault('duplicate-point', '', 'duplicate point in point_refs', 'name each point once');
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
