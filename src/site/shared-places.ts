/**
 * Action points that write the same place of a device [points §1.2]. The arbiter decides for each action point alone: two of them
 * would take turns at the device, and neither would show it.
 */
import { protocolOf } from './protocol/index.ts';
import type { Site, SitePoint } from './site.ts';

/** One sentence for each pair. */
export function sharedPlaces({
  points,
  channels,
  instances,
}: Pick<Site, 'points' | 'channels' | 'instances'>): readonly string[] {
  const nameOf = new Map(instances.map(({ id, name }) => [id, name]));
  const told = ({ instance, id, name }: SitePoint): string =>
    `${instance}:action:${id} (${nameOf.get(instance)} ${name})`;
  const writers = new Map<string, SitePoint>();
  const found = new Set<string>();
  for (const point of points) {
    const channel = channels[point.channel];
    if (point.kind !== 'action' || point.address === undefined || channel === undefined) continue;
    for (const place of protocolOf(channel.driver).places?.(point.address, channel) ?? []) {
      const other = writers.get(place);
      if (other === undefined) writers.set(place, point);
      else if (other !== point)
        found.add(`${told(other)} and ${told(point)} write the same place of a device: keep one of them`);
    }
  }
  return [...found];
}
