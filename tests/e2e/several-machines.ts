/** Processes that share one site over one PostgreSQL server, each with a Modbus device of its own that tells what it commands. */
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { localScope, signingKey } from '../../src/gateway/local-keys.ts';
import { type Gate, startGate } from '../../src/testing/gate.ts';
import { type ModbusDevice, startModbusDevice } from '../../src/testing/modbus-server.ts';
import { makePostgres, type TestPostgres } from '../../src/testing/postgres-server.ts';
import { startTestService, type TestFolders, type TestService, testFolders, waitFor } from './running-service.ts';

const setpointRegister = 100;
const siteWith = (port: number): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
channels:
  - { id: inverter, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", record: true, channel: inverter, address: { table: holding, register: 0, type: float32 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -500, max: 500, channel: inverter, address: { table: holding, register: ${setpointRegister}, type: float32 } }
`;

/** One machine: what it is started with, and what runs there now. */
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
  /** The machine that controls now, as its log says. */
  leader(deadlineMs?: number): Promise<Machine>;
  close(): Promise<void>;
}

export async function startCluster(
  names: readonly string[],
  roles: Readonly<Record<string, string>> = {},
): Promise<Cluster> {
  const postgres = await makePostgres();
  await postgres.start();
  const machines: Machine[] = [];
  const closers: (() => unknown)[] = [() => postgres.stop()];
  for (const name of names) {
    const device = await startModbusDevice();
    device.holding.writeFloatBE(50, 0);
    const folders = testFolders(siteWith(device.port));
    // All processes of a site have the same identity.
    mkdirSync(folders.data);
    const [first] = machines;
    if (first === undefined) {
      signingKey(folders.data);
      localScope(folders.data);
    } else
      for (const file of ['signing-key.pem', 'scope.json'])
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

/** Whether the last thing that its log tells of control is that it has it. */
export function controls({ service }: Machine): boolean {
  if (service === null || service.process.exitCode !== null || service.process.signalCode !== null) return false;
  const logs = service.logs();
  return logs.lastIndexOf('this process controls the site') > logs.lastIndexOf('does not control any more');
}

export function setpointWrites({ device }: Machine): number[] {
  return device.writes.filter(({ register }) => register === setpointRegister).map(({ atMs }) => atMs);
}

/** What happens to the machine that controls. */
export type Way = 'kill' | 'stop' | 'cut';

/**
 * Ends the leader's control and waits for the other one's, by what reaches the devices; then all is as before.
 * `late` counts what the old one still sent after the new one had begun.
 */
export async function takeOver(
  cluster: Cluster,
  way: Way,
): Promise<{ readonly tookMs: number; readonly late: number }> {
  const old = await cluster.leader(30_000);
  const next = cluster.machines.find((machine) => machine !== old);
  if (next === undefined || next.service === null || old.service === null) throw new Error('a machine does not run');
  const before = setpointWrites(old).length;
  await waitFor(() => setpointWrites(old).length > before + 2 || undefined);
  const known = setpointWrites(next).length;
  const beganMs = systemClock.monotonicMs();
  if (way === 'kill') old.service.process.kill('SIGKILL');
  else if (way === 'stop') old.service.process.kill('SIGSTOP');
  else old.gate.shut();
  const firstMs = await waitFor(() => setpointWrites(next)[known], 20_000);
  // Back again: what had stopped goes on, what was cut off is reached.
  if (way === 'kill') await old.start();
  else if (way === 'stop') old.service.process.kill('SIGCONT');
  else old.gate.reopen();
  await waitFor(() => !controls(old) || undefined);
  const goneOn = setpointWrites(next).length;
  await waitFor(() => setpointWrites(next).length > goneOn + 5 || undefined);
  if (controls(old) || !controls(next)) throw new Error('both machines control, or none');
  return { tookMs: firstMs - beganMs, late: setpointWrites(old).filter((atMs) => atMs > firstMs).length };
}
