/**
 * The effect of a changed site file on a running service [points §1.3]: pure. Points and channels keep their places, which the
 * threads share, so the file may add to them and change them; any other change needs a restart.
 */

import type { Site, SitePoint } from './site.ts';
import type { SiteAlarm } from './site-alarms.ts';
import type { LimitBound, StandingLimit } from './standing-limits.ts';

/** Ids of channels, numbers of instances, or references of points. */
export interface Changed<T> {
  readonly added: readonly T[];
  readonly changed: readonly T[];
}

export interface SiteChange {
  /** The content of the file, with the points and channels of the running site in their places. */
  readonly site: Site;
  /** A channel has changed with its settings or one of its points. */
  readonly channels: Changed<string>;
  /** `instance:kind:point`. */
  readonly points: Changed<string>;
  readonly instances: Changed<number>;
  readonly sections: readonly ('name' | 'limits' | 'alarms')[];
}

/** Sections that are read at a start only. */
const fixed = ['id', 'timezone', 'latitude', 'longitude', 'holidays', 'history'] as const;

export type FoundChange =
  | { readonly ok: true; readonly change: SiteChange }
  | { readonly ok: false; readonly issues: readonly string[] };

export function siteChange(running: Site, read: Site): FoundChange {
  const issues = [
    ...fixed
      .filter((name) => !sameData(running[name], read[name]))
      .map((name) => `${name} has changed: restart the service to apply it`),
    ...missing(running.channels, read.channels, ({ id }) => id).map(
      (id) => `channel ${id} was removed: restart the service to apply this, or put it back`,
    ),
    ...missing(running.points, read.points, pointName).map(
      (name) => `point ${name} was removed: restart the service to apply this, or put it back`,
    ),
  ];
  if (issues.length > 0) return { ok: false, issues };
  const site = placedLike(running, read);
  const sections = (['name', 'limits', 'alarms'] as const).filter((name) => !sameData(running[name], site[name]));
  const points = changed(running.points, site.points, pointName);
  return {
    ok: true,
    change: {
      site,
      channels: changed(channelParts(running), channelParts(site), ({ channel }) => channel.id),
      points,
      instances: changed(running.instances, site.instances, ({ id }) => id),
      sections,
    },
  };
}

/** Names of everything that a reload would apply; empty when it has nothing to do. */
export function changedSections({
  channels,
  points,
  instances,
  sections,
}: Omit<SiteChange, 'site' | 'sections'> & { readonly sections: readonly string[] }): string[] {
  const lists = Object.entries({ channels, points, instances });
  return [
    ...lists.flatMap(([name, { added, changed: other }]) => (added.length + other.length > 0 ? [name] : [])),
    ...sections,
  ];
}

/** A channel with its points: the input of its driver. */
export function channelParts({ channels, points }: Pick<Site, 'channels' | 'points'>) {
  const byChannel = Map.groupBy(points, ({ channel }) => channel);
  return channels.map((channel, position) => ({ channel, points: byChannel.get(position) ?? [] }));
}

export function sameData(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function pointName({ instance, kind, id }: Pick<SitePoint, 'instance' | 'kind' | 'id'>): string {
  return `${instance}:${kind}:${id}`;
}

function missing<T, N>(before: readonly T[], after: readonly T[], nameOf: (each: T) => N): N[] {
  const there = new Set(after.map(nameOf));
  return before.map(nameOf).filter((name) => !there.has(name));
}

function changed<T, N>(before: readonly T[], after: readonly T[], nameOf: (each: T) => N): Changed<N> {
  const known = new Map(before.map((each) => [nameOf(each), each]));
  const names = after.map((each) => ({ each, name: nameOf(each), was: known.get(nameOf(each)) }));
  return {
    added: names.filter(({ was }) => was === undefined).map(({ name }) => name),
    changed: names.filter(({ each, was }) => was !== undefined && !sameData(was, each)).map(({ name }) => name),
  };
}

/** Known ones first, in their order, then the new ones in the order of the file; and the new position of each. */
function placed<T>(running: readonly T[], read: readonly T[], nameOf: (each: T) => string) {
  const places = new Map(running.map((each, place) => [nameOf(each), place]));
  for (const each of read) if (!places.has(nameOf(each))) places.set(nameOf(each), places.size);
  const placeOf = (position: number): number => {
    const each = read[position];
    const place = each === undefined ? undefined : places.get(nameOf(each));
    if (place === undefined) throw new Error(`position ${position} is of no entry of the site file`);
    return place;
  };
  const inPlace = read.map((each, position) => ({ each, place: placeOf(position) }));
  return { placeOf, list: inPlace.toSorted((a, b) => a.place - b.place) };
}

function placedLike(running: Site, read: Site): Site {
  const channels = placed(running.channels, read.channels, ({ id }) => id);
  const points = placed(running.points, read.points, pointName);
  const bound = (given: LimitBound | undefined): LimitBound | undefined =>
    given?.from === undefined ? given : { from: { ...given.from, index: points.placeOf(given.from.index) } };
  return {
    ...read,
    channels: channels.list.map(({ each }) => each),
    points: points.list.map(
      ({ each, place }): SitePoint => ({ ...each, index: place, channel: channels.placeOf(each.channel) }),
    ),
    limits: read.limits.map(
      (limit): StandingLimit => ({
        ...limit,
        targetIndex: points.placeOf(limit.targetIndex),
        min: bound(limit.min),
        max: bound(limit.max),
      }),
    ),
    alarms: read.alarms.map((alarm): SiteAlarm => ({ ...alarm, index: points.placeOf(alarm.index) })),
  };
}
