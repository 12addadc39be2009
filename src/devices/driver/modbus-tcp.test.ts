/** Driver `modbus-tcp` [points §3.1] through the device layer, against a real TCP server on loopback. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { driverContract, elapsed, type RunningDevices, runDevices } from '../../testing/driver-contract.ts';
import { type ModbusDevice, startModbusDevice } from '../../testing/modbus-server.ts';

const channelText = (port: number): string => `
schema: svc.site.v1
site: { id: s, name: s, timezone: Europe/Amsterdam }
channels:
  - { id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 20, timeout_ms: 200, word_order: big }
instances:
  - id: 1
    name: plc
    points:
`;
const folders = { configDir: '.', dataDir: '.' };

driverContract('modbus-tcp', async () => {
  const device = await startModbusDevice();
  device.holding.writeFloatBE(42.5, 0);
  return {
    siteText: `${channelText(device.port)}
      - { id: 1, name: setpoint, kind: action, unit: kW, scale: 0.5, offset: 10, channel: plc, address: { table: holding, register: 100, type: float32 } }
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: plc, address: { table: holding, register: 0, type: float32 } }
`,
    ...folders,
    action: 0,
    measurement: 1,
    held: () => device.holding.readFloatBE(200),
    close: () => device.stop(),
  };
});

const siteText = (port: number): string => `${channelText(port)}
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: plc, address: { table: holding, register: 0, type: float32 } }
      - { id: 2, name: power, kind: measurement, unit: kW, scale: 0.1, offset: 5, channel: plc, address: { table: input, register: 10, type: int16 } }
      - { id: 3, name: door, kind: measurement, unit: "1", channel: plc, address: { table: discrete, register: 3, type: bool } }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: plc, address: { table: holding, register: 100, type: float32 } }
      - { id: 2, name: run, kind: action, unit: "1", channel: plc, address: { table: coil, register: 5, type: bool } }
      - { id: 3, name: mode, kind: action, unit: "1", channel: plc, address: { table: holding, register: 104, type: int16 } }
      - { id: 4, name: neighbour, kind: measurement, unit: kW, channel: plc, address: { table: holding, register: 2, type: uint16 } }
`;

describe('[points §3.1] modbus-tcp', () => {
  let device: ModbusDevice;
  let devices: RunningDevices;
  const offline = () =>
    expect.poll(() => devices.layer.channels()[0]?.state, { timeout: 3000, interval: 5 }).toBe('offline');

  beforeEach(async () => {
    device = await startModbusDevice();
    device.holding.writeFloatBE(42.5, 0);
    device.holding.writeUInt16BE(7, 4);
    device.input.writeInt16BE(-200, 20);
    device.discrete[0] = 0b1000;
    devices = runDevices(siteText(device.port), folders, { command_max_age_ms: 300, refusing_after_ms: 300 });
    await devices.online();
  });
  afterEach(async () => {
    await devices.layer.terminate();
    await device.stop();
  });

  test('reads registers and bits of every table, scaled', async () => {
    await expect.poll(() => [0, 1, 2, 6].map(devices.value)).toEqual([42.5, -15, 1, 7]);
  });

  test('neighbours are read with one request', async () => {
    await expect.poll(() => devices.value(6)).toBe(7);
    expect(device.reads).toContainEqual({ start: 0, count: 3 });
  });

  test('registers, single registers and coils are written', async () => {
    expect([devices.command(3, 12.5), devices.command(4, 1), devices.command(5, -3)]).toEqual(
      Array(3).fill('accepted'),
    );
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(12.5);
    await expect.poll(() => (device.coils[0] ?? 0) & 0b10_0000).toBe(0b10_0000);
    await expect.poll(() => device.holding.readInt16BE(208)).toBe(-3);
  });

  const traffic = async () => {
    const [counts] = await devices.layer.traffic();
    if (counts === undefined) throw new Error('the layer has no channel');
    return counts;
  };

  test('[points §3.1] no exception code ends the layer: the channel stays online, refuses, and reads again when it may', async () => {
    for (const code of [0, 1, 4, 7, 9, 12, 16, 99, 128, 255]) {
      device.refuse(code);
      await expect.poll(() => devices.value(0), { timeout: 3000, interval: 5 }).toBeNull();
      expect(devices.layer.channels()[0]?.state).toBe('online');
      device.refuse(null);
      await expect.poll(() => devices.value(0), { timeout: 3000, interval: 5 }).toBe(42.5);
    }
    expect(device.connections()).toBe(1);
  });

  test('[points §3.1] a device that refuses everything shows as refusing, and a command to it fails', async () => {
    device.refuse(4);
    await expect.poll(() => devices.layer.channels()[0]?.state).toBe('refusing');
    expect(devices.command(3, 1)).toBe('accepted');
    await expect.poll(async () => (await devices.layer.counts()).failed).toBe(1);
    device.refuse(null);
    await expect.poll(() => devices.value(0)).toBe(42.5);
    expect(devices.layer.channels()[0]?.state).toBe('online');
  });

  test('[points §3.1] a doubled answer is dropped: the connection stays and values continue', async () => {
    device.repeat(2);
    const connections = device.accepted();
    for (let round = 1; round <= 5; round++) {
      device.holding.writeFloatBE(round, 0);
      await expect.poll(() => devices.value(0), { timeout: 3000, interval: 5 }).toBe(round);
    }
    expect(device.accepted()).toBe(connections);
  });

  test('[points §3.1] commands do not starve polls: after each command a poll that is due has its turn', async () => {
    device.delay(5);
    const before = device.reads.length;
    const until = performance.now() + 1000;
    while (performance.now() < until) {
      for (const [index, value] of [
        [3, 1],
        [4, 1],
        [5, 1],
      ] as const)
        devices.command(index, value);
      await elapsed(2);
    }
    expect(device.writes.length).toBeGreaterThan(20);
    expect(device.reads.length - before).toBeGreaterThan(20);
  });

  test('a value that does not fit its register is not sent, and counts as failed', async () => {
    expect(devices.command(5, 40_000)).toBe('accepted');
    await expect.poll(async () => (await devices.layer.counts()).failed).toBe(1);
    expect(device.writes).toEqual([]);
    expect(devices.layer.channels()[0]?.state).toBe('online');
  });

  test('one request is in flight at any time, commands and polls together', async () => {
    device.delay(5);
    // A slot that is still occupied refuses; the last accepted command is the one that must arrive.
    let accepted = 0;
    for (let round = 1; round <= 10; round++) {
      if (devices.command(3, round) === 'accepted') accepted = round;
      devices.command(5, round);
      await elapsed(10);
    }
    expect(accepted).toBeGreaterThan(0);
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(accepted);
    expect(device.openMaximum()).toBe(1);
    expect(device.connections()).toBe(1);
  });

  test('a register that the device lacks hides no other: its neighbours are read without it', async () => {
    device.lack([2]);
    await expect.poll(() => [devices.value(0), devices.value(6)]).toEqual([42.5, null]);
    expect(devices.layer.channels()[0]?.state).toBe('online');
    // The learned limits survive a lost connection: a gateway that restarts has the same registers.
    const halved = device.reads.length;
    device.lack([]);
    await device.stop();
    await offline();
    await device.start();
    await expect.poll(() => devices.value(6)).toBe(7);
    expect(device.reads.slice(halved)).toContainEqual({ start: 2, count: 1 });
    expect(device.reads.slice(halved)).not.toContainEqual({ start: 0, count: 3 });
  });

  test.each([1, 3, 6, 99])('[points §3.1] a block is cut up on exception %d too', async (exception) => {
    device.lack([2], exception);
    await expect.poll(() => [devices.value(0), devices.value(6)]).toEqual([42.5, null]);
  });

  test('[points §3.1] exception 4 is not about a register: the same block is requested again at the next poll', async () => {
    device.lack([2], 4);
    await expect.poll(() => devices.value(0)).toBeNull();
    device.lack([]);
    await expect.poll(() => [devices.value(0), devices.value(6)]).toEqual([42.5, 7]);
    expect(device.reads.every(({ start, count }) => start !== 2 && (start !== 0 || count === 3))).toBe(true);
  });

  test('an answer that is not Modbus ends the connection without a value', async () => {
    device.babble(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await offline();
    expect([0, 1, 2, 6].map(devices.value)).toEqual([null, null, null, null]);
    device.babble(null);
    await expect.poll(() => devices.value(0)).toBe(42.5);
  });

  test('[points §4.1] a stopped device: values unavailable, commands refused, none delivered later', async () => {
    await device.stop();
    await offline();
    expect(devices.value(0)).toBeNull();
    // A failed read is not a reading.
    const { read, lastReadMs } = await traffic();
    await expect.poll(async () => (await traffic()).unread).toBeGreaterThan(50);
    expect(await traffic()).toMatchObject({ read, lastReadMs });
    expect(lastReadMs).not.toBeNull();
    expect(devices.command(3, 77)).toBe('offline');
    const before = device.writes.length;
    await device.start();
    await devices.online();
    await expect.poll(() => devices.value(0)).toBe(42.5);
    expect((await traffic()).lastReadMs).toBeGreaterThan(lastReadMs ?? 0);
    expect(device.writes.length).toBe(before);
  });

  test('a device that falls silent is disconnected after timeout_ms, and its values become unavailable', async () => {
    device.silence(true);
    await offline();
    expect(devices.value(0)).toBeNull();
    device.silence(false);
    await devices.online();
    await expect.poll(() => devices.value(0)).toBe(42.5);
  });

  test('[points §4.3] a command that waits behind a request without an answer is dropped, not sent after the reconnect', async () => {
    device.silence(true);
    // Longer than the poll interval: by now a request is in flight and occupies the channel.
    await elapsed(100);
    expect(devices.command(3, 55)).toBe('accepted');
    await offline();
    device.silence(false);
    await devices.online();
    await expect.poll(() => devices.value(0)).toBe(42.5);
    await elapsed(100);
    expect(device.writes).toEqual([]);
    expect((await devices.layer.counts()).dropped).toBe(1);
  });
});

describe('[points §4.4] safe_value with hold_max_ms', () => {
  let device: ModbusDevice;
  let devices: RunningDevices;
  beforeEach(async () => {
    device = await startModbusDevice();
    device.holding.writeFloatBE(99, 200);
    const text = `${channelText(device.port)}
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: plc, safe_value: 3, hold_max_ms: 400, address: { table: holding, register: 100, type: float32 } }
      - { id: 2, name: other, kind: action, unit: kW, channel: plc, address: { table: holding, register: 102, type: float32 } }
`;
    devices = runDevices(text, folders);
    await devices.online();
  });
  afterEach(async () => {
    await devices.layer.terminate();
    await device.stop();
  });

  test('it is written once when no command came for that long, and again after the next command stayed the last', async () => {
    expect(devices.command(0, 50)).toBe('accepted');
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(50);
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(3);
    const writes = device.writes.length;
    await elapsed(700);
    expect(device.writes.length).toBe(writes);
    expect(devices.command(0, 60)).toBe('accepted');
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(60);
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(3);
  });

  test('it is off by default: a point without it keeps its last command', async () => {
    expect(devices.command(1, 50)).toBe('accepted');
    await expect.poll(() => device.holding.readFloatBE(204)).toBe(50);
    await elapsed(700);
    expect(device.holding.readFloatBE(204)).toBe(50);
  });

  test('a device that reconnects gets the safe value again when it is due', async () => {
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(3);
    await device.stop();
    device.holding.writeFloatBE(99, 200);
    await device.start();
    await expect.poll(() => device.holding.readFloatBE(200)).toBe(3);
  });
});
