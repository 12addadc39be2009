/** Which points somebody should look at, on the first page. */
import type { ChannelView } from '../devices/device-queries.ts';
import type { PointEntry } from '../points/point-queries.ts';
import { isGood } from '../points/point-words.ts';

type Judged = Pick<PointEntry, 'point_type' | 'channel' | 'quality' | 'last_error'>;

/**
 * A virtual point has no value until a rule writes it, and an action point whose device cannot be asked none until a command: nothing is
 * wrong with that. `channels` is undefined until they are known.
 */
export function troubledPoints<P extends Judged>(
  points: readonly P[],
  channels: readonly Pick<ChannelView, 'channel' | 'driver'>[] | undefined,
): readonly P[] {
  const waits = ({ point_type: kind, channel, quality }: P): boolean =>
    quality === 'missing' &&
    (kind === 'action' ||
      channels === undefined ||
      channels.some((one) => one.channel === channel && one.driver === 'virtual'));
  return points.filter((point) => point.last_error !== null || (!isGood(point) && !waits(point)));
}
