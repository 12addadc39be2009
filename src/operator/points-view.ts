/** The points of a site as an operator sees them [points §8.1]: pure, from one sample and what the engine knows of its actuators. */

import type { PointAuthority } from '../automation/authority-keeper.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { PointError } from '../devices/device-channel.ts';
import { type PointValue, valueOf } from '../points/point-value.ts';
import type { TableSample } from '../points/sample.ts';
import type { Owner } from '../rules/ownership.ts';
import type { Site, SitePoint } from '../site/site.ts';

export interface PointFilter {
  readonly instance?: number;
  readonly kind?: string;
  readonly quality?: string;
  readonly search?: string;
}

/** What a point shows now: its value, and its text if it is a text point that was read. */
interface PointNow extends PointValue {
  readonly text: string | null;
}

/** Facts beside the values: errors of devices, and the owner of each action point. */
export interface PointKnowledge {
  readonly errors: ReadonlyMap<number, PointError>;
  /** Null while no engine answers. */
  readonly authority: ReadonlyMap<number, PointAuthority> | null;
  readonly nameOf: (owner: Named) => string;
}

export type Named = Pick<Owner, 'kind' | 'id' | 'name'>;

/** Points that fit the filter, in the order of the site file. `texts` by point index. */
export function selected(
  site: Pick<Site, 'points' | 'instances'>,
  sample: TableSample | null,
  texts: ReadonlyMap<number, string>,
  filter: PointFilter,
): { readonly point: SitePoint; readonly now: PointNow }[] {
  const names = instanceNames(site);
  const search = filter.search?.toLowerCase();
  return site.points.flatMap((point) => {
    if (filter.instance !== undefined && point.instance !== filter.instance) return [];
    if (filter.kind !== undefined && point.kind !== filter.kind) return [];
    const text = `${names.get(point.instance) ?? ''} ${point.name} ${point.instance}:${point.kind}:${point.id}`;
    if (search !== undefined && !text.toLowerCase().includes(search)) return [];
    const now = nowOf(valueOf(point, sample), texts.get(point.index) ?? null);
    return filter.quality === undefined || filter.quality === now.quality ? [{ point, now }] : [];
  });
}

/** Text has no number, so as a value it is bad. Text that was read counts as good. */
function nowOf(now: PointValue, text: string | null): PointNow {
  return { ...now, text, quality: text !== null && now.quality === 'bad' ? 'good' : now.quality };
}

function instanceNames(site: Pick<Site, 'instances'>): ReadonlyMap<number, string> {
  return new Map(site.instances.map(({ id, name }) => [id, name]));
}

export function pointEntry(
  site: Pick<Site, 'channels' | 'instances'>,
  { point, now }: { readonly point: SitePoint; readonly now: PointNow },
  sample: TableSample | null,
  { errors, authority, nameOf }: PointKnowledge,
) {
  const error = errors.get(point.index);
  const held = point.kind === 'action' ? authority?.get(point.index) : undefined;
  return {
    instance: point.instance,
    instance_name: instanceNames(site).get(point.instance) ?? '',
    point_type: point.kind,
    point: point.id,
    name: point.name,
    unit: point.unit,
    value: now.value,
    text: now.text,
    quality: now.quality,
    observed_at: now.observed_at,
    channel: site.channels[point.channel]?.id ?? '',
    channel_state: sample?.online[point.channel] === true ? 'online' : 'offline',
    sign_convention: point.signConvention ?? null,
    writable: point.writable,
    recorded: point.record,
    min: point.min ?? null,
    max: point.max ?? null,
    last_error: error === undefined ? null : { code: error.code, message: error.message, at: timeLabel(error.atMs) },
    last_command: commandView(held),
    owner: held === undefined ? null : ownerView(held.owner, nameOf),
  };
}

export function ownerView({ kind, id, name, untilMs }: Owner, nameOf: PointKnowledge['nameOf']) {
  return { kind, id, name: nameOf({ kind, id, name }), until: untilMs === null ? null : timeLabel(untilMs) };
}

function commandView(held: PointAuthority | undefined) {
  if (held === undefined || held.command === null) return null;
  const { value, written, atMs, result, by } = held.command;
  return { value, written, at: timeLabel(atMs), result, by };
}
