/**
 * A site under load for the fault matrix: on one machine with its files, or on three that share a database. Each machine has a
 * device that a rule commands every 100 ms, and a second one beside it. `violations` checks it from outside afterwards.
 */

import type { Gate } from '../../src/testing/gate.ts';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import type { TestPostgres } from '../../src/testing/postgres-server.ts';
import {
  editorFlow,
  feedFlow,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  waitFor,
} from '../e2e/running-service.ts';
import { setpointWrites, startCluster } from '../e2e/several-machines.ts';

export interface SiteMachine {
  readonly folders: TestFolders;
  /** The commanded one. */
  readonly device: ModbusDevice;
  readonly other: ModbusDevice;
  service: TestService | null;
  start(): Promise<TestService>;
}

export interface FaultSite {
  readonly machines: readonly SiteMachine[];
  /** Null on one machine. */
  readonly postgres: TestPostgres | null;
  /** Between a machine and the database; null on one machine. */
  gateOf(machine: SiteMachine): Gate | null;
  /**
   * When nothing could be stored, by the wall clock: a cooldown that began then is stored by the first commit after it, which the
   * next machine in control did not see [rules §6.3].
   */
  readonly unstored: { readonly fromMs: number; readonly toMs: number }[];
  /** The machine whose device received the last command. */
  leader(): SiteMachine;
  close(): Promise<void>;
}

const cooldownMs = 2000;
/** Of the clock in `started_at`, which is rounded to milliseconds, twice. */
const roundingMs = 2;

const limits = { setpoint: { min: -500, max: 500 }, cooldownMs };

const siteOf = (port: number, otherPort: number): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
parameters:
  limit: { value: 10, unit: kW }
channels:
  - { id: inverter, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big }
  - { id: other, driver: modbus-tcp, host: 127.0.0.1, port: ${otherPort}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big }
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: inverter, address: { table: holding, register: 0, type: float32 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: ${limits.setpoint.min}, max: ${limits.setpoint.max}, channel: inverter, address: { table: holding, register: 100, type: float32 } }
      - { id: 2, name: level, kind: measurement, unit: m, channel: other, address: { table: holding, register: 0, type: uint16 } }
      - { id: 2, name: pump, kind: action, unit: "1", channel: other, address: { table: holding, register: 10, type: uint16 } }
  - id: 2
    name: derived
    points:
      - { id: 1, name: a, kind: measurement, unit: "1", channel: derived }
      - { id: 2, name: b, kind: measurement, unit: "1", channel: derived }
      - { id: 1, name: cooled, kind: action, unit: "1", channel: derived }
