/**
 * The messages that a broker retains from earlier connections, such as those of a point that the site no longer has [points §3.5]. They
 * arrive right after the subscription, which then ends: the connection would otherwise receive all that it publishes.
 */
import type { MqttClient } from 'mqtt';
import type { Clock } from '../../base/clock.ts';
import { unansweredMax } from './presence.ts';

/** Those of one channel, over all of its connections. */
export class RetainedMessages {
  readonly #filters: string[];
  readonly #readMs: number;
  readonly #clock: Clock;
  readonly #onMessage: (topic: string, payload: string) => void;
  /** Consecutive connections that ended before the broker answered the subscription. */
  #unanswered = 0;

  constructor(
    filters: readonly string[],
    readMs: number,
    clock: Clock,
    onMessage: (topic: string, payload: string) => void,
  ) {
    this.#filters = [...filters];
    this.#readMs = readMs;
    this.#clock = clock;
    this.#onMessage = onMessage;
  }

  /** Where the broker does not allow it, nothing is read. */
  read(client: MqttClient, isCurrent: () => boolean): void {
    if (this.#filters.length === 0 || !isCurrent() || this.#unanswered >= unansweredMax) return;
    this.#unanswered++;
    client.on('message', (topic, payload, { retain }) => {
      if (retain && isCurrent()) this.#onMessage(topic, payload.toString('utf8'));
    });
    client.subscribe(this.#filters, { qos: 1 }, (_error, _granted, packet) => {
      if (packet === undefined) return;
      this.#unanswered = 0;
      this.#clock.after(this.#readMs, () => {
        if (isCurrent() && client.connected) client.unsubscribe(this.#filters);
      });
    });
  }
}
