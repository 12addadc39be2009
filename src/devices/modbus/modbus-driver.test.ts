/** A gateway with many units, and every kind of faulty device [points §3.1]; against real TCP on loopback. */
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { elapsed, type RunningDevices, runDevices } from '../../testing/driver-contract.ts';
import { type FaultDevice, type Manner, startFaultDevice } from '../../testing/fault-device.ts';
import type { DeviceLimits } from '../limits.ts';
import type { FramingName } from './framing.ts';

const folders = { configDir: '.', dataDir: '.' };
let device: FaultDevice | undefined;
let devices: RunningDevices | undefined;

afterEach(async () => {
  await devices?.layer.terminate();
  await device?.close();
});

interface Started {
  readonly device: FaultDevice;
  readonly devices: RunningDevices;
}

async function start(
  points: readonly string[],
  prepare: (device: FaultDevice) => void,
  channel = '',
  framing: FramingName = 'tcp',
  pollMs = 50,
  limits: Partial<DeviceLimits> = { trace_exchanges: 10 },
  port?: number,
): Promise<Started> {
  device = await startFaultDevice(framing);
  prepare(device);
  devices = runDevices(
    `
schema: svc.site.v1
site: { id: s, name: s, timezone: UTC }
channels:
  - { id: bus, driver: modbus-tcp, host: 127.0.0.1, port: ${port ?? device.port}, unit_id: 1, poll_interval_ms: ${pollMs}, timeout_ms: 60, word_order: big, framing: ${framing} ${channel} }
instances:
  - id: 1
    name: bus
    points:
${points.map((point, at) => `      - { id: ${at + 1}, name: p${at + 1}, unit: kW, channel: bus, ${point} }`).join('\n')}
`,
    folders,
    limits,
  );
  return { device, devices };
}

const state = (running: Started) => running.devices.layer.channels()[0]?.state;
const measurement = (address: string, more = ''): string => `kind: measurement, ${more} address: { ${address} }`;
const unitPoint = (unit: number): string => measurement(`table: holding, register: 0, type: int16, unit_id: ${unit}`);

