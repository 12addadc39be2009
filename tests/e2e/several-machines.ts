/** Processes that share one site over one PostgreSQL server, each with a Modbus device that records its commands. */
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { auditKey } from '../../src/audit/trail.ts';
import { systemClock } from '../../src/base/clock.ts';
import { localScope, signingKey } from '../../src/gateway/local-keys.ts';
import { type Gate, startGate } from '../../src/testing/gate.ts';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import { makePostgres, type TestPostgres } from '../../src/testing/postgres-server.ts';
import { startTestService, type TestFolders, type TestService, testFolders, waitFor } from './running-service.ts';

const setpointRegister = 100;
const siteWith = (port: number): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
history: { record_interval_ms: 300, retention_days: 4000 }
channels:
  - { id: inverter, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", record: true, channel: inverter, address: { table: holding, register: 0, type: float32 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -500, max: 500, channel: inverter, address: { table: holding, register: ${setpointRegister}, type: float32 } }
`;

/** One machine: how it is started, and what runs there now. */
export interface Machine {
  readonly name: string;
  readonly folders: TestFolders;
  readonly device: ModbusDevice;
  /** Between this machine and the database. */
  readonly gate: Gate;
  readonly url: string;
  service: TestService | null;
  start(): Promise<TestService>;
}

export interface Cluster {
  readonly postgres: TestPostgres;
  readonly machines: readonly Machine[];
  /** The current leader, according to its log. */
  leader(deadlineMs?: number): Promise<Machine>;
  close(): Promise<void>;
}

export interface ClusterOptions {
  readonly roles?: Readonly<Record<string, string>>;
  /** The text of site.yaml for the machine of this position, whose device listens on this port. */
  readonly site?: (port: number, position: number) => string;
  /** The text of service.yaml. */
  readonly service?: string;
  /** A running server, stopped by the caller; without it the cluster has one of its own. */
  readonly postgres?: TestPostgres;
}

export async function startCluster(names: readonly string[], options: ClusterOptions = {}): Promise<Cluster> {
  const { roles = {}, service, site = siteWith } = options;
  const postgres = options.postgres ?? (await makePostgres());
  const machines: Machine[] = [];
  const closers: (() => unknown)[] = [];
  if (options.postgres === undefined) {
    await postgres.start();
    closers.push(() => postgres.stop());
  }
  for (const name of names) {
    const device = await startModbusDevice();
    device.holding.writeFloatBE(50, 0);
    const folders = testFolders(site(device.port, machines.length));
    if (service !== undefined) folders.write('service.yaml', service);
    // All processes of a site have the same identity.
    mkdirSync(folders.data);
    const [first] = machines;
    if (first === undefined) {
      signingKey(folders.data);
      localScope(folders.data);
      auditKey(folders.data);
    } else
      for (const file of ['signing-key.pem', 'scope.json', 'audit-key.pem'])
        cpSync(join(first.folders.data, file), join(folders.data, file));
    const { gate, url, close } = await startGate(Number(new URL(postgres.url).port), postgres.url);
    const machine: Machine = {
      name,
      folders,
      device,
      gate,
      url,
      service: null,
      async start() {
        const more = { SVC_DATABASE_URL: url, ...(roles[name] === undefined ? {} : { SVC_ROLES: roles[name] }) };
        machine.service = await startTestService(folders, more);
        return machine.service;
      },
    };
    machines.push(machine);
    closers.push(
      () => folders.remove(),
      () => device.stop(),
      () => close(),
      async () => {
        machine.service?.process.kill('SIGCONT');
        await machine.service?.stop('SIGKILL');
      },
    );
  }
  return {
    postgres,
    machines,
    leader: (deadlineMs) => waitFor(() => machines.find((machine) => controls(machine)), deadlineMs),
    async close() {
      for (const closer of closers.toReversed()) await closer();
    },
  };
}

/** Whether the last control line of its log says that it controls. */
export function controls({ service }: Machine): boolean {
  if (service === null || service.process.exitCode !== null || service.process.signalCode !== null) return false;
  const logs = service.logs();
  return logs.lastIndexOf('this process controls the site') > logs.lastIndexOf('no longer controls the site');
}

/** Whether it is ready to take over: its threads have started, its rules are compiled. */
export function standsBy({ service }: Machine): boolean {
  const logs = service?.logs() ?? '';
  const busy = ['is next in line to control', 'no longer controls the site'].map((text) => logs.lastIndexOf(text));
  return logs.lastIndexOf('this process is a standby') > Math.max(...busy);
}

export function setpointWrites({ device }: Pick<Machine, 'device'>): number[] {
  return device.writes.filter(({ register }) => register === setpointRegister).map(({ atMs }) => atMs);
}

/** The fault of the leader. */
export type Way = 'kill' | 'stop' | 'cut';

/** The steps of a takeover, in the order of the log: the time of each, from the end of the old leader's control. */
const steps = [
  ['seen', 'is next in line to control'],
  ['connected', 'channel online'],
  ['ready', 'the rule engine is ready'],
  ['controls', 'this process controls the site'],
] as const;
type Step = (typeof steps)[number][0] | 'command';
type TimeLine = Readonly<Record<Step, number>>;

/** Milliseconds from `sinceMs`, in wall time, to the first line of each step. */
function timeLine(logs: string, sinceMs: number): Readonly<Record<Exclude<Step, 'command'>, number>> {
  const lines = logs.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as object] : []));
  const when = (text: string): number => {
    const line = lines.find((each) => String(Reflect.get(each, 'msg')).includes(text));
    return line === undefined
      ? Number.NaN
      : Math.round(new Date(Reflect.get(line, 'time') as string).getTime() - sinceMs);
  };
  const [seen, connected, ready, controls] = steps.map(([, text]) => when(text));
  return { seen: seen ?? 0, connected: connected ?? 0, ready: ready ?? 0, controls: controls ?? 0 };
}

/** "kill: median 1900, slowest 2100 ms (…)": the durations of takeovers. */
function inWords(way: Way, lines: readonly TimeLine[]): string {
  const middle = (step: Step): number =>
    lines.map((line) => line[step]).toSorted((a, b) => a - b)[Math.floor(lines.length / 2)] ?? Number.NaN;
  const slowest = Math.max(...lines.map(({ command }) => command));
  const parts = [...steps.map(([step]) => step), 'command' as const].map((step) => `${step} ${middle(step)}`);
  return `takeover after ${way}: median ${middle('command')} ms, slowest ${slowest} ms of ${lines.length} (medians: ${parts.join(', ')})\n`;
}

interface TakeOver {
  readonly line: TimeLine;
  /** Commands of the old leader after the new one had begun. */
  readonly late: number;
  /** Control went back meanwhile, on a machine too busy to renew a lease in time. Then `late` means nothing. */
  readonly wentBack: boolean;
}

/** Ends the leader's control and waits for the other one's, as seen by the devices; then restores everything. */
async function takeOver(cluster: Cluster, way: Way): Promise<TakeOver> {
  try {
    return await tryTakeOver(cluster, way);
  } catch (error) {
    throw new Error(`${String(error)}\n${cluster.machines.map(lastOfLease).join('\n')}`, { cause: error });
  }
}

/**
 * So many takeovers, of which each is at most `takeoverMs` long, by what reaches the devices, and sends at most `lateMost`
 * commands after its end; how long they took is printed.
 */
export async function takeOvers(
  cluster: Cluster,
  way: Way,
  rounds: number,
  limits: { readonly takeoverMs: number; readonly lateMost: number },
): Promise<void> {
  const lines: TimeLine[] = [];
  let wentBack = 0;
  try {
    while (lines.length < rounds) {
      const round = await takeOver(cluster, way);
      lines.push(round.line);
      const said = `takeover ${lines.length}: ${JSON.stringify(round)}`;
      if (round.line.command > limits.takeoverMs) throw new Error(`too slow: ${said}`);
      if (round.wentBack) wentBack++;
      else if (round.late > limits.lateMost) throw new Error(`late commands: ${said}`);
    }
  } finally {
    process.stderr.write(`${inWords(way, lines)}${wentBack === 0 ? '' : `control went back in ${wentBack} of them\n`}`);
  }
  if (wentBack > rounds / 4) throw new Error(`control went back in ${wentBack} of ${rounds} takeovers`);
}

/** The last lease state in a machine's log. */
function lastOfLease({ name, service }: Machine): string {
  const lines = service?.logs().split('\n') ?? [];
  return `${name}:\n${lines
    .filter((line) => /lease|online|engine/.test(line))
    .slice(-8)
    .join('\n')}`;
}

/** The leader, and the one that is ready to take over. */
export async function pairOf(cluster: Cluster): Promise<{ readonly old: Machine; readonly next: Machine }> {
  return waitFor(() => {
    const old = cluster.machines.find(controls);
    const next = cluster.machines.find((machine) => machine !== old && standsBy(machine));
    return old === undefined || next === undefined ? undefined : { old, next };
  }, 60_000);
}

async function tryTakeOver(cluster: Cluster, way: Way): Promise<TakeOver> {
  const { old, next } = await pairOf(cluster);
  if (next.service === null || old.service === null) throw new Error('a machine does not run');
  const before = setpointWrites(old).length;
  await waitFor(() => setpointWrites(old).length > before + 2 || undefined);
  const known = setpointWrites(next).length;
  const [told, toldByOld] = [next.service.logs().length, old.service.logs().length];
  const beganMs = systemClock.monotonicMs();
  const beganAtMs = systemClock.wallMs();
  if (way === 'kill') old.service.process.kill('SIGKILL');
  else if (way === 'stop') old.service.process.kill('SIGSTOP');
  else old.gate.shut();
  const firstMs = await waitFor(() => setpointWrites(next)[known], 20_000);
  // Back again: what had stopped continues, what was cut off is reached.
  if (way === 'kill') await old.start();
  else if (way === 'stop') old.service.process.kill('SIGCONT');
  else old.gate.reopen();
  await waitFor(() => !controls(old) || undefined, 30_000);
  const goneOn = setpointWrites(next).length;
  const toldSince = (): string => (way === 'kill' ? old.service?.logs() : old.service?.logs().slice(toldByOld)) ?? '';
  const wentBack = (): boolean => toldSince().includes('is next in line to control');
  await waitFor(() => wentBack() || setpointWrites(next).length > goneOn + 5 || undefined, 30_000);
  const line = {
    ...timeLine(next.service.logs().slice(told), beganAtMs),
    command: Math.round(firstMs - beganMs),
  };
  const late = setpointWrites(old).filter((atMs) => atMs > firstMs).length;
  return { line, late, wentBack: wentBack() };
}
