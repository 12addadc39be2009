/** Control that ends and begins again in one process (docs/guides/several-machines.md), with real threads and a real database. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { automationLimits } from '../automation/limits.ts';
import { type ParametersInForce, parametersInForce } from '../automation/parameters-in-force.ts';
import { createParameterStore, type ParameterStore } from '../automation/store/parameter-store.ts';
import { createRuleStore } from '../automation/store/rule-store.ts';
import { createRunStore } from '../automation/store/run-store.ts';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import { openDatabase } from '../databases/site-database.ts';
import { deviceLimits } from '../devices/limits.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import type { Parameter } from '../site/catalogue.ts';
import { readSite, type Site } from '../site/site.ts';
import type { PostgresPlace } from '../storage/postgres.ts';
import { retentionCell } from '../storage/retention-clock.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { type Gate, startGate } from '../testing/gate.ts';
import { type EngineRole, engineRole } from './engine-role.ts';

const site = readSite(
  `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
parameters: { limit: { value: 10 } }
channels: [{ id: broker, driver: mqtt, url: "mqtts://127.0.0.1:1", ca_file: ca.pem }]
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: broker, address: { topic: level } }
`,
  'site.yaml',
);
/** Long enough for a machine that is busy starting threads. */
const quick = { engine_lease_ms: 1500, engine_renew_ms: 60, engine_poll_ms: 30 };
const patience = { timeout: 15_000, interval: 20 };

let folder = '';
let place: PostgresPlace;
let gate: Gate;
let role: EngineRole;
let current: Site = site;
let closers: (() => unknown)[] = [];
let errors: string[] = [];
let warnings: string[] = [];
/** Terms in which measurements are recorded. */
let recorded: number[] = [];
let parameters: ParametersInForce;
let stored: ParameterStore;

const log: Log = {
  ...silentLog,
  error: (message) => void errors.push(message),
  warn: (message) => void warnings.push(message),
  with: () => log,
};
const certificate = join(import.meta.dirname, '..', 'devices', 'driver', 'fixture', 'broker-cert.pem');
const writeCertificate = (): void => copyFileSync(certificate, join(folder, 'ca.pem'));
const start = (
  readParameters: () => Promise<Readonly<Record<string, Parameter>>>,
  renew: () => void = () => undefined,
): void => {
  const database = openDatabase(place);
  const runtime = openRuntimeDatabase(place);
  stored = createParameterStore(database);
  parameters = parametersInForce(() => current, site.parameters, stored);
  const limits = {
    automation: automationLimits,
    devices: { ...deviceLimits, command_max_age_ms: 100 },
    alarms: { clock_differs_ms: 1000 },
  };
  role = engineRole({
    config: { configDir: folder, dataDir: folder, env: {}, logLevel: 'silent', roles: { engine: true } },
    processName: 'setpoint',
    site: () => current,
    memory: createPointMemory(site.points, site.channels.length, { points: 4, channels: 2 }),
    limits,
    store: createRuleStore(database, systemClock, limits.automation.max_rules),
    onGrantsEnded: () => undefined,
    stream: { publish: () => undefined, renew },
    runtime: place,
    retention: retentionCell(0),
    runs: createRunStore(runtime),
    recording: () => ({ begin: (epoch) => void recorded.push(epoch), end: async () => undefined }),
    parameters,
    readParameters,
    log,
  });
  closers.unshift(
    () => role.stop(),
    () => database.close(),
    () => runtime.close(),
  );
};
const epoch = async (): Promise<unknown> =>
  (await runOn(place, `SELECT epoch FROM ${place.limits.postgres_schema}.engine_lease`))[0]?.['epoch'];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-role-'));
  writeCertificate();
  [errors, warnings, recorded] = [[], [], []];
  current = site;
  const direct = await testSchema();
  place = { ...direct, limits: { ...direct.limits, ...quick } };
  for (const open of [openDatabase, openRuntimeDatabase]) {
    const database = open(place);
    await database.ready();
    await database.close();
  }
  const started = await startGate(Number(new URL(direct.url).port), direct.url);
  gate = started.gate;
  place = { ...place, url: started.url };
  closers = [
    () => rmSync(folder, { recursive: true, force: true }),
    () => started.close(),
    () => runOn(direct, `DROP SCHEMA IF EXISTS ${direct.limits.postgres_schema} CASCADE`),
  ];
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

test('a process that cannot stand by again does not contend, tries until it can, and then has the parameters of the file', async () => {
  let limit = 10;
  start(async () => ({ limit: { value: limit, unit: undefined } }));
  await expect.poll(() => recorded, patience).toEqual([1]);
  rmSync(join(folder, 'ca.pem'));
  gate.shut();
  await expect.poll(() => errors, patience).toEqual(['cannot become a standby; retrying']);
  gate.reopen();
  // It would have controlled next, long before, but had nothing to control with.
  await sleep(systemClock, 2 * quick.engine_lease_ms);
  expect([await epoch(), recorded]).toEqual([1, [1]]);
  limit = 30;
  writeCertificate();
  await expect.poll(() => recorded, patience).toEqual([1, 2]);
  expect(parameters.current()).toEqual({ limit: { value: 30, unit: undefined } });
  expect(errors).toHaveLength(1);
});

test('a file of the site that cannot be read leaves the parameters as they are, and control moves on', async () => {
  start(async () => {
    throw new Error('no such file');
  });
  await expect.poll(() => recorded, patience).toEqual([1]);
  expect(parameters.current()).toBe(site.parameters);
  expect(warnings).toContain('cannot reload parameters; keeping the previous values');
});

test('[points §9] the leader applies a stored value whose notification was lost', async () => {
  start(async () => site.parameters);
  await expect.poll(() => recorded, patience).toEqual([1]);
  await stored.put('limit', 25);
  await expect.poll(() => parameters.current(), patience).toMatchObject({ limit: { value: 25, fileValue: 10 } });
});

test('[points §1.3] the leader applies a changed site, without a change of control', async () => {
  start(async () => site.parameters);
  await expect.poll(() => recorded, patience).toEqual([1]);
  await expect.poll(async () => (await role.engine.status())?.running, patience).toBe(true);
  const [channel] = site.channels;
  if (channel === undefined) throw new Error('the site has no channel');
  const larger: Site = { ...site, channels: [channel, { id: 'derived', driver: 'virtual' }] };
  rmSync(join(folder, 'ca.pem'));
  expect(() => role.prepare(larger)).toThrow(/ca\.pem cannot be read/);
  writeCertificate();
  const { apply } = role.prepare(larger);
  const report = await apply(async () => {
    current = larger;
    return site.parameters;
  });
  expect(report).toEqual({ rules_loaded: 0, rules_failed: [] });
  expect(role.devices.channels().map(({ id }) => id)).toEqual([channel.id, 'derived']);
  await expect.poll(() => role.devices.channels()[1]?.state, patience).toBe('online');
  expect([role.controls(), await epoch(), (await role.engine.status())?.running]).toEqual([true, 1, true]);
});

test('readings are recorded although the engine did not start at once', async () => {
  let ended = false;
  const renew = (): void => {
    if (ended) return;
    ended = true;
    throw new Error('the engine ended');
  };
  start(async () => site.parameters, renew);
  await expect.poll(() => recorded, patience).toEqual([1]);
  // Reported by whichever lets the engine run first: control, or a check for changed rules that happens at the same moment.
  const tellings = ['handover failed', 'periodic task failed'];
  expect(tellings).toContain(errors[0]);
  expect(errors).toHaveLength(1);
});