describe('[points §3.1] a gateway with ten units', () => {
  const units = Array.from({ length: 10 }, (_, at) => at + 1);
  const bad: readonly (readonly [string, Manner])[] = [
    ['dead', { kind: 'dead' }],
    ['half answers', { kind: 'half' }],
    ['gateway says no path', { kind: 'exception', code: 10 }],
    ['gateway says no answer', { kind: 'exception', code: 11 }],
    ['illegal address', { kind: 'exception', code: 2 }],
    ['an unknown exception', { kind: 'exception', code: 200 }],
    ['nonsense', { kind: 'nonsense', bytes: Buffer.from('HTTP/1.1 400 Bad Request') }],
  ];

  test.each(bad)('three units are bad (%s): the others are read, and the bad ones say why', async (_, manner) => {
    const running = await start(units.map(unitPoint), (given) => {
      for (const unit of units) given.bank(unit).set('holding', 0, unit * 10);
    });
    const healthy = [1, 2, 4, 5, 7, 8, 10];
    await expect.poll(() => running.devices.value(9)).toBe(100);
    for (const unit of [3, 6, 9]) running.device.manner(unit, manner);
    await expect.poll(() => [2, 5, 8].map(running.devices.value)).toEqual([null, null, null]);
    await elapsed(300);
    expect(healthy.map((unit) => running.devices.value(unit - 1))).toEqual(healthy.map((unit) => unit * 10));
    const reasons = (await running.devices.layer.errors()).flatMap(({ index, message }) =>
      index === 2 ? message : [],
    );
    expect(reasons).toEqual([expect.stringMatching(/unit 3 does not answer|exception|not Modbus/)]);
    // It comes back when the unit does.
    for (const unit of [3, 6, 9]) running.device.manner(unit, { kind: 'well' });
    await expect.poll(() => running.devices.value(2)).toBe(30);
  });

  test('every exception code from 0 to 255 is a refusal and nothing more: the other unit never misses a poll', async () => {
    const fill = (given: FaultDevice): void => {
      for (const unit of [1, 2]) given.bank(unit).set('holding', 0, unit);
    };
    const running = await start([unitPoint(1), unitPoint(2)], fill, '', 'tcp', 10);
    await expect.poll(() => running.devices.value(1)).toBe(2);
    for (let code = 0; code < 256; code++) {
      running.device.manner(1, { kind: 'exception', code });
      const before = running.device.requests(2);
      await expect.poll(() => running.device.requests(2), { interval: 5 }).toBeGreaterThan(before);
      expect(running.devices.value(1)).toBe(2);
    }
    expect(running.device.connections()).toBe(1);
  });

  test('a device that answers as another unit is not believed, and the reason names both', async () => {
    const running = await start([unitPoint(1)], (given) => {
      given.bank(1).set('holding', 0, 7);
      given.manner(1, { kind: 'renamed', unit: 255 });
    });
    await expect
      .poll(async () => (await running.devices.layer.errors()).map(({ message }) => message))
      .toEqual(['the device answered as unit 255, not 1']);
    expect(running.devices.value(0)).toBeNull();
  });

  test('a write that the device confirms with another value has failed, and the connection stays', async () => {
    const action = 'kind: action, address: { table: holding, register: 1, type: int16 }';
    const running = await start([unitPoint(1), action], (given) => {
      for (const register of [0, 1]) given.bank(1).set('holding', register, 7);
      given.manner(1, { kind: 'limiting', value: 0x64 });
    });
    await expect.poll(() => running.devices.value(0)).toBe(7);
    expect(running.devices.command(1, 500)).toBe('accepted');
    await expect
      .poll(async () => (await running.devices.layer.errors()).map(({ index, message }) => [index, message]))
      .toEqual([[1, 'the device confirmed another value (0064)']]);
    expect([running.devices.value(0), running.device.connections()]).toEqual([7, 1]);
  });

  test('a command to a silent unit fails at once and says why', async () => {
    const action = 'kind: action, address: { table: holding, register: 0, type: int16, unit_id: 2 }';
    const running = await start([unitPoint(1), action], (given) => {
      for (const unit of [1, 2]) given.bank(unit).set('holding', 0, 0);
      given.manner(2, { kind: 'dead' });
    });
    await expect.poll(async () => (await running.devices.layer.errors()).length).toBe(1);
    const before = running.device.requests(2);
    expect(running.devices.command(1, 5)).toBe('accepted');
    await expect.poll(async () => (await running.devices.layer.counts()).failed).toBe(1);
    expect((await running.devices.layer.errors()).map(({ message }) => message)).toEqual(['unit 2 does not answer']);
    expect(running.device.requests(2)).toBe(before);
  });
});

