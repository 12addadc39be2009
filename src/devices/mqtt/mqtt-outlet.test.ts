/** The connection that publishes for Home Assistant [points §3.5], against a real broker on loopback. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { sleep, systemClock } from '../../base/clock.ts';
import { type Log, silentLog } from '../../base/log.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';
import { type MqttBroker, noCredentials, startMqttBroker } from '../../testing/mqtt-broker.ts';
import { type DeviceLimits, deviceLimits } from '../limits.ts';
import { MqttOutlet } from './mqtt-outlet.ts';

const statusTopic = 'setpoint/plant-1/status';
/** Messages that the outlets of a test found at their brokers. */
let retained: string[] = [];
beforeEach(() => {
  retained = [];
});

function openOutlet(
  { port }: MqttBroker,
  limits: Partial<DeviceLimits> = {},
  channel: MqttChannel = { id: 'broker', driver: 'mqtt', url: `mqtt://127.0.0.1:${port}`, client_id: 'bakery' },
  log: Log = silentLog,
): MqttOutlet {
  return new MqttOutlet({
    channel,
    credentials: noCredentials,
    statusTopic,
    limits: { ...deviceLimits, ...limits },
    clock: systemClock,
    log,
    filters: ['setpoint/plant-1/+/+/+'],
    events: { connected: () => undefined, retained: (topic, payload) => void retained.push(`${topic} ${payload}`) },
  });
}

test('a connected site stays online when the broker publishes the will of an earlier connection', async () => {
  const broker = await startMqttBroker();
  onTestFinished(() => broker.stop());
  const states = () => broker.messages.filter(({ topic }) => topic === statusTopic).map(({ payload }) => payload);
  const outlet = openOutlet(broker);
  await expect.poll(states).toEqual(['online']);
  // A broker ends the older of two connections with one id.
  expect(broker.clientIds).toEqual(['bakery-publish']);
  // Its machine lost the network, and the broker noticed a minute after the next one had taken over.
  await broker.publish(statusTopic, 'offline', true);
  await expect.poll(states).toEqual(['online', 'online']);
  // Of two sites with different words on one topic, each would answer the other.
  await broker.publish(statusTopic, 'up', true);
  await sleep(systemClock, 100);
  expect(states()).toHaveLength(2);
  await outlet.stop();
  await expect.poll(states).toEqual(['online', 'online', 'offline']);
  await sleep(systemClock, 100);
  expect(states()).toHaveLength(3);
});

test('a connection attempt that throws is repeated, and does not end the process', async () => {
  const broker = await startMqttBroker();
  onTestFinished(() => broker.stop());
  const reasons: unknown[] = [];
  let attempts = 0;
  const channel: MqttChannel = {
    id: 'broker',
    driver: 'mqtt',
    get url() {
      attempts++;
      return 'mqtt://127.0.0.1:99999';
    },
  };
  const outlet = openOutlet(broker, { reconnect_min_ms: 10, reconnect_max_ms: 10 }, channel, {
    ...silentLog,
    warn: (_, details) => void reasons.push(details?.['reason']),
  });
  await expect.poll(() => attempts).toBeGreaterThan(3);
  expect(reasons).toEqual([expect.stringContaining('Port should be')]);
  await outlet.stop();
});

test('messages that the broker retains from earlier connections are read, and not what is published from now on', async () => {
  const broker = await startMqttBroker();
  onTestFinished(() => broker.stop());
  await broker.publish('setpoint/plant-1/1/measurement/9', '7', true);
  await broker.publish('setpoint/other/1/measurement/9', '8', true);
  const outlet = openOutlet(broker, { mqtt_timeout_ms: 200 });
  await expect.poll(() => retained).toEqual(['setpoint/plant-1/1/measurement/9 7']);
  outlet.publish('setpoint/plant-1/1/measurement/1', '5');
  await sleep(systemClock, 300);
  await broker.publish('setpoint/plant-1/1/measurement/9', '6', true);
  await sleep(systemClock, 100);
  expect(retained).toHaveLength(1);
  await outlet.stop();
});

test.each([
  ['forbidden', 1],
  ['fatal', 3],
] as const)(
  'a broker where reading retained messages is %s: messages are published all the same, after %d connections',
  async (manner, connections) => {
    const broker = await startMqttBroker({ [manner]: ['setpoint/plant-1/+/+/+'] });
    onTestFinished(() => broker.stop());
    const outlet = openOutlet(broker, { reconnect_min_ms: 10, reconnect_max_ms: 10 });
    await expect.poll(() => broker.clientIds.length).toBe(connections);
    await expect.poll(() => outlet.publish('setpoint/value', '1')).toBe(true);
    await sleep(systemClock, 200);
    expect(broker.clientIds).toHaveLength(connections);
    expect(broker.messages.some(({ topic }) => topic === 'setpoint/value')).toBe(true);
    await outlet.stop();
  },
);

test('`publish_in_flight`: as many messages wait for the broker, one more is not taken; a confirmed one makes room', async () => {
  const broker = await startMqttBroker();
  onTestFinished(() => broker.stop());
  const outlet = openOutlet(broker, { publish_in_flight: 2 });
  await expect.poll(() => broker.messages.length).toBe(1);
  const taken = [1, 2, 3].map((value) => outlet.publish('setpoint/value', String(value)));
  expect(taken).toEqual([true, true, false]);
  await expect.poll(() => outlet.publish('setpoint/value', '4')).toBe(true);
  const values = () => broker.messages.filter(({ topic }) => topic === 'setpoint/value').map(({ payload }) => payload);
  await expect.poll(values).toEqual(['1', '2', '4']);
  await outlet.stop();
});

test('`mqtt_timeout_ms`: stopping waits no longer for a silent broker', async () => {
  const broker = await startMqttBroker();
  onTestFinished(() => broker.stop());
  const outlet = openOutlet(broker, { mqtt_timeout_ms: 50 });
  await expect.poll(() => broker.messages.length).toBe(1);
  broker.silence(true);
  await outlet.stop();
});
