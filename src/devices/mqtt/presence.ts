/**
 * The status that a connection publishes about itself [points §3.2]. A broker may notice the loss of an earlier connection late, and
 * publish its will when the new connection is already online: so the client subscribes to its own status topic and corrects it.
 */
import type { MqttClient } from 'mqtt';
import type { Clock } from '../../base/clock.ts';
import { deadline, untilAborted } from '../../base/deadline.ts';
import { presenceWords } from '../../site/protocol/mqtt-words.ts';

export interface Presence {
  readonly topic: string;
  readonly online: string;
  readonly offline: string;
}

type GivenPresence = Partial<Presence> & Pick<Presence, 'topic'>;

/** With the default payloads. */
export function withWords(given: GivenPresence | undefined): Presence | undefined {
  return given === undefined ? undefined : { ...presenceWords, ...given };
}

const shownLettersMax = 40;

/** Why a device counts as offline. `said` is the last payload of its availability topic on this connection. */
export function whyAbsent({ topic, online, offline }: Presence, said: string | undefined): string {
  if (said === offline) return 'the device is offline (availability topic)';
  if (said === undefined) return `no message has come on the availability topic ${topic}`;
  const shown = said.length > shownLettersMax ? `${said.slice(0, shownLettersMax)}…` : said;
  return `the availability topic ${topic} has ${JSON.stringify(shown)} instead of ${online} or ${offline}`;
}

/** Some brokers close a connection that subscribes to a forbidden topic. After this many in a row, no connection subscribes to it. */
export const unansweredMax = 2;

/** The status of one channel, over all of its connections. */
export class OwnStatus {
  readonly #presence;
  /** Consecutive connections that ended before the broker answered the subscription. */
  #unanswered = 0;

  constructor(presence: Presence) {
    this.#presence = presence;
  }

  /**
   * Publishes `online`, and again after each `offline`, for as long as `isCurrent`. Any other payload is ignored, to avoid loops.
   * `onRead` is called when the broker has answered the subscription.
   */
  stayOnline(client: MqttClient, isCurrent: () => boolean, onRead: () => void = () => undefined): void {
    const { topic, online, offline } = this.#presence;
    const publish = (): void => void client.publish(topic, online, { qos: 1, retain: true });
    publish();
    if (this.#unanswered >= unansweredMax) return;
    this.#unanswered++;
    client.on('message', (at, payload) => {
      if (at === topic && isCurrent() && client.connected && payload.toString('utf8') === offline) publish();
    });
    client.subscribe(topic, { qos: 1 }, (_error, _granted, packet) => {
      if (packet === undefined) return;
      this.#unanswered = 0;
      onRead();
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
    // The broker publishes the will instead.
  } finally {
    limit.cancel();
    client.end(true);
    client.stream.destroy();
  }
}
