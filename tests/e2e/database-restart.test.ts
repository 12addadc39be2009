/**
 * PostgreSQL killed and started again while rules run and clients write (docs/guides/several-machines.md): for less than the
 * lease the leader continues, for longer it stops; changes are refused whole; everything resumes by itself.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { systemClock } from '../../src/base/clock.ts';
import { editorFlow, runCommand, serviceEnvironment, type TestService, waitFor } from './running-service.ts';
import { type Cluster, controls, type Machine, setpointWrites, standsBy, startCluster } from './several-machines.ts';

/** Long enough for a server on a busy machine to restart. */
const leaseMs = 6000;
/** Rules that run ten times a second beside the one under test. */
const otherRules = 10;
const writersOfEach = 2;

interface Change {
  readonly name: string;
  readonly status: number;
  readonly retryable: unknown;
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** Clients of all machines that create rules one after another until told to stop; and the answer to each. */
function writeTo(services: readonly TestService[], prefix: string) {
  const changes: Change[] = [];
  const ending = new AbortController();
  const writer = async (service: TestService, who: string): Promise<void> => {
    for (let count = 0; !ending.signal.aborted; count++) {
      const name = `${prefix} ${who} ${count}`;
      const sentMs = systemClock.monotonicMs();
      const { status, body } = await service.command('POST', '/rules', { name });
      const answeredMs = systemClock.monotonicMs();
      changes.push({ name, status, retryable: body['error']?.['retryable'], sentMs, answeredMs });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const running = services.flatMap((service, machine) =>
    Array.from({ length: writersOfEach }, (_, index) => writer(service, `${machine}-${index}`)),
  );
  return {
    changes,
    async end(): Promise<readonly Change[]> {
      ending.abort();
      await Promise.all(running);
      return changes;
    },
  };
}

interface Pushed {
  readonly value: number | null;
  readonly quality: string;
}

/** The values of its measurement that a machine's live stream pushes. */
async function followMeasurement(service: TestService) {
  const pushed: Pushed[] = [];
  const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
  const token = await service.token('Viewer');
  const send = (message: object): void => socket.send(JSON.stringify(message));
  socket.on('open', () => send({ type: 'authenticate', token }));
  socket.on('message', (text: Buffer) => {
    const { type, data } = JSON.parse(text.toString()) as { type: string; data: readonly Pushed[] };
    if (type === 'authenticated') send({ type: 'subscribe', data: { source: 'point', channels: ['1:measurement:1'] } });
    if (type === 'point_values') pushed.push(...data);
  });
  const seen = (quality: string): Promise<unknown> =>
    waitFor(async () => pushed.at(-1)?.quality === quality || undefined, 15_000);
  await seen('good');
  return { pushed, seen, close: () => socket.close() };
}

describe('the database is away', () => {
  let cluster: Cluster;
  let fast = 0;
  const serviceOf = ({ service }: Machine): TestService => {
    if (service === null) throw new Error('the machine does not run');
    return service;
  };
  const services = (): TestService[] => cluster.machines.map(serviceOf);
  const newRule = async (service: TestService, name: string, when: string): Promise<number> => {
    const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
    const trigger_config = { type: 'interval', interval_ms: 100 };
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow(when, 'x * 2'), trigger_config });
    expect((await service.command('POST', `/rules/${id}/enable`)).status).toBe(200);
    return id;
  };
  const listOf = async (path: string): Promise<readonly object[]> =>
    (await serviceOf(await cluster.leader(30_000)).read(path)).body['data']?.['list'] as unknown as readonly object[];
  /** Names of all stored rules. */
  const names = async (): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    for (let page = 1; ; page++) {
      const list = await listOf(`/rules?page=${page}&page_size=100`);
      for (const rule of list) found.add(String(Reflect.get(rule, 'name')));
      if (list.length < 100) return found;
    }
  };
  /** How often the rule under test ran between two wall times, according to the history, newest first. */
  const runsBetween = async (fromMs: number, toMs: number): Promise<number> => {
    let found = 0;
    for (let before = ''; ; ) {
      const runs = await listOf(`/rules/${fast}/history?limit=100${before}`);
      const times = runs.map((run) => Date.parse(String(Reflect.get(run, 'started_at'))));
      found += times.filter((atMs) => atMs > fromMs && atMs < toMs).length;
      const last = runs.at(-1);
      // Runs stored late come after later ones: read one more page.
      if (last === undefined || runs.length < 100 || Math.max(...times) < fromMs - 10_000) return found;
      before = `&before=${String(Reflect.get(last, 'execution_id'))}`;
    }
  };
  const changesPass = (): Promise<unknown> =>
    waitFor(async () => {
      for (const service of services())
        if ((await service.command('POST', '/rules', { name: 'back' })).status !== 200) return undefined;
      return true;
    }, 30_000);
  /** Every change was made whole, or refused whole and may be tried again. */
  const judge = async (changes: readonly Change[], downMs: number, upMs: number): Promise<void> => {
    const stored = await names();
    for (const { name, status } of changes) {
      expect([200, 503], name).toContain(status);
      if (status === 200) expect(stored, 'answered, so it is stored').toContain(name);
    }
    const meanwhile = changes.filter(({ sentMs, answeredMs }) => sentMs > downMs && answeredMs < upMs);
    expect(meanwhile.length).toBeGreaterThan(0);
    for (const { name, status, retryable } of meanwhile) {
      expect([status, retryable], name).toEqual([503, true]);
      expect(stored, 'refused, so it is not stored').not.toContain(name);
    }
    // There was something to lose: clients were writing before, and have continued since.
    for (const part of [
      changes.filter(({ answeredMs }) => answeredMs < downMs),
      changes.filter(({ sentMs }) => sentMs > upMs),
    ])
      expect(part.some(({ status }) => status === 200)).toBe(true);
  };

  beforeAll(async () => {
    cluster = await startCluster(['a', 'b'], { service: `storage: { engine_lease_ms: ${leaseMs} }\n` });
    for (const machine of cluster.machines) await machine.start();
    const leader = serviceOf(await cluster.leader(30_000));
    fast = await newRule(leader, 'fast', 'x > 10');
    for (let count = 0; count < otherRules; count++) await newRule(leader, `other ${count}`, 'x > 1000');
    const standby = cluster.machines.find((machine) => !controls(machine));
    await waitFor(() => (standby !== undefined && standsBy(standby)) || undefined, 30_000);
  }, 120_000);
  afterAll(() => cluster.close());

  test('for less than the lease: the leader continues to control, and stores its runs afterwards', async () => {
    const leader = await cluster.leader();
    const other = cluster.machines.find((machine) => machine !== leader);
    const load = writeTo(services(), 'short');
    await waitFor(() => load.changes.length > 20 || undefined);
    const written = other === undefined ? 0 : setpointWrites(other).length;
    await cluster.postgres.kill();
    const [downMs, downAtMs] = [systemClock.monotonicMs(), systemClock.wallMs()];
    // Long enough for rules that run ten times a second to have run.
    await waitFor(
      () =>
        systemClock.monotonicMs() > downMs + 1000 && load.changes.filter(({ sentMs }) => sentMs > downMs).length > 4,
    );
    const [upMs, upAtMs] = [systemClock.monotonicMs(), systemClock.wallMs()];
    await cluster.postgres.start();
    await changesPass();
    await waitFor(
      () => load.changes.filter(({ sentMs, status }) => sentMs > upMs && status === 200).length > 10 || undefined,
    );
    const backMs = systemClock.monotonicMs();
    await judge(await load.end(), downMs, upMs);
    // The same process has been in control all the time, without a gap that a new lease would explain.
    expect(controls(leader)).toBe(true);
    expect(serviceOf(leader).logs()).not.toContain('no longer controls the site');
    const sent = setpointWrites(leader).filter((atMs) => atMs > downMs - 1000 && atMs < backMs);
    const gaps = sent.slice(1).map((atMs, index) => atMs - (sent[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(leaseMs / 2);
    expect(sent.filter((atMs) => atMs > downMs && atMs < upMs).length).toBeGreaterThan(0);
    expect(other === undefined ? 0 : setpointWrites(other).length).toBe(written);
    await waitFor(async () => (await runsBetween(downAtMs, upAtMs)) > 0 || undefined, 30_000);
  }, 120_000);

  test('for longer: control ends with the lease and no other process has it, then one controls again, and its runs are stored', async () => {
    const load = writeTo(services(), 'long');
    const readers = await Promise.all(services().map(followMeasurement));
    await waitFor(() => load.changes.length > 20 || undefined);
    await cluster.postgres.kill();
    const [downMs, downAtMs] = [systemClock.monotonicMs(), systemClock.wallMs()];
    await waitFor(() => cluster.machines.every((machine) => !controls(machine)) || undefined, leaseMs + 10_000);
    const sent = cluster.machines.flatMap(setpointWrites).filter((atMs) => atMs > downMs);
    // It continues for as long as its lease lasts, and not a moment longer.
    expect(sent.length).toBeGreaterThan(0);
    expect(Math.max(...sent) - downMs).toBeLessThan(leaseMs);
    // No process reads the devices now, so both machines push their last value as stale [points §8.3].
    await Promise.all(readers.map(({ seen }) => seen('stale')));
    expect(readers.map(({ pushed }) => pushed.at(-1)?.value)).toEqual([null, null]);
    const upMs = systemClock.monotonicMs();
    await cluster.postgres.start();
    await cluster.leader(30_000);
    await changesPass();
    await waitFor(
      () => load.changes.filter(({ sentMs, status }) => sentMs > upMs && status === 200).length > 10 || undefined,
      30_000,
    );
    await judge(await load.end(), downMs, upMs);
    const since = cluster.machines.flatMap(setpointWrites).filter((atMs) => atMs > downMs + leaseMs);
    expect(Math.min(...since)).toBeGreaterThan(upMs);
    await waitFor(async () => (await runsBetween(downAtMs, downAtMs + leaseMs)) > 0 || undefined, 30_000);
    await Promise.all(readers.map(({ seen }) => seen('good')));
    for (const reader of readers) reader.close();
  }, 120_000);

  test('[identity §7.3] a machine that has not read the revocation list yet answers a valid token with 503, not with 401', async () => {
    const machine = cluster.machines.find((each) => !controls(each)) ?? cluster.machines[0];
    if (machine === undefined) throw new Error('the cluster has no machines');
    await machine.service?.stop();
    const service = await machine.start();
    await cluster.postgres.kill();
    const { status, body } = await service.read('/rules');
    expect([status, body['error']?.['code']]).toEqual([503, 'storage-unavailable']);
    expect((await service.request('GET', '/api/v1/automation/api/rules', { token: 'bad' })).status).toBe(401);
    await cluster.postgres.start();
    await changesPass();
  }, 120_000);

  test('[audit §6] the audit chain of all of it is unbroken', () => {
    const [machine] = cluster.machines;
    if (machine === undefined) throw new Error('the cluster has no machines');
    const more = { SVC_DATABASE_URL: cluster.postgres.url };
    const verified = runCommand('setpoint', ['audit', 'verify', '--json'], serviceEnvironment(machine.folders, more));
    expect(JSON.parse(verified.stdout), verified.stderr).toMatchObject({ chains: [{ first: 1, broken: null }] });
  });
});