`;
const serviceText = 'http: { mutations_per_minute: 1000000 }\n';

export async function startFaultSite(kind: 'one machine' | 'three machines'): Promise<FaultSite> {
  return kind === 'one machine' ? startOne() : startThree();
}

async function startOne(): Promise<FaultSite> {
  const [device, other] = [await chargedDevice(), await startModbusDevice()];
  const folders = testFolders(siteOf(device.port, other.port));
  folders.write('service.yaml', serviceText);
  const machine: SiteMachine = {
    folders,
    device,
    other,
    service: null,
    async start() {
      machine.service = await startTestService(folders);
      return machine.service;
    },
  };
  await machine.start();
  return {
    machines: [machine],
    postgres: null,
    unstored: [],
    gateOf: () => null,
    leader: () => machine,
    async close() {
      await machine.service?.stop('SIGKILL');
      folders.remove();
      await device.stop();
      await other.stop();
    },
  };
}

async function startThree(): Promise<FaultSite> {
  const others = [await startModbusDevice(), await startModbusDevice(), await startModbusDevice()];
  const cluster = await startCluster(['a', 'b', 'c'], {
    service: serviceText,
    site: (port, position) => siteOf(port, others[position]?.port ?? 0),
  });
  const machines = cluster.machines.map((machine, position): SiteMachine => {
    machine.device.holding.writeFloatBE(50, 0);
    const other = others[position];
    if (other === undefined) throw new Error('a machine has no second device');
    return Object.assign(machine, { other });
  });
  await Promise.all(machines.map((machine) => machine.start()));
  const lastWrite = (machine: SiteMachine): number => setpointWrites(machine).at(-1) ?? 0;
  return {
    machines,
    postgres: cluster.postgres,
    unstored: [],
    gateOf: (machine) => cluster.machines.find((each) => each.folders === machine.folders)?.gate ?? null,
    leader() {
      const [last] = machines.toSorted((a, b) => lastWrite(b) - lastWrite(a));
      if (last === undefined) throw new Error('the site has no machine');
      return last;
    },
    async close() {
      await cluster.close();
      for (const other of others) await other.stop();
    },
  };
}

async function chargedDevice(): Promise<ModbusDevice> {
  const device = await startModbusDevice();
  device.holding.writeFloatBE(50, 0);
  return device;
}

export interface SiteRules {
  /** Commands the setpoint every 100 ms. */
  readonly commanding: number;
  /** Would act every 100 ms, without its cooldown. */
  readonly cooled: number;
}

export async function drawRules(service: TestService): Promise<SiteRules> {
  const made = async (name: string, changes: Readonly<Record<string, unknown>>): Promise<number> => {
    const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
    for (const reply of [
      await service.command('PUT', `/rules/${id}`, changes),
      await service.command('POST', `/rules/${id}/enable`),
    ])
      if (reply.status !== 200) throw new Error(reply.text);
    return id;
  };
  const trigger_config = { type: 'interval', interval_ms: 100 };
  return {
    commanding: await made('commanding', { flow_json: editorFlow('x > 10', 'x * 2'), trigger_config, priority: 50 }),
    cooled: await made('cooled', { flow_json: pointFlow(2, 'action', 1), trigger_config, cooldown_ms: cooldownMs }),
  };
}

/** Writes 1 to one point. */
export function pointFlow(instance: number, point_type: 'action' | 'measurement', point: number): object {
  const flow = feedFlow(1) as { nodes: { id: string; data: { config: { writes?: object[] } } }[] };
  for (const { id, data } of flow.nodes)
    if (id === 'feed') data.config.writes = [{ instance, point_type, point, value: 1 }];
  return flow;
}

/** Repeats it until the returned function is called. */
export function again(work: (count: number) => Promise<unknown>): () => Promise<void> {
  const state = { running: true };
  const loop = (async () => {
    for (let count = 0; state.running; count++) await work(count);
  })();
  return async () => {
    state.running = false;
    await loop;
  };
}

/** An engineer who edits a rule repeatedly, through any machine that answers, and remembers the acknowledged changes. */
export function editAgainAndAgain(site: FaultSite, ruleId: number) {
  let [acknowledged, refused] = [0, 0];
  const faults: string[] = [];
  const edit = async (count: number): Promise<void> => {
    const service = site.machines[count % site.machines.length]?.service;
    if (service === null || service === undefined || service.process.exitCode !== null) return;
    const reply = await service.command('PUT', `/rules/${ruleId}`, { description: `edit ${count}` });
    if (reply.status === 200) acknowledged = Math.max(acknowledged, Number(reply.body['data']?.['revision']));
    else if (typeof (reply.body['error']?.['code'] as unknown) === 'string') refused++;
    else faults.push(`a change was answered ${reply.status} ${reply.text.slice(0, 200)}`);
  };
  const stop = again(async (count) => {
    // A connection that ends with its process says nothing about the change.
    await edit(count).catch((error: unknown) => {
      if (String(error).includes('otherwise than described')) faults.push(String(error));
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
  });
  return {
    async stop() {
      await stop();
      return { acknowledged, refused, faults };
    },
  };
}

/** The longest time without a command to any machine's setpoint, from `fromMs` to `toMs` of the monotonic clock. */
export function longestPause(site: FaultSite, fromMs: number, toMs: number): number {
  const moments = site.machines.flatMap((machine) => setpointWrites(machine)).filter((at) => at > fromMs && at < toMs);
  const all = [fromMs, ...moments.toSorted((a, b) => a - b), toMs];
  return Math.max(...all.map((at, index) => at - (all[index - 1] ?? at)));
}

/** Whether two machines commanded in turns: one continued after the other had begun, more often than control was taken over. */
export function turnsOfControl(site: FaultSite, fromMs: number): number {
  const writes = site.machines
    .flatMap((machine, index) => setpointWrites(machine).map((atMs) => ({ atMs, index })))
    .filter(({ atMs }) => atMs > fromMs)
    .toSorted((a, b) => a.atMs - b.atMs);
  return writes.filter(({ index }, at) => at > 0 && writes[at - 1]?.index !== index).length;
}

/** Any machine that answers. */
export async function anyService(site: FaultSite): Promise<TestService> {
  return waitFor(async () => {
    for (const { service } of site.machines) {
      const answer = service === null ? undefined : await fetch(`${service.base}/ready`).catch(() => undefined);
      if (service !== null && answer?.status === 200) return service;
    }
    return undefined;
  }, 60_000);
}

/** The invariants of any site at any time, as far as they can be seen from outside. */
export async function violations(site: FaultSite, { commanding, cooled }: SiteRules, revision: number) {
  const found: string[] = [];
  const service = await anyService(site);
  const stored = await service.read(`/rules/${commanding}`);
  if (Number(stored.body['data']?.['revision']) < revision)
    found.push(`revision ${revision} was acknowledged; ${stored.text.slice(0, 200)} is stored`);
  for (const { device } of site.machines) {
    const value = device.holding.readFloatBE(200);
    if (value < limits.setpoint.min || value > limits.setpoint.max) found.push(`${value} was written`);
  }
  const page = await service.read(`/rules/${cooled}/history?limit=100`);
  const runs = (page.body['data']?.['list'] ?? []) as unknown as readonly { started_at: string; outcome: string }[];
  const acted = runs.filter(({ outcome }) => outcome === 'acted').map(({ started_at }) => Date.parse(started_at));
  for (const [index, at] of acted.entries()) {
    const before = acted[index + 1];
    const isUnknown = site.unstored.some(
      ({ fromMs, toMs }) => before !== undefined && before >= fromMs && before <= toMs,
    );
    if (before !== undefined && !isUnknown && at - before < cooldownMs - roundingMs)
      found.push(`the cooled rule acted ${at - before} ms after it had acted`);
  }
  if (acted.length === 0) found.push('the cooled rule has no run that acted');
  const status = (await service.read('/scheduler/status')).body['data'];
  const dropped = Number(status?.['records_dropped']);
  if (dropped > 0) found.push(`${dropped} records were dropped`);
  return found;
}

/** The faults that `audit verify` reports. */
export function chainFaults(site: FaultSite): string[] {
  const [machine] = site.machines;
  if (machine === undefined) return [];
  const url = site.postgres === null ? {} : { SVC_DATABASE_URL: site.postgres.url };
  const { status, stdout, stderr } = runCommand(
    'setpoint',
    ['audit', 'verify'],
    serviceEnvironment(machine.folders, url),
  );
  return status === 0 ? [] : [`audit verify ended with ${status}: ${stdout}${stderr}`];
}
