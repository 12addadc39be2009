/**
 * [rules §10.3], [rules §10.4] random rules of a running service, on a device that is silent now and then, backtested over what was just
 * recorded of them: rules without memory agree, and every difference has a cause.
 */
import { expect, onTestFinished, test } from 'vitest';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { startModbusDevice } from '../../src/testing/modbus-server.ts';
import { type Random, seededRandom } from '../../src/testing/world/random.ts';
import { startTestService, type TestService, testFolders } from '../e2e/running-service.ts';

const rules = 48;
const measurements = 6;
/** Of the device's values. */
const extreme = 30;
const runsMs = Number(process.env['RUNS_MS'] ?? 150_000);
/** By then the last rows and runs are stored. */
const storedMs = 4000;
/**
 * A row tells since when a value was there, not when the device fell silent: at each silence a run or two differ, and with rules
 * that act, the cooldown as well.
 */
const equalLeast = 0.98;

const site = (port: number): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: Europe/Amsterdam }
parameters: { limit: { value: 10, unit: kW } }
channels:
  - { id: derived, driver: virtual }
  - { id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 200, timeout_ms: 500, word_order: big }
instances:
  - id: 1
    name: plant
    points:
${Array.from({ length: measurements }, (_, at) => `      - { id: ${at + 1}, name: m${at + 1}, kind: measurement, unit: kW, channel: plc, record: true, address: { register: ${at}, table: holding, type: int16 } }`).join('\n')}
${Array.from({ length: rules }, (_, at) => `      - { id: ${at + 1}, name: a${at + 1}, kind: action, unit: kW, min: -100, max: 100, step: 0.1, channel: derived }`).join('\n')}
`;

const plain = (random: Random): string =>
  random.pick([`x > ${random.below(20) - 10}`, `y < ${random.below(20) - 10}`, 'abs(x - y) > limit', 'max(x, y) > 5']);
const remembering = (random: Random): string =>
  random.pick([
    `rising(x > ${random.below(10)})`,
    `falling(x > ${random.below(10) - 5}) || y > 15`,
    `moving_avg(x, ${1 + random.below(8)}) > y`,
    `held(x > ${random.below(10) - 5}, ${random.pick([1, 2, 5])})`,
    `integrate(x, 10) > ${random.below(20)}`,
    'hysteresis(x, 5, -5) == 1',
    `rate_of_change(x) > ${random.below(10) - 5}`,
    'x > 0 && rising(y > 0)',
    'if(x > 0, held(y > 0, 2), hysteresis(y, 3, -3)) == 1',
  ]);

interface Drawn {
  readonly id: number;
  readonly hasMemory: boolean;
  readonly text: string;
}

async function drawn(service: TestService, random: Random, number: number): Promise<Drawn> {
  const hasMemory = random.chance(0.5);
  const branch = () => (hasMemory ? remembering(random) : plain(random));
  const x = 1 + random.below(measurements);
  const y = 1 + ((x + random.below(measurements - 1)) % measurements);
  const value = random.pick(['x', 'clamp(x + y, -100, 100)', ...(hasMemory ? ['moving_avg(y, 3)'] : [])]);
  const point = (of: number) => ({ instance: 1, point_type: 'measurement', point: of });
  const trigger_config = random.pick([
    { type: 'interval', interval_ms: random.pick([100, 500, 1000, 2000, 3000]) },
    {
      type: 'on_change',
      point_refs: [point(x)],
      time_deadband_ms: random.pick([0, 200, 1000, 3000]),
      value_deadband: random.pick([null, { type: 'absolute', threshold: 2 }, { type: 'percent', threshold: 10 }]),
    },
  ]);
  const position = { x: 0, y: 0 };
  const node = (id: string, type: string, config: object) => ({ id, type, position, data: { config } });
  const write = (id: string, written: string | number) =>
    node(id, 'action', { writes: [{ instance: 1, point: number, value: written }], wires: { default: ['end'] } });
  const nodes = [
    node('start', 'start', { wires: { default: ['read'] } }),
    node('read', 'input', {
      variables: [
        { name: 'x', ...point(x) },
        { name: 'y', ...point(y) },
      ],
      parameters: [{ name: 'limit', parameter: 'limit' }],
      wires: { default: ['decide'] },
    }),
    node('decide', 'decision', {
      branches: [
        { name: 'a', when: branch() },
        { name: 'b', when: branch() },
      ],
      wires: { a: ['first'], b: ['second'], else: ['end'] },
    }),
    write('first', value),
    write('second', 7),
    { id: 'end', type: 'end', position },
  ];
  const cooldown_ms = random.pick([0, 0, 500, 4000]);
  const id = Number((await service.command('POST', '/rules', { name: `r${number}` })).body['data']?.['id']);
  const body = { flow_json: { nodes, edges: [] }, trigger_config, cooldown_ms };
  const put = await service.command('PUT', `/rules/${id}`, body);
  expect(put.status, put.text).toBe(200);
  await service.command('POST', `/rules/${id}/enable`);
  return { id, hasMemory, text: JSON.stringify({ trigger_config, cooldown_ms, nodes: nodes.slice(2, 4) }) };
}

interface Agreement {
  readonly compared: number;
  readonly equal: number;
  readonly causes: Readonly<Record<string, number>>;
}

test('random rules agree with their recorded runs', { timeout: 1_800_000 }, async () => {
  const seed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 1_000_000);
  console.log(`SVC_TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  const device = await startModbusDevice();
  const folders = testFolders(site(device.port));
  const service = await startTestService(folders);
  const values = Array.from({ length: measurements }, () => 0);
  const walk = setInterval(() => {
    for (const [at, before] of values.entries()) {
      const value = random.chance(0.4) ? before + random.below(9) - 4 : before;
      values[at] = Math.max(-extreme, Math.min(extreme, value));
      device.holding.writeInt16BE(values[at] ?? 0, at * 2);
    }
  }, 130);
  const silence = setInterval(() => {
    device.silence(true);
    setTimeout(() => device.silence(false), 4000 + random.below(4000));
  }, 45_000);
  onTestFinished(async () => {
    clearInterval(walk);
    clearInterval(silence);
    await service.stop();
    await device.stop();
    folders.remove();
  });
  const all: Drawn[] = [];
  for (let number = 1; number <= rules; number++) all.push(await drawn(service, random, number));
  await sleep(systemClock, storedMs);
  const from = new Date().toISOString();
  await sleep(systemClock, runsMs);
  const to = new Date().toISOString();
  await sleep(systemClock, storedMs);
  for (const mode of ['recorded', 'replay'] as const) {
    const totals: Record<string, number> = {};
    for (const { id, hasMemory, text } of all) {
      const body = { from, to, mode };
      const reply = await service.request('POST', `/api/v1/automation/api/rules/${id}/backtest`, { body });
      const agreement = reply.body['data']?.['agreement'] as unknown as Agreement | null;
      // A rule whose point never moved far enough has not run.
      if (agreement === null) continue;
      const { compared, equal, causes } = agreement;
      const kind = hasMemory ? 'with memory' : 'without';
      for (const [name, count] of Object.entries({ compared, equal, ...causes }))
        totals[`${kind}: ${name}`] = (totals[`${kind}: ${name}`] ?? 0) + count;
      const told = `${text}: ${JSON.stringify(agreement)}`;
      expect(Object.keys(causes), told).not.toContain('unexplained');
      expect(Object.keys(causes), told).not.toContain('parameter');
      if (!hasMemory) expect(causes['memory'], told).toBeUndefined();
      if (!hasMemory && mode === 'replay') expect(equal, told).toBe(compared);
    }
    console.log(`${mode}: ${JSON.stringify(totals)}`);
    const share = (totals['without: equal'] ?? 0) / (totals['without: compared'] ?? Number.NaN);
    expect(share, mode).toBeGreaterThan(equalLeast);
  }
});
