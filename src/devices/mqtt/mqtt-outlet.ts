/**
 * A connection that only publishes [points §3.5], separate from that of the channel: the broker retains its messages,
 * and it publishes its own availability. Reconnects with exponential backoff; its owner publishes again after a loss.
 */
import type { IClientOptions, MqttClient } from 'mqtt';
import type { Clock, Timer } from '../../base/clock.ts';
import { createFaultLog, type Log } from '../../base/log.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';
import { presenceWords } from '../../site/protocol/mqtt-words.ts';
import { BackOff } from '../back-off.ts';
import { credentialOptions, type MqttCredentials } from '../driver/mqtt.ts';
import type { DeviceLimits } from '../limits.ts';
import { clientIdOf, connectionEnd, connectionReason, mqttLibrary } from './mqtt-library.ts';
import { OwnStatus } from './presence.ts';
import { RetainedMessages } from './retained-messages.ts';

export interface OutletParts {
  readonly channel: MqttChannel;
  readonly credentials: MqttCredentials;
  /** Topic of its availability. */
  readonly statusTopic: string;
  readonly limits: Pick<
    DeviceLimits,
    'reconnect_min_ms' | 'reconnect_max_ms' | 'mqtt_timeout_ms' | 'publish_in_flight'
  >;
  readonly clock: Clock;
  readonly log: Log;
  /** Topics, with wildcards, whose retained messages are read after each connection. */
  readonly filters: readonly string[];
  readonly events: {
    /** A new connection: the broker's retained messages are unknown. */
    connected(): void;
    retained(topic: string, payload: string): void;
  };
}

export class MqttOutlet {
  readonly #parts: OutletParts;
  readonly #status;
  readonly #retained;
  readonly #faults;
  #client: MqttClient | undefined;
  #inFlight = 0;
  readonly #backOff: BackOff;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(parts: OutletParts) {
    this.#parts = parts;
    this.#faults = createFaultLog(parts.log);
    this.#status = new OwnStatus({ topic: parts.statusTopic, ...presenceWords });
    this.#retained = new RetainedMessages(parts.filters, parts.limits.mqtt_timeout_ms, parts.clock, (topic, payload) =>
      parts.events.retained(topic, payload),
    );
    this.#backOff = new BackOff(parts.limits, parts.clock);
    void this.#connect();
  }

  /** False if it cannot accept the message now. */
  publish(topic: string, payload: string): boolean {
    const client = this.#client;
    if (client?.connected !== true || this.#inFlight >= this.#parts.limits.publish_in_flight) return false;
    this.#inFlight++;
    client.publish(topic, payload, { qos: 1, retain: true }, () => this.#inFlight--);
    return true;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    const client = this.#client;
    this.#client = undefined;
    const { clock, limits } = this.#parts;
    if (client !== undefined) await this.#status.goOffline(client, clock, limits.mqtt_timeout_ms);
  }

  async #connect(): Promise<void> {
    const { channel, credentials, statusTopic, limits } = this.#parts;
    const mqtt = await mqttLibrary();
    if (this.#stopped) return;
    const options: IClientOptions = {
      ...credentialOptions(credentials),
      will: { topic: statusTopic, payload: Buffer.from(presenceWords.offline), qos: 1, retain: true },
      clientId: clientIdOf(channel, 'publish'),
      clean: true,
      connectTimeout: limits.mqtt_timeout_ms,
      reconnectPeriod: 0,
      queueQoSZero: false,
    };
    let client: MqttClient;
    try {
      client = mqtt.connect(channel.url, options);
    } catch (error) {
      this.#lost(connectionReason(error));
      return;
    }
    let reason: string | undefined;
    this.#client = client;
    this.#inFlight = 0;
    client.on('connect', () => {
      if (this.#client !== client) return;
      this.#backOff.began();
      this.#faults.worked('connection');
      this.#parts.events.connected();
      const isCurrent = (): boolean => this.#client === client;
      this.#status.stayOnline(client, isCurrent, () => this.#retained.read(client, isCurrent));
    });
    client.on('error', (error) => {
      reason ??= connectionReason(error);
      client.stream.destroy();
    });
    client.on('close', () => {
      client.end(true);
      if (this.#client !== client || this.#stopped) return;
      this.#client = undefined;
      this.#lost(reason ?? connectionEnd(channel.client_id && options.clientId, this.#backOff));
    });
  }

  #lost(reason: string): void {
    const { channel, clock } = this.#parts;
    this.#faults.failed('connection', 'publishing failed', { channel: channel.id, reason });
    this.#timer = clock.after(this.#backOff.ended(), () => void this.#connect());
  }
}
