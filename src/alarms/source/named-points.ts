/** Points of the site in alarms about them: their name, and whether their channel answers. */
import type { PointRef } from '../../site/catalogue.ts';
import type { Site, SitePoint } from '../../site/site.ts';
import type { SiteNow } from '../site-now.ts';

interface NamedPoint {
  readonly point: SitePoint;
  /** In the id of an alarm. */
  readonly key: string;
  /** Instance and name. */
  readonly name: string;
}

/** Finds a point of a channel that is online; undefined for others, which the alarm of their channel covers. */
export type FindPoint = (ref: PointRef, channels: SiteNow['channels']) => NamedPoint | undefined;

export function namedPoints({
  channels: all,
  instances,
  points,
}: Pick<Site, 'channels' | 'instances' | 'points'>): FindPoint {
  const nameOf = new Map(instances.map(({ id, name }) => [id, name]));
  const found = new Map(
    points.map((point): [string, NamedPoint] => {
      const key = `${point.instance}:${point.kind}:${point.id}`;
      return [key, { point, key, name: `${nameOf.get(point.instance) ?? point.instance} ${point.name}` }];
    }),
  );
  return (ref, channels) => {
    const named = found.get(`${ref.instance}:${ref.point_type}:${ref.point}`);
    const id = named === undefined ? undefined : all[named.point.channel]?.id;
    return channels.find((channel) => channel.id === id)?.state === 'online' ? named : undefined;
  };
}