describe('[points §3.1] a device that closes connections', () => {
  const action = 'kind: action, address: { table: holding, register: 1, type: int16 }';
  const fill = (given: FaultDevice): void => {
    for (const register of [0, 1]) given.bank(1).set('holding', register, 7);
  };
  test('after each answer: it is read at its interval and commanded, and stays online', async () => {
    const running = await start([unitPoint(1), action], (given) => {
      fill(given);
      given.manner(1, { kind: 'closing' });
    });
    await expect.poll(() => running.devices.value(0)).toBe(7);
    const from = running.device.requests(1);
    while (running.device.requests(1) < from + 20) {
      expect([state(running), running.devices.value(0)]).toEqual(['online', 7]);
      await elapsed(1);
    }
    expect(await running.devices.layer.errors()).toEqual([]);
    // A command that meets a closing connection fails; the rule commands again.
    const commanded = (): number | undefined => {
      running.devices.command(1, 9);
      return running.device.bank(1).get('holding', 1);
    };
    await expect.poll(commanded).toBe(9);
  });

  test('after a time without requests: a command opens another connection, and does not wait for the next poll', async () => {
    const running = await start([unitPoint(1), action], fill, '', 'tcp', 60_000);
    await expect.poll(() => running.devices.value(0)).toBe(7);
    running.device.disconnect();
    await expect.poll(() => running.device.connections()).toBe(0);
    await elapsed(50);
    expect(running.devices.command(1, 9)).toBe('accepted');
    await expect.poll(() => running.device.bank(1).get('holding', 1)).toBe(9);
    expect([state(running), running.devices.value(0), running.device.connections()]).toEqual(['online', 7, 1]);
  });

  test('and then is gone: the next poll makes its points bad, and says why', async () => {
    const running = await start([unitPoint(1)], fill);
    await expect.poll(() => running.devices.value(0)).toBe(7);
    await running.device.close();
    await expect.poll(() => state(running)).toBe('offline');
    expect(running.devices.value(0)).toBeNull();
    expect((await running.devices.layer.errors()).map(({ message }) => message)).toEqual([
      expect.stringContaining('ECONNREFUSED'),
    ]);
  });

  test('as the next request comes: a read is sent once more', async () => {
    const running = await start([unitPoint(1)], fill);
    await expect.poll(() => running.devices.value(0)).toBe(7);
    running.device.manner(1, { kind: 'hanging-up' });
    const from = running.device.requests(1);
    while (running.device.requests(1) < from + 20) {
      expect([state(running), running.devices.value(0)]).toEqual(['online', 7]);
      await elapsed(1);
    }
    expect(await running.devices.layer.errors()).toEqual([]);
  });

  test('as a command comes: it fails and is not sent again, because the device may have carried it out', async () => {
    const running = await start([unitPoint(1), action], fill, '', 'tcp', 60_000);
    await expect.poll(() => running.devices.value(0)).toBe(7);
    running.device.manner(1, { kind: 'hanging-up' });
    expect(running.devices.command(1, 9)).toBe('accepted');
    await expect.poll(async () => (await running.devices.layer.counts()).failed).toBe(1);
    expect([state(running), running.device.bank(1).get('holding', 1)]).toEqual(['online', 7]);
    expect(running.devices.command(1, 10)).toBe('accepted');
    await expect.poll(() => running.device.bank(1).get('holding', 1)).toBe(10);
    expect(running.device.writes.length).toBe(2);
  });

  test('at one register: it is tried less and less often, and the reason is given', async () => {
    const far = measurement('table: holding, register: 500, type: int16');
    const limits = { reconnect_min_ms: 10, reconnect_max_ms: 5000 };
    const prepare = (given: FaultDevice): void => {
      fill(given);
      given.manner(1, { kind: 'touchy', register: 500 });
    };
    const running = await start([unitPoint(1), far], prepare, '', 'tcp', 50, limits);
    await expect
      .poll(async () => (await running.devices.layer.errors()).map(({ index, message }) => [index, message]))
      .toContainEqual([1, 'the device closed the connection without an answer']);
    await elapsed(1000);
    // At the shortest wait it would be a hundred.
    expect(running.device.requests(1)).toBeLessThan(50);
  });

  test('before an answer, as one without a free connection does: the reason is given', async () => {
    const full = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => void full.listen(0, '127.0.0.1', resolve));
    const { port } = full.address() as AddressInfo;
    try {
      const running = await start([unitPoint(1)], fill, '', 'tcp', 50, {}, port);
      await expect
        .poll(async () => (await running.devices.layer.errors()).map(({ message }) => message))
        .toEqual(['the device closed the connection without an answer']);
      expect(state(running)).toBe('offline');
    } finally {
      full.close();
    }
  });

  test('its safe value is written again: it may have restarted', async () => {
    const safe = `kind: action, safe_value: 3, hold_max_ms: 50, address: { table: holding, register: 1, type: int16 }`;
    const running = await start([unitPoint(1), safe], fill);
    await expect.poll(() => running.device.bank(1).get('holding', 1)).toBe(3);
    running.device.bank(1).set('holding', 1, 99);
    running.device.disconnect();
    await expect.poll(() => running.device.bank(1).get('holding', 1)).toBe(3);
  });
});

