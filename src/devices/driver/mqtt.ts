/**
 * Driver `mqtt` [points §3.2]: measurements by subscription, commands by QoS 1 publish. Clean sessions, nothing
 * retained and no offline queue: each connection has its own client, so that unconfirmed commands of one are never
 * sent again on the next. A connection in an unknown state is closed, and its readings become bad.
 */
import type { IClientOptions, MqttClient } from 'mqtt';
import type { Timer } from '../../base/clock.ts';
import { newId } from '../../base/id.ts';
import { createFaultLog } from '../../base/log.ts';
import { shownValidity } from '../../base/validity.ts';
import type { TakenCommand } from '../../points/command-slots.ts';
import { mqttAddressOf } from '../../site/address.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';
import { quality } from '../../site/quality.ts';
import { BackOff } from '../back-off.ts';
import {
  type DeviceExchange,
  type Driver,
  type DriverContext,
  type DriverFailure,
  type RawReading,
  uncommanded,
} from '../driver.ts';
import { connectionEnd, connectionReason, mqttLibrary } from '../mqtt/mqtt-library.ts';
import { type PayloadFormat, pathSteps, payloadOf, valueIn } from '../mqtt/mqtt-payload.ts';
import { disconnectCleanly, OwnStatus, type Presence, whyAbsent, withWords } from '../mqtt/presence.ts';

/** Settings of a channel from outside site.yaml: secrets of the environment and the contents of files. */
export interface MqttCredentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export function createMqttDriver(channel: MqttChannel, credentials: MqttCredentials, context: DriverContext): Driver {
  return new MqttDriver(channel, credentials, context);
}

interface Place extends PayloadFormat {
  readonly index: number;
  readonly topic: string;
  readonly path: string;
  readonly acceptsRetained: boolean;
  readonly availability: Presence | undefined;
}

/** Keepalive interval in seconds; the connection is closed after one and a half of it without an answer. */
const defaultKeepAliveSeconds = 15;
class MqttDriver implements Driver {
  readonly #channel: MqttChannel;
  readonly #credentials: MqttCredentials;
  readonly #context: DriverContext;
  /** Action points, by index. */
  readonly #actions: ReadonlyMap<number, Place>;
  /** Measurement points, by topic. */
  readonly #subscriptions: ReadonlyMap<string, readonly Place[]>;
  /** Points by the availability topic of their device. */
  readonly #presences: ReadonlyMap<string, readonly Place[]>;
  readonly #status: OwnStatus | undefined;
  /** The latest message of each of these topics on this connection. */
  readonly #said = new Map<string, string>();
  /** Retained messages that came before the availability of their device, by index: a broker may send them in any order. */
  readonly #early = new Map<number, Buffer>();
  readonly #faults;
  /** Why the current connection failed; undefined without an error. */
  #reason: string | undefined;
  /** True after the first lost connection or failed attempt. */
  #hasLost = false;
  #client: MqttClient | undefined;
  #online = false;
  #stopped = false;
  #inFlight = 0;
  readonly #backOff: BackOff;
  #reconnectTimer: Timer | undefined;

  constructor(channel: MqttChannel, credentials: MqttCredentials, context: DriverContext) {
    this.#channel = channel;
    this.#credentials = credentials;
    this.#context = context;
    this.#faults = createFaultLog(context.log);
    const places = context.points.map((point) => {
      const { topic, path = '$', payload = 'json', map, retained, availability } = mqttAddressOf(point);
      const place: Place = {
        index: point.index,
        topic,
        path,
        payload,
        steps: pathSteps(path),
        map,
        acceptsRetained: retained === 'accept',
        availability: withWords(availability ?? channel.availability),
      };
      return { kind: point.kind, place };
    });
    const ofKind = (kind: string): Place[] => places.filter((entry) => entry.kind === kind).map(({ place }) => place);
    this.#actions = new Map(ofKind('action').map((place) => [place.index, place]));
    this.#subscriptions = Map.groupBy(ofKind('measurement'), ({ topic }) => topic);
    const watched = places.flatMap(({ place }) => (place.availability === undefined ? [] : [place]));
    this.#presences = Map.groupBy(watched, ({ availability }) => availability?.topic ?? '');
    this.#backOff = new BackOff(context.limits, context.clock);
    const status = withWords(channel.status);
    this.#status = status === undefined ? undefined : new OwnStatus(status);
  }

