/** Driver `mqtt` [points §3.2]: payloads, availability of devices, and its own status. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { elapsed, type RunningDevices, runDevices } from '../../testing/driver-contract.ts';
import { brokerSite, type MqttBroker, startMqttBroker } from '../../testing/mqtt-broker.ts';

const folders = { configDir: '.', dataDir: '.' };

describe('[points §3.2] devices that say more', () => {
  let broker: MqttBroker;
  let devices: RunningDevices;
  const more = `
      - { id: 1, name: door, kind: measurement, unit: "1", channel: broker, address: { topic: d/door, map: { OPEN: 1, SHUT: 0 }, payload: text, availability: { topic: d/lwt } } }
      - { id: 2, name: kept, kind: measurement, unit: kW, channel: broker, address: { topic: d/kept, retained: accept } }
      - { id: 3, name: mode, kind: measurement, unit: "1", channel: broker, address: { topic: d/mode, payload: text } }
      - { id: 1, name: relay, kind: action, unit: "1", channel: broker, address: { topic: d/relay, payload: text, map: { ON: 1, OFF: 0 }, availability: { topic: d/lwt, online: Online, offline: Offline } } }
      - { id: 4, name: contact, kind: measurement, unit: "1", channel: broker, address: { topic: d/contact, retained: accept, availability: { topic: d/contact/lwt } } }
      - { id: 5, name: lamp_there, kind: measurement, unit: "1", channel: broker, address: { topic: d/lamp/lwt, payload: text, map: { online: 1, offline: 0 }, retained: accept } }
      - { id: 6, name: lamp, kind: measurement, unit: "1", channel: broker, address: { topic: d/lamp, retained: accept, availability: { topic: d/lamp/lwt } } }
`;
  const [door, kept, textPoint, relay, contact, , lamp] = [0, 1, 2, 3, 4, 5, 6];
  beforeEach(async () => {
    broker = await startMqttBroker();
    await broker.publish('d/kept', '7.5', true);
    devices = runDevices(brokerSite(broker.port, ', status: { topic: setpoint/state }') + more, folders, {
      mqtt_timeout_ms: 300,
      trace_payload_bytes: 16,
    });
    await devices.online();
  });
  afterEach(async () => {
    await devices.layer.terminate();
    await broker.stop();
  });

  test('a word of the map is its number, while the device is available', async () => {
    const reasonOf = async (index: number) =>
      (await devices.layer.errors()).find((error) => error.index === index)?.message;
    await broker.publish('d/door', 'OPEN');
    await expect.poll(() => reasonOf(door)).toBe('no message has come on the availability topic d/lwt');
    expect(devices.value(door)).toBeNull();
    const longest = 'on line'.padEnd(40, '-');
    await broker.publish('d/lwt', longest);
    await expect
      .poll(() => reasonOf(door))
      .toBe(`the availability topic d/lwt has "${longest}" instead of online or offline`);
    await broker.publish('d/lwt', `${longest}-`);
    await expect
      .poll(() => reasonOf(door))
      .toBe(`the availability topic d/lwt has "${longest}…" instead of online or offline`);
    await broker.publish('d/lwt', 'online');
    await broker.publish('d/door', 'OPEN');
    await expect.poll(() => devices.value(door)).toBe(1);
    await broker.publish('d/lwt', 'offline');
    await expect.poll(() => devices.value(door)).toBeNull();
    expect(await reasonOf(door)).toBe('the device is offline (availability topic)');
    await broker.publish('d/lwt', 'online');
    await expect.poll(() => reasonOf(door)).toBe('the device is online again and has not sent a value yet');
    await broker.publish('d/door', 'SHUT');
    await expect.poll(() => devices.value(door)).toBe(0);
  });

  test('a retained message counts where it is accepted, as uncertain', async () => {
    await expect.poll(() => devices.value(kept)).toBe(7.5);
    expect(devices.memory.quality[kept]).toBe(2);
    await broker.publish('d/kept', '8');
    await expect.poll(() => devices.memory.quality[kept]).toBe(1);
  });

  // This broker sends retained messages in the order of the subscriptions; a point of its own reads the availability of the lamp first.
  test.each([
    ['before', 'd/contact', contact],
    ['after', 'd/lamp', lamp],
  ])('a retained value counts if it comes %s the retained availability of its device', async (_, topic, point) => {
    await broker.stop();
    await broker.start();
    await broker.publish(topic, '1', true);
    await broker.publish(`${topic}/lwt`, 'online', true);
    await expect.poll(() => devices.memory.quality[point], { timeout: 5000 }).toBe(2);
    expect(devices.value(point)).toBe(1);
  });

  test('a retained value from before the device came does not count', async () => {
    await broker.stop();
    await broker.start();
    await broker.publish('d/contact', '1', true);
    await devices.online();
    await broker.publish('d/contact/lwt', 'online');
    await broker.publish('d/kept', '8');
    await expect.poll(() => devices.memory.quality[kept], { timeout: 5000 }).toBe(1);
    expect(devices.value(contact)).toBeNull();
  });

  test('[points §8.6] the trace has messages and commands, with trace_payload_bytes of each payload', async () => {
    const exchanges = async () =>
      (await devices.layer.trace(0))?.exchanges.map(({ request, answer, result }) => [request, answer, result]);
    await broker.publish('d/mode', '16 bytes exactly');
    await broker.publish('d/mode', 'one byte too many');
    await broker.publish('d/kept', 'no number');
    await broker.publish('d/lwt', 'Online');
    await expect.poll(exchanges).toEqual([
      ['retained message d/kept', '7.5', 'answered'],
      ['message d/mode', '16 bytes exactly', 'answered'],
      ['message d/mode', 'one byte too man… (17 bytes)', 'answered'],
      ['message d/kept', 'no number', 'refused'],
      ['message d/lwt', 'Online', 'answered'],
    ]);
    expect(devices.command(relay, 1)).toBe('accepted');
    await expect.poll(exchanges).toContainEqual(['publish d/relay ON', 'confirmed', 'answered']);
  });

  test('text is shown and is not a number', async () => {
    await broker.publish('d/mode', 'heating');
    await expect.poll(() => devices.layer.texts()).toEqual([{ index: textPoint, text: 'heating' }]);
    expect(devices.value(textPoint)).toBeNull();
  });

  test('a command is sent as the word for its number, and fails while the device is unavailable', async () => {
    const sent = () => broker.messages.filter(({ topic }) => topic === 'd/relay').map(({ payload }) => payload);
    expect(devices.command(relay, 1)).toBe('accepted');
    await expect.poll(async () => (await devices.layer.counts()).failed).toBe(1);
    await broker.publish('d/lwt', 'Online');
    await elapsed(100);
    expect(devices.command(relay, 1)).toBe('accepted');
    await expect.poll(sent).toEqual(['ON']);
    expect(devices.command(relay, 5)).toBe('accepted');
    await expect.poll(async () => (await devices.layer.counts()).failed).toBe(2);
    expect(sent()).toEqual(['ON']);
  });

  test('birth and will are said, and the end in order too', async () => {
    const states = () =>
      broker.messages.filter(({ topic }) => topic === 'setpoint/state').map(({ payload }) => payload);
    await expect.poll(states).toEqual(['online']);
    await devices.layer.stop();
    await expect.poll(states).toEqual(['online', 'offline']);
  });

  test('[points §3.2] a late will of an earlier connection is corrected', async () => {
    const states = () =>
      broker.messages.filter(({ topic }) => topic === 'setpoint/state').map(({ payload }) => payload);
    await expect.poll(states).toEqual(['online']);
    await broker.publish('setpoint/state', 'offline', true);
    await expect.poll(states).toEqual(['online', 'online']);
    await devices.layer.stop();
    await expect.poll(states).toEqual(['online', 'online', 'offline']);
    await elapsed(100);
    expect(states()).toHaveLength(3);
  });
});