describe.each(['tcp', 'rtu'] as const)('[points §3.1] framing %s', (framing) => {
  test('values arrive whole, split and doubled; a command is written', async () => {
    const action = 'kind: action, address: { table: holding, register: 10, type: int32 }';
    const running = await start(
      [unitPoint(1), action],
      (given) => {
        given.bank(1).set('holding', 0, 7);
        for (const register of [10, 11]) given.bank(1).set('holding', register, 0);
      },
      '',
      framing,
    );
    for (const manner of ['well', 'split', 'doubled', 'well'] as const) {
      running.device.manner(1, { kind: manner });
      const value = 7 + manner.length;
      running.device.bank(1).set('holding', 0, value);
      await expect.poll(() => running.devices.value(0)).toBe(value);
    }
    expect(running.devices.command(1, -70_000)).toBe('accepted');
    await expect.poll(() => [10, 11].map((at) => running.device.bank(1).get('holding', at))).toEqual([0xfffe, 0xee90]);
  });
});

describe('[points §3.1] values', () => {
  test('64 bits, bytes swapped, bits, fields, text, sentinels and scale registers', async () => {
    const running = await start(
      [
        measurement('table: holding, register: 0, type: uint64', 'scale: 0.001,'),
        measurement('table: holding, register: 4, type: float32, byte_order: little'),
        measurement('table: holding, register: 6, type: bool, bit: 2'),
        measurement('table: holding, register: 6, type: bitfield'),
        measurement('table: holding, register: 7, type: string, length: 4'),
        measurement('table: holding, register: 20, type: int16, scale_from: 22', 'invalid: [-32768],'),
        measurement('table: holding, register: 21, type: int16, scale_from: 23'),
        measurement('table: holding, register: 20, type: int16', 'invalid: [-32768],'),
      ],
      (given) => {
        const words = Buffer.concat([
          Buffer.from('0000000200000000', 'hex'),
          Buffer.from('2a420000', 'hex').swap16().swap16(),
          Buffer.from('0006', 'hex'),
          Buffer.from('SMA\0\0\0\0\0'),
        ]);
        for (let at = 0; at < words.length; at += 2) given.bank(1).set('holding', at / 2, words.readUInt16BE(at));
        for (const [register, value] of [
          [20, 123],
          [21, 5],
          [22, 0xffff],
          [23, 0x8000],
        ] as const)
          given.bank(1).set('holding', register, value);
      },
    );
    await expect.poll(() => running.devices.value(0)).toBeCloseTo(8_589_934.592);
    await expect
      .poll(() => [1, 2, 3, 4, 5, 6, 7].map(running.devices.value))
      .toEqual([42.5, 1, 6, null, 12.3, null, 123]);
    expect(await running.devices.layer.texts()).toEqual([{ index: 4, text: 'SMA' }]);
    expect((await running.devices.layer.errors()).map(({ index, message }) => [index, message])).toEqual([
      [6, 'scale register 23 was not read, or is outside -10..10'],
    ]);
    // The device changes its scale: the value follows in the same poll. Then the device reports that it has none.
    running.device.bank(1).set('holding', 22, 1);
    await expect.poll(() => running.devices.value(5)).toBe(1230);
    running.device.bank(1).set('holding', 20, 0x8000);
    await expect.poll(() => [running.devices.value(5), running.devices.value(7)]).toEqual([null, null]);
  });

  test('write functions: one register or coil singly or as many of one, and the scale register goes the other way', async () => {
    const action = (address: string): string => `kind: action, address: { ${address} }`;
    const running = await start(
      [
        action('table: holding, register: 0, type: int16'),
        action('table: holding, register: 1, type: int16, write_function: multiple'),
        action('table: coil, register: 2, type: bool, write_function: multiple'),
        action('table: holding, register: 3, type: int16, scale_from: 4'),
      ],
      (given) => {
        for (const register of [0, 1, 3]) given.bank(1).set('holding', register, 0);
        given.bank(1).set('holding', 4, 0xfffe);
        given.bank(1).set('coil', 2, 0);
      },
    );
    await running.devices.online();
    await expect.poll(() => running.devices.value(3)).toBe(0);
    for (const [index, value] of [
      [0, 5],
      [1, 6],
      [2, 1],
      [3, 12.34],
    ] as const) {
      expect(running.devices.command(index, value)).toBe('accepted');
      await expect.poll(() => running.devices.value(index)).toBe(value);
    }
    expect(running.device.writes.map(({ code, start: at }) => [code, at])).toEqual([
      [6, 0],
      [16, 1],
      [15, 2],
      [6, 3],
    ]);
    expect(running.device.bank(1).get('holding', 3)).toBe(1234);
  });

  test('points with an interval of their own are read at it', async () => {
    const running = await start(
      [unitPoint(1), `${measurement('table: holding, register: 0, type: int16, unit_id: 2')}, poll_interval_ms: 400`],
      (given) => {
        for (const unit of [1, 2]) given.bank(unit).set('holding', 0, unit);
      },
    );
    await expect.poll(() => running.devices.value(1)).toBe(2);
    await elapsed(1000);
    expect(running.device.requests(1)).toBeGreaterThan(running.device.requests(2) * 3);
    expect(running.devices.site.points.map(({ maxAgeMs }) => maxAgeMs)).toEqual([250, 2000]);
  });

  test('a device that is slower than its interval: polls are left out, and counted', async () => {
    const running = await start([unitPoint(1)], (given) => given.bank(1).set('holding', 0, 7), '', 'tcp', 20);
    const late = async () => (await running.devices.layer.traffic())[0]?.late ?? 0;
    await expect.poll(() => running.devices.value(0)).toBe(7);
    running.device.manner(1, { kind: 'slow', ms: 45 });
    await expect.poll(late).toBeGreaterThan(3);
    running.device.manner(1, { kind: 'well' });
    const [before, from] = [await late(), running.device.requests(1)];
    await expect.poll(() => running.device.requests(1)).toBeGreaterThan(from + 5);
    expect((await late()) - before).toBeLessThan(3);
  });

  test('write_only: the register is never read, and its value is what was written last', async () => {
    const action = 'kind: action, address: { table: holding, register: 1, type: uint16, write_only: true }';
    const running = await start([unitPoint(1), action], (given) => given.bank(1).set('holding', 0, 7));
    running.device.bank(1).set('holding', 1, 0);
    await expect.poll(() => running.devices.value(0)).toBe(7);
    expect([running.devices.value(1), await running.devices.layer.errors()]).toEqual([null, []]);
    expect(running.devices.command(1, 42)).toBe('accepted');
    await expect.poll(() => running.devices.value(1)).toBe(42);
    expect(running.device.bank(1).get('holding', 1)).toBe(42);
    const requests = async () => (await running.devices.layer.trace(0))?.exchanges.map(({ request }) => request);
    expect(await requests()).not.toContain('read holding 0..1 of unit 1');
    // After a lost connection nobody knows what the device has.
    running.device.manner(1, { kind: 'dead' });
    await expect.poll(() => state(running)).toBe('offline');
    running.device.manner(1, { kind: 'well' });
    await expect
      .poll(async () => (await running.devices.layer.errors()).map(({ index, message }) => [index, message]))
      .toContainEqual([1, 'connected again, and not commanded since']);
    expect(running.devices.value(1)).toBeNull();
  });

  test('a channel of write_only points alone is online and takes commands', async () => {
    const action = 'kind: action, address: { table: holding, register: 1, type: uint16, write_only: true }';
    const running = await start([action], (given) => given.bank(1).set('holding', 1, 0));
    await expect.poll(() => state(running)).toBe('online');
    expect(running.devices.command(0, 42)).toBe('accepted');
    await expect.poll(() => running.device.bank(1).get('holding', 1)).toBe(42);
  });

  test('max_registers: no request reads more', async () => {
    const running = await start(
      Array.from({ length: 20 }, (_, at) => measurement(`table: holding, register: ${at}, type: int16`)),
      (given) => {
        for (let at = 0; at < 20; at++) given.bank(1).set('holding', at, at);
      },
      ', max_registers: 8',
    );
    await expect.poll(() => running.devices.value(19)).toBe(19);
    const trace = await running.devices.layer.trace(0);
    expect(trace?.exchanges.slice(0, 3).map(({ request }) => request)).toEqual([
      'read holding 0..7 of unit 1',
      'read holding 8..15 of unit 1',
      'read holding 16..19 of unit 1',
    ]);
  });
});

