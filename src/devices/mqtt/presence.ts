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

/** Publishes `online` for as long as `isCurrent`. A broker that refuses the subscription shows no such messages: then it is said once. */
export function stayOnline(client: MqttClient, { topic, online }: Presence, isCurrent: () => boolean): void {
  const say = (): void => void client.publish(topic, online, { qos: 1, retain: true });
  client.on('message', (at, payload) => {
    if (at === topic && isCurrent() && client.connected && payload.toString('utf8') !== online) say();
  });
  say();
  client.subscribe(topic, { qos: 1 }, () => undefined);
}

/**
 * Publishes `offline` and disconnects: after a clean disconnect the broker does not publish the will. Does not wait longer for a broker that
 * does not answer.
 */
export async function goOffline(
  client: MqttClient,
  presence: Presence | undefined,
  clock: Clock,
  timeoutMs: number,
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
