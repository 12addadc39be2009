/** Valid settings in a site file that are probably mistakes [points §1.2], and changes that call for others [points §1.3]. They prevent neither a start nor a reload. */
import { protocolOf } from './protocol/index.ts';
import type { Site, SitePoint } from './site.ts';
import type { SiteAlarm } from './site-alarms.ts';
import type { StandingLimit } from './standing-limits.ts';

type WarnedSite = Pick<Site, 'points' | 'channels' | 'instances' | 'alarms' | 'limits'>;
type Label = (point: SitePoint) => string;
type Meaning = Pick<SitePoint, 'unit' | 'signConvention' | 'scale' | 'offset'>;

/** One sentence per warning. */
export function siteWarnings(site: WarnedSite): readonly string[] {
  const label = labelsOf(site);
  return [
    ...sharedPlaces(site, label),
    ...sharedNames(site, label),
    ...site.points.flatMap((point) => [...ageWarnings(point, site, label), ...stepWarnings(point, label)]),
    ...site.alarms.flatMap((alarm) => alarmWarnings(alarm, site, label)),
    ...site.limits.flatMap((limit) => limitWarnings(limit, site, label)),
  ];
}

/** What the next site brings that the running one does not: its warnings, and points whose numbers mean something else [points §1.3]. */
export function changeWarnings(running: WarnedSite, next: WarnedSite): readonly string[] {
  const known = new Set(siteWarnings(running));
  return [...siteWarnings(next).filter((warning) => !known.has(warning)), ...otherMeanings(running, next)];
}

/** Time to add the holidays of the next year, before a forecast reads a day beyond the list. */
const holidayNoticeMs = 60 * 86_400_000;

/** Of a list of holidays that ends: to `is_holiday`, a day beyond it is an ordinary day. */
export function holidayWarnings({ holidays }: Pick<Site, 'holidays'>, nowMs: number): readonly string[] {
  const last = holidays.toSorted().at(-1);
  if (last === undefined || Date.parse(last) >= nowMs + holidayNoticeMs) return [];
  return [
    `the last of the holidays is ${last}: to forecasts, all later days are ordinary days; add those of the next year`,
  ];
}

function labelsOf({ instances }: WarnedSite): Label {
  const nameOf = new Map(instances.map(({ id, name }) => [id, name]));
  return ({ instance, kind, id, name }) => `${instance}:${kind}:${id} (${nameOf.get(instance)} ${name})`;
}

function otherMeanings(running: WarnedSite, next: WarnedSite): string[] {
  const key = ({ instance, kind, id }: SitePoint): string => `${instance}:${kind}:${id}`;
  const before = new Map(running.points.map((point) => [key(point), point]));
  const label = labelsOf(next);
  const changed = next.points.flatMap((point) => {
    const was = before.get(key(point));
    const differences = was === undefined ? [] : meaningDifferences(was, point);
    return differences.length === 0 ? [] : [`${label(point)}: ${differences.join(', ')}`];
  });
  if (changed.length === 0) return [];
  return [
    `the meaning of values changes: ${changed.join('; ')}. Numbers in rules, limits, alarms and recorded history stay as they are; ` +
      'adjust them, and remove history that is wrong with setpoint history delete',
  ];
}

function meaningDifferences(was: Meaning, is: Meaning): string[] {
  const names = { unit: 'unit', signConvention: 'sign_convention', scale: 'scale', offset: 'offset' } as const;
  return Object.entries(names).flatMap(([member, name]) => {
    const [old, now] = [was[member as keyof Meaning], is[member as keyof Meaning]];
    return old === now ? [] : [`${name} ${now ?? 'none'} instead of ${old ?? 'none'}`];
  });
}

/**
 * Action points that write the same place of a device. The arbiter decides per action point: two of them would alternate at
 * the device, and neither would show it.
 */
function sharedPlaces({ points, channels }: WarnedSite, label: Label): Set<string> {
  const writers = new Map<string, SitePoint>();
  const found = new Set<string>();
  for (const point of points) {
    const channel = channels[point.channel];
    if (point.kind !== 'action' || point.address === undefined || channel === undefined) continue;
    for (const place of protocolOf(channel.driver).places?.(point.address, channel) ?? []) {
      const other = writers.get(place);
      if (other === undefined) writers.set(place, point);
      else if (other !== point)
        found.add(`${label(other)} and ${label(point)} write the same place of a device: keep one of them`);
    }
  }
  return found;
}

/** Points that only their numbers distinguish: the editor, the tiles and the trends show names. */
function sharedNames({ points }: WarnedSite, label: Label): string[] {
  const named = new Map<string, SitePoint>();
  return points.flatMap((point) => {
    const key = `${point.instance}:${point.kind}:${point.name}`;
    const other = named.get(key);
    if (other !== undefined) return [`${label(other)} and ${label(point)} have the same name: rename one of them`];
    named.set(key, point);
    return [];
  });
}

