/** Which points somebody should look at, on the first page. */
import type { ChannelView } from '../devices/device-queries.ts';
import type { PointEntry } from '../points/point-queries.ts';
import { hasError, isGood } from '../points/point-words.ts';

type Judged = Pick<PointEntry, 'point_type' | 'channel' | 'quality' | 'observed_at' | 'last_error' | 'last_command'>;

/**
 * A virtual point has no value until a rule writes it, and an action point that cannot be read has none until its first command: nothing
 * is wrong with that. `channels` is undefined until they are known.
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
  return points.filter((point) => hasError(point) || (!isGood(point) && !waits(point)));
}
