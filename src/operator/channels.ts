/** The channels of a site as an operator sees them [points §8.5]: pure, from one sample and what the device layer counted. */
import { timeLabel } from '../base/timestamp.ts';
import type { ChannelTraffic, PointError } from '../devices/device-channel.ts';
import type { ChannelState } from '../devices/device-layer.ts';
import { valueOf } from '../points/point-value.ts';
import type { TableSample } from '../points/sample.ts';
import { protocolOf } from '../site/protocol/index.ts';
import type { Site, SitePoint } from '../site/site.ts';

/** The device layer's state of the channels; the lists are empty on a standby. */
export interface ChannelKnowledge {
  readonly states: readonly { readonly id: string; readonly state: ChannelState }[];
  readonly traffic: readonly ChannelTraffic[];
  readonly errors: readonly PointError[];
}

export function channelEntries(
  site: Pick<Site, 'channels' | 'points'>,
  sample: TableSample | null,
  { states, traffic, errors }: ChannelKnowledge,
) {
  const channelOf = new Map(site.points.map(({ index, channel }) => [index, channel]));
  return site.channels.map(({ id, driver }, position) => {
    const points = site.points.filter(({ channel }) => channel === position);
    const own = errors.filter(({ index }) => channelOf.get(index) === position);
    const last = own.reduce<PointError | undefined>((a, b) => (a === undefined || b.atMs >= a.atMs ? b : a), undefined);
    const failed = site.points.find(({ index }) => index === last?.index);
    return {
      channel: id,
      driver,
      polled: protocolOf(driver).pollIntervalMs !== undefined,
      traced: protocolOf(driver).traced === true,
      state:
        states.find((known) => known.id === id)?.state ?? (sample?.online[position] === true ? 'online' : 'offline'),
      points: points.length,
      last_reading_at: lastReadingAt(traffic[position], points, sample),
      last_error:
        last === undefined || failed === undefined
          ? null
          : {
              code: last.code,
              message: last.message,
              at: timeLabel(last.atMs),
              instance: failed.instance,
              point_type: failed.kind,
              point: failed.id,
            },
      traffic: countsOf(traffic[position]),
    };
  });
}

function countsOf(traffic: ChannelTraffic | undefined) {
  if (traffic === undefined) return null;
  const { read, unread, late, sent, failed, dropped } = traffic;
  return { read, unread, late, sent, failed, dropped };
}

/** A standby has no counters, but the points: a bad one was observed when it could not be read, any other when it was. */
function lastReadingAt(
  traffic: ChannelTraffic | undefined,
  points: readonly SitePoint[],
  sample: TableSample | null,
): string | null {
  if (traffic !== undefined) return traffic.lastReadMs === null ? null : timeLabel(traffic.lastReadMs);
  const values = points.map((point) => valueOf(point, sample));
  const read = values.flatMap(({ quality, observed_at: at }) =>
    quality === 'bad' || quality === 'offline' || at === null ? [] : [at],
  );
  return read.toSorted().at(-1) ?? null;
}