/** A value that is too old before the next one is read: rules find it missing in between. */
function ageWarnings(point: SitePoint, { channels }: WarnedSite, label: Label): string[] {
  const channel = channels[point.channel];
  // What was written to an action point may be unreadable.
  if (channel === undefined || point.kind === 'action') return [];
  const intervalMs = point.pollIntervalMs ?? protocolOf(channel.driver).pollIntervalMs?.(channel);
  if (intervalMs === undefined || point.maxAgeMs > intervalMs) return [];
  return [
    `${label(point)} is read every ${intervalMs} ms, and its values are usable for ${point.maxAgeMs} ms: raise max_age_ms, or poll more often`,
  ];
}

/** A range without a multiple of the step: rounding leaves no value that could be written. */
function stepWarnings(point: SitePoint, label: Label): string[] {
  const { min, max, step, writable } = point;
  if (!writable || min === undefined || max === undefined || step === undefined) return [];
  // A quotient such as 0.3 / 0.1 lies a little off its whole number.
  const noise = 1e-9;
  if (Math.floor(max / step + noise) >= Math.ceil(min / step - noise)) return [];
  return [
    `${label(point)} cannot be written: no multiple of its step ${step} lies in its range ${rangeText(min, max)}; correct step or range`,
  ];
}

/** An alarm that is never raised, or never clears: an unusable value, such as one outside the point's range, changes no alarm. */
function alarmWarnings({ id, index, threshold }: SiteAlarm, { points }: WarnedSite, label: Label): string[] {
  const point = points[index];
  if (point === undefined) return [];
  if (point.isText)
    return [`alarm ${id} is never raised: ${label(point)} holds text; choose a point that holds a number`];
  // The range of an action point limits writes, not readings.
  if (point.kind === 'action') return [];
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = point;
  const { kind, value: edge, deadband } = threshold;
  const range = `a value of ${label(point)} outside ${rangeText(min, max)} is bad`;
  const [low, high] = [edge - deadband, edge + deadband];
  const canRaise = { above: max > edge, below: min < edge, equals: edge >= min && edge <= max }[kind];
  if (!canRaise) return [`alarm ${id} is never raised: ${range}; change the threshold or the range`];
  const canClear = { above: min <= low, below: max >= high, equals: min < low || max > high }[kind];
  return canClear ? [] : [`alarm ${id} never clears with a deadband of ${deadband}: ${range}; reduce the deadband`];
}

/** A limit that does not do what it says: its numbers are taken in the unit and within the range of the target [points §7.2]. */
function limitWarnings(limit: StandingLimit, { points }: WarnedSite, label: Label): string[] {
  const { id, targetIndex, min, max, failsafe } = limit;
  const target = points[targetIndex];
  if (target === undefined) return [];
  const { min: least = Number.NEGATIVE_INFINITY, max: most = Number.POSITIVE_INFINITY } = target;
  const range = `the range ${rangeText(least, most)} of ${label(target)}`;
  const outside = (name: string, value: number | undefined, below: string, above: string): string[] => {
    if (value === undefined || (value >= least && value <= most)) return [];
    return [`${id}: ${name} ${value} lies outside ${range}: ${value < least ? below : above}; correct the limit`];
  };
  const always = (value: number): string => `every write becomes ${Math.min(Math.max(value, least), most)}`;
  if (min?.value !== undefined && max?.value !== undefined && min.value > max.value)
    return [`${id}: min ${min.value} is above max ${max.value}: ${always(max.value)}; correct the limit`];
  return [
    ...outside('min', min?.value, 'it never limits', always(most)),
    ...outside('max', max?.value, always(least), 'it never limits'),
    ...outside('failsafe', failsafe?.value, `${least} applies instead`, `${most} applies instead`),
    ...[min, max].flatMap((bound) => measuredWarnings(id, bound?.from && points[bound.from.index], target, label)),
  ];
}

function measuredWarnings(id: string, measured: SitePoint | undefined, target: SitePoint, label: Label): string[] {
  if (measured === undefined) return [];
  if (measured.isText)
    return [`${id}: only the failsafe applies: ${label(measured)} holds text; choose a point that holds a number`];
  if (measured.unit === target.unit) return [];
  return [
    `${id}: ${label(measured)} in ${measured.unit} bounds ${label(target)} in ${target.unit}, number by number: give both the same unit`,
  ];
}

function rangeText(min: number, max: number): string {
  return `${Number.isFinite(min) ? min : ''}..${Number.isFinite(max) ? max : ''}`;
}