  start(): void {
    void this.#connect();
  }

  wake(): void {
    while (this.#online && this.#client !== undefined && this.#inFlight < this.#context.limits.mqtt_in_flight) {
      const command = this.#context.nextCommand();
      if (command === null) return;
      this.#send(this.#client, command);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#reconnectTimer?.cancel();
    this.#context.setOnline(false);
    const client = this.#client;
    this.#client = undefined;
    const { clock, limits } = this.#context;
    if (client === undefined) return;
    if (this.#status === undefined) await disconnectCleanly(client, clock, limits.mqtt_timeout_ms);
    else await this.#status.goOffline(client, clock, limits.mqtt_timeout_ms);
  }

  async #connect(): Promise<void> {
    const { limits } = this.#context;
    const mqtt = await mqttLibrary();
    if (this.#stopped) return;
    const status = withWords(this.#channel.status);
    const will =
      status === undefined
        ? this.#channel.will === undefined
          ? undefined
          : { ...this.#channel.will, retain: false }
        : { topic: status.topic, payload: status.offline, retain: true };
    const options: IClientOptions = {
      ...credentialOptions(this.#credentials),
      ...(will === undefined ? {} : { will: { ...will, payload: Buffer.from(will.payload), qos: 1 } }),
      clientId: this.#channel.client_id ?? `setpoint-${newId()}`,
      clean: true,
      keepalive: this.#channel.keep_alive_s ?? defaultKeepAliveSeconds,
      connectTimeout: limits.mqtt_timeout_ms,
      // This driver reconnects itself, with a new client without state.
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
    };
    let client: MqttClient;
    try {
      client = mqtt.connect(this.#channel.url, options);
    } catch (error) {
      this.#lost(connectionReason(error));
      return;
    }
    this.#client = client;
    // One for each unconfirmed command, beside those of the driver and of the library.
    client.setMaxListeners(limits.mqtt_in_flight + 16);
    client.on('connect', () => {
      const validity = shownValidity(client.stream);
      if (this.#client === client && validity !== null) this.#context.certified(validity);
      // Before the first message of this connection.
      if (this.#client === client && this.#hasLost) this.#backAgain();
      void this.#subscribe(client);
    });
    client.on('message', (topic, payload, packet) => {
      if (this.#client === client) this.#received(topic, payload, packet.retain);
    });
    // After a packet that it cannot parse, the library receives nothing more: the connection is useless.
    client.on('error', (error) => {
      if (this.#client === client) this.#reason ??= connectionReason(error);
      client.stream.destroy();
    });
    client.on('close', () => this.#disconnected(client));
  }

  async #subscribe(client: MqttClient): Promise<void> {
    const topics = [...new Set([...this.#subscriptions.keys(), ...this.#presences.keys()])];
    if (topics.length > 0) {
      const deadline = this.#deadline(client, 'the broker did not answer the subscription');
      const answer = await subscribed(client, topics);
      deadline.cancel();
      // Points of a refused topic stay unavailable; the others are still useful.
      if (answer.refused.length > 0) this.#refused(answer.refused);
      if (!answer.answered) {
        client.stream.destroy();
        return;
      }
    }
    if (this.#client !== client || this.#stopped || !client.connected) return;
    this.#online = true;
    this.#backOff.began();
    this.#faults.worked('connection');
    this.#status?.stayOnline(client, () => this.#client === client);
    this.#context.log.info('channel online');
    this.#context.setOnline(true);
    this.wake();
  }

  #refused(topics: readonly string[]): void {
    this.#context.log.error('the broker refuses subscriptions', { topics });
    for (const topic of topics) {
      const measured = this.#subscriptions.get(topic) ?? [];
      const watching = this.#presences.get(topic) ?? [];
      const indexes = [...measured, ...watching].map(({ index }) => index);
      this.#unread(indexes, 'no-answer', `the broker refuses the subscription to ${topic}`);
    }
  }

  #received(topic: string, payload: Buffer, isRetained: boolean): void {
    this.#heard(topic, payload, isRetained);
    const places = this.#subscriptions.get(topic) ?? [];
    const readings = places.flatMap((place) => this.#reading(place, payload, isRetained));
    this.#context.publish(readings);
    // Its own status does not come from a device.
    if (places.length === 0 && !this.#presences.has(topic)) return;
    const kind = isRetained ? 'retained message' : 'message';
    this.#exchanged(
      `${kind} ${topic}`,
      this.#shown(payload),
      0,
      places.length > readings.length ? 'refused' : 'answered',
    );
  }

  #reading(place: Place, payload: Buffer, isRetained: boolean): RawReading[] {
    const { index, availability } = place;
    const { mqtt_payload_bytes: bytesMax } = this.#context.limits;
    if (isRetained && !place.acceptsRetained) return this.#unread([index], 'ignored', tooOld);
    if (payload.length > bytesMax)
      return this.#unread(
        [index],
        'unreadable',
        `the payload has ${payload.length} bytes; mqtt_payload_bytes is ${bytesMax}`,
      );
    if (!this.#isThere(place)) {
      const isEarly = isRetained && availability !== undefined && !this.#said.has(availability.topic);
      if (isEarly) this.#early.set(index, payload);
      return this.#unread([index], 'ignored', this.#absence(place));
    }
    const value = valueIn(payload, place);
    if (value === null) return this.#unread([index], 'unreadable', noValue(place));
    if ('text' in value) return [{ index, raw: Number.NaN, quality: quality.bad, text: value.text }];
    return [{ index, raw: value.number, quality: isRetained ? quality.uncertain : quality.good }];
  }

  #shown(payload: Buffer): string {
    const { trace_payload_bytes: bytesMax } = this.#context.limits;
    if (payload.length <= bytesMax) return payload.toString('utf8');
    return `${payload.toString('utf8', 0, bytesMax)}… (${payload.length} bytes)`;
  }

  #exchanged(request: string, answer: string, durationMs: number, result: DeviceExchange['result']): void {
    this.#context.exchanged({ atMs: this.#context.clock.wallMs(), durationMs, request, answer, result });
  }

  /** The reason of the lost connection no longer applies. */
  #backAgain(): void {
    const measured = [...this.#subscriptions.values()].flat().map(({ index }) => index);
    this.#unread(measured, 'no-answer', 'connected again, and no message has come yet');
    this.#unread([...this.#actions.keys()], 'no-answer', uncommanded);
  }

  #unread(indexes: readonly number[], code: DriverFailure['code'], message: string): [] {
    this.#context.readFailed(indexes, { code, message });
    return [];
  }

  /** The availability of a device; while it is offline, its earlier messages no longer count. */
  #heard(topic: string, payload: Buffer, isRetained: boolean): void {
    const watching = this.#presences.get(topic);
    if (watching === undefined) return;
    const isFirst = !this.#said.has(topic);
    const wasOffline = watching.filter((place) => !isFirst && !this.#isThere(place));
    this.#said.set(topic, payload.toString('utf8'));
    for (const place of watching) {
      if (!this.#isThere(place)) this.#unread([place.index], 'no-answer', this.#absence(place));
      else if (wasOffline.includes(place)) this.#unread([place.index], 'no-answer', returned);
    }
    if (isFirst) this.#readEarly(watching, isRetained);
  }

  /** Both messages were retained: the value counts as it does where the availability comes first. */
  #readEarly(watching: readonly Place[], isRetained: boolean): void {
    const readings = watching.flatMap((place) => {
      const payload = this.#early.get(place.index);
      return payload === undefined || !isRetained ? [] : this.#reading(place, payload, true);
    });
    for (const { index } of watching) this.#early.delete(index);
    this.#context.publish(readings);
  }

  /** A device with an availability topic is offline until it reports otherwise. */
  #isThere({ availability }: Place): boolean {
    return availability === undefined || this.#said.get(availability.topic) === availability.online;
  }

  #absence({ availability }: Place): string {
    return availability === undefined ? '' : whyAbsent(availability, this.#said.get(availability.topic));
  }

  /** The broker confirms, or the connection ends: a command never waits for the next connection. */
  #send(client: MqttClient, command: TakenCommand): void {
    const place = this.#actions.get(command.index);
    if (place === undefined) throw new Error('a command for a point of another channel');
    const payload = payloadOf(command.value, place);
    if (payload === null || !this.#isThere(place)) {
      const failure: DriverFailure =
        payload === null
          ? { code: 'not-encodable', message: `the map has no word for ${command.value}` }
          : { code: 'no-answer', message: this.#absence(place) };
      this.#context.commandDone(command, failure);
      return;
    }
    const deadline = this.#deadline(client, 'the broker did not confirm a command in time');
    const startedMs = this.#context.clock.monotonicMs();
    let open = true;
    this.#inFlight++;
    const lost = (): void => done(new Error('the connection ended'));
    const done = (error?: Error | null): void => {
      if (!open) return;
      open = false;
      deadline.cancel();
      client.off('close', lost);
      this.#inFlight--;
      const sent = error === undefined || error === null;
      const failure = sent ? null : ({ code: 'no-answer', message: connectionReason(error) } as const);
      this.#context.commandDone(command, failure);
      this.#exchanged(
        `publish ${place.topic} ${this.#shown(Buffer.from(payload))}`,
        failure?.message ?? 'confirmed',
        this.#context.clock.monotonicMs() - startedMs,
        sent ? 'answered' : 'no-answer',
      );
      if (sent) this.#context.publish([{ index: command.index, raw: command.value, quality: quality.good }]);
      else this.#context.log.warn('a command was not confirmed', { reason: connectionReason(error) });
      if (sent) this.wake();
    };
    client.once('close', lost);
    client.publish(place.topic, payload, { qos: 1, retain: false }, (error) => done(error));
  }

  #deadline(client: MqttClient, reason: string): Timer {
    return this.#context.clock.after(this.#context.limits.mqtt_timeout_ms, () => {
      if (this.#client === client) this.#reason ??= reason;
      client.stream.destroy();
    });
  }

  #disconnected(client: MqttClient): void {
    client.end(true);
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#online = false;
    this.#said.clear();
    this.#early.clear();
    if (this.#stopped) return;
    this.#lost(this.#reason ?? connectionEnd(this.#channel.client_id, this.#backOff));
  }

  /** Without a connection the points are bad, for this reason. */
  #lost(reason: string): void {
    this.#reason = undefined;
    this.#hasLost = true;
    this.#faults.failed('connection', 'channel failed', { reason });
    this.#context.setOnline(false);
    this.#context.readFailed(
      this.#context.points.map(({ index }) => index),
      { code: 'no-answer', message: reason },
    );
    this.#context.forget();
    this.#reconnectTimer = this.#context.clock.after(this.#backOff.ended(), () => void this.#connect());
  }
}

const returned = 'the device is online again and has not sent a value yet';
const tooOld = 'only a retained message has come, of unknown age; `retained: accept` in the address takes it';

/** The failure bit of a SUBACK code. */
const refusedBit = 0x80;

function subscribed(
  client: MqttClient,
  topics: string[],
): Promise<{ readonly answered: boolean; readonly refused: readonly string[] }> {
  return new Promise((resolve) => {
    const lost = (): void => resolve({ answered: false, refused: [] });
    client.once('close', lost);
    client.subscribe(topics, { qos: 1 }, (_error, _granted, packet) => {
      client.off('close', lost);
      const codes = (packet?.granted ?? []).map(Number);
      const refused = topics.filter((_, position) => ((codes[position] ?? 0) & refusedBit) !== 0);
      resolve({ answered: packet !== undefined, refused });
    });
  });
}

/** Why a payload has no value for this point. */
function noValue({ payload, path, map }: Place): string {
  const wanted = map === undefined ? 'number' : 'word of the map';
  return payload === 'json' ? `the payload has no ${wanted} at ${path}` : `the payload is not a ${wanted}`;
}

/** Only defined members: the library treats an undefined one as a setting. */
export function credentialOptions(credentials: MqttCredentials): { [Name in keyof MqttCredentials]?: string } {
  return Object.fromEntries(Object.entries(credentials).filter(([, value]) => value !== undefined));
}
