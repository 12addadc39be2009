/** The newest exchanges of a channel, kept for commissioning [points §8.6]. */
import type { DeviceExchange } from './driver.ts';

/** The newest exchanges of one channel, oldest first, and how many there were of each kind. */
export interface ChannelTrace {
  readonly counts: Readonly<Record<DeviceExchange['result'], number>>;
  readonly exchanges: readonly DeviceExchange[];
}

export interface Trace {
  add(exchange: DeviceExchange): void;
  kept(): ChannelTrace;
}

export function createTrace(maximum: number): Trace {
  const counts = { answered: 0, refused: 0, 'no-answer': 0 };
  const ring: DeviceExchange[] = [];
  let next = 0;
  return {
    add(exchange) {
      counts[exchange.result]++;
      ring[next] = exchange;
      next = (next + 1) % maximum;
    },
    kept: () => ({ counts: { ...counts }, exchanges: [...ring.slice(next), ...ring.slice(0, next)] }),
  };
}