describe('[points §8.6] trace and scan', () => {
  test('the newest exchanges with their raw words, and how many there were', async () => {
    const running = await start([unitPoint(1)], (given) => given.bank(1).set('holding', 0, 0x12ab));
    await expect.poll(() => running.devices.value(0)).toBe(0x12ab);
    const trace = await running.devices.layer.trace(0);
    expect(trace?.exchanges[0]).toMatchObject({
      request: 'read holding 0 of unit 1',
      answer: '12ab',
      result: 'answered',
    });
    running.device.manner(1, { kind: 'exception', code: 3 });
    await expect.poll(async () => (await running.devices.layer.trace(0))?.counts.refused).toBeGreaterThan(0);
    await elapsed(700);
    const later = await running.devices.layer.trace(0);
    expect(later?.exchanges).toHaveLength(10);
    expect(later?.exchanges.at(-1)).toMatchObject({ answer: 'exception 3 (illegal data value)', result: 'refused' });
  });

  test('a scan finds the registers that answer, between the polls, and skips the rest', async () => {
    const running = await start([unitPoint(1)], (given) => {
      for (const register of [0, 40, 41, 99]) given.bank(1).set('holding', register, register);
      given.bank(4).set('input', 7, 77);
    });
    await running.devices.online();
    const found = await running.devices.layer.scan(0, { from: 0, count: 100 });
    expect(found?.registers.map(({ register, words }) => [register, ...words])).toEqual([
      [0, 0],
      [40, 40],
      [41, 41],
      [99, 99],
    ]);
    const other = await running.devices.layer.scan(0, { unit: 4, table: 'input', from: 0, count: 10 });
    expect(other?.registers).toEqual([{ unit: 4, table: 'input', register: 7, words: [77] }]);
    await expect.poll(() => running.devices.value(0)).toBe(0);
  });

  test('a scan does not wait for polls: one that reads each register alone ends before the next poll', async () => {
    const running = await start([unitPoint(1)], () => undefined, '', 'tcp', 3_600_000);
    await running.devices.online();
    const asked = running.device.requests(1);
    expect(await running.devices.layer.scan(0, { unit: 4, count: 50 })).toEqual({ registers: [], models: [] });
    expect(running.device.requests(1)).toBe(asked);
  });

  test.each<[string, Manner, string]>([
    ['never answers', { kind: 'dead' }, 'unit 9 does not answer: no answer in time'],
    [
      'is missing behind its gateway',
      { kind: 'exception', code: 11 },
      'unit 9 does not answer: exception 11 (gateway target device failed to respond)',
    ],
  ])('a scan of a unit that %s ends at its first request, with the reason; polls go on', async (_, manner, reason) => {
    const running = await start([unitPoint(1)], (given) => {
      given.bank(1).set('holding', 0, 5);
      given.manner(9, manner);
    });
    await expect.poll(() => running.devices.value(0)).toBe(5);
    await expect(running.devices.layer.scan(0, { unit: 9 })).rejects.toMatchObject({ message: reason });
    expect(running.device.requests(9)).toBe(1);
    running.device.bank(1).set('holding', 0, 6);
    await expect.poll(() => running.devices.value(0)).toBe(6);
    await running.devices.online();
  });

  test('scan_timeout_ms: a scan of a slow device ends at its limit and sends no further requests', async () => {
    const limits = { trace_exchanges: 10, scan_timeout_ms: 200 };
    const running = await start(
      [unitPoint(1)],
      (given) => given.manner(4, { kind: 'slow', ms: 20 }),
      '',
      'tcp',
      50,
      limits,
    );
    await running.devices.online();
    // Without registers, so that every block is halved down to single ones.
    await expect(running.devices.layer.scan(0, { unit: 4, count: 1000 })).rejects.toMatchObject({
      code: 'deadline-exceeded',
      message: 'the scan did not end within 200 ms (scan_timeout_ms): scan fewer registers at once',
    });
    await elapsed(100);
    const asked = running.device.requests(4);
    await elapsed(200);
    expect(running.device.requests(4)).toBe(asked);
    // Few enough are read in time.
    expect(await running.devices.layer.scan(0, { unit: 4, count: 1 })).toEqual({ registers: [], models: [] });
  });
});
