/**
 * The availability that a connection publishes of itself [points §3.2]. A broker that notices late that an earlier connection is gone
 * publishes its will after the new one has said that it is there: the client reads its own topic, and says so again.
 */
import type { MqttClient } from 'mqtt';
import type { Clock } from '../../base/clock.ts';
import { deadline, untilAborted } from '../../base/deadline.ts';

export interface Presence {
  readonly topic: string;
  readonly online: string;
  readonly offline: string;
}

/** Some brokers end a connection that subscribes to what it may not read. After so many in a row the topic is only written. */
const unansweredMax = 2;

/** The status of one channel, over all of its connections. */
export class OwnStatus {
  readonly #presence;
  /** Consecutive connections that ended before the broker answered the subscription. */
  #unanswered = 0;

  constructor(presence: Presence) {
    this.#presence = presence;
  }

  /** Publishes `online`, and again after each `offline`, for as long as `isCurrent`. No other word is answered: that could go on forever. */
  stayOnline(client: MqttClient, isCurrent: () => boolean): void {
    const { topic, online, offline } = this.#presence;
    const say = (): void => void client.publish(topic, online, { qos: 1, retain: true });
    say();
    if (this.#unanswered >= unansweredMax) return;
    this.#unanswered++;
    client.on('message', (at, payload) => {
      if (at === topic && isCurrent() && client.connected && payload.toString('utf8') === offline) say();
    });
    client.subscribe(topic, { qos: 1 }, (_error, _granted, packet) => {
      if (packet !== undefined) this.#unanswered = 0;
    });
  }

  /** Publishes `offline` and disconnects, as `disconnectCleanly` does. */
  goOffline(client: MqttClient, clock: Clock, timeoutMs: number): Promise<void> {
    return disconnectCleanly(client, clock, timeoutMs, this.#presence);
  }
}

/**
 * Disconnects cleanly, so that the broker does not publish the will: `offline` comes before. Does not wait longer for a broker that does
 * not answer.
 */
export async function disconnectCleanly(
  client: MqttClient,
  clock: Clock,
  timeoutMs: number,
  presence?: Presence,
): Promise<void> {
  const limit = deadline(clock, timeoutMs);
  try {
    if (!client.connected) return;
    if (presence !== undefined) {
      const { topic, offline } = presence;
      await untilAborted(client.publishAsync(topic, offline, { qos: 1, retain: true }), limit.signal);
    }
    await untilAborted(client.endAsync(false), limit.signal);
  } catch {
    // The broker finds out by itself.
  } finally {
    limit.cancel();
    client.end(true);
    client.stream.destroy();
  }
}
