/**
 * Thousands of random requests to all operations: every answer matches the description, and none is a 5xx. Under kills, every
 * answered change is in the audit trail, and the next start finds a working site.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { storageLimits } from '../../src/storage/server-limits.ts';
import { type Random, seededRandom } from '../../src/testing/world/random.ts';
import { demoFolders, installRules, startDemo } from '../console/browser.ts';
import { checkClosed, checkReceipts, expectVerified } from '../e2e/kill-rounds.ts';
import { runCommand, serviceEnvironment, type TestService } from '../e2e/running-service.ts';
import { type Machine, startCluster } from '../e2e/several-machines.ts';
import { rulesRun, storageOn } from '../e2e/storage-on.ts';
import { type DescribedApi, RandomRequests } from './random-requests.ts';

const requests = Number(process.env['REQUESTS'] ?? 15_000);
const kills = Number(process.env['KILLS'] ?? 100);
const killWithinMs = 2000;
const takeovers = Math.ceil(kills / 5);
const takeoverMs = 60_000;
/** Clients at once. A seed gives the same requests, in almost the same order. */
const clients = 6;
/** Reloading a changed site file restarts the engine. Until it runs again, requests that need it get one of these codes. */
const engineAway = /"code":"(engine-unavailable|not-ready)"/;
const restartMs = 3000;
const slowMs = 5000;
const wrongMax = 20;

test.each(['sqlite', 'postgres'] as const)(
  '[platform §2.1] on %s no request of any form is answered with 5xx, or otherwise than described',
  { timeout: 1_800_000 },
  async (engine) => {
    const seed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 1_000_000);
    const random = seededRandom(seed);
    const folders = demoFolders();
    const storage = await storageOn(engine, folders);
    const limits = 'http: { mutations_per_minute: 1000000, audit_searches_per_minute: 1000000 }\n';
    appendFileSync(join(folders.config, 'service.yaml'), limits);
    const service = await startDemo(folders, storage.env);
    onTestFinished(async () => {
      await service.stop();
      await storage.remove();
      folders.remove();
    });
    await rulesRun(service);
    await installRules(service);
    const made = new RandomRequests(
      random,
      JSON.parse((await service.request('GET', '/openapi.json')).text) as DescribedApi,
    );
    const statuses = new Map<number, number>();
    const operations = new Set<string>();
    const wrong: string[] = [];
    let left = requests;
    let reloadedMs = Number.NEGATIVE_INFINITY;
    const client = async (): Promise<void> => {
      while (left-- > 0 && wrong.length < wrongMax) await one();
    };
    const one = async (): Promise<void> => {
      const { operation, method, path, body, headers } = made.next();
      const role = random.chance(0.8) ? 'Admin' : 'Viewer';
      const token = random.chance(0.95) ? await service.token(role) : null;
      const said = `${method} ${path} ${JSON.stringify(body)?.slice(0, 500)}`;
      const startedMs = performance.now();
      try {
        const { status, text } = await service.request(method, path, { token, headers, body });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status < 300) operations.add(operation);
        if (path.endsWith('/site/reload')) reloadedMs = performance.now();
        const isRestarting = performance.now() - reloadedMs < restartMs && engineAway.test(text);
        if (status >= 500 && !isRestarting) wrong.push(`${status} ${said}: ${text.slice(0, 300)}`);
      } catch (error) {
        wrong.push(`${said}: ${String(error).slice(0, 500)}`);
      }
      if (performance.now() - startedMs > slowMs) wrong.push(`slow: ${said}`);
    };
    await Promise.all(Array.from({ length: clients }, client));
    const errors = service
      .logs()
      .split('\n')
      .filter((line) => /"level":(50|60)/.test(line));
    console.log(
      `${engine}, seed ${seed}: ${requests} requests, ${operations.size} operations carried out, statuses ${JSON.stringify(Object.fromEntries(statuses))}`,
    );
    expect({ seed, wrong, errors, exited: service.process.exitCode }).toEqual({
      seed,
      wrong: [],
      errors: [],
      exited: null,
    });
    expect(await service.stop()).toBe(0);
  },
);

test('[platform §1.1], [audit §6] killed at random moments, it starts again, and everything that it answered is in its audit trail', {
  timeout: 3_600_000,
}, async () => {
  const seed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 1_000_000);
  const random = seededRandom(seed);
  const folders = demoFolders();
  appendFileSync(join(folders.config, 'service.yaml'), 'http: { mutations_per_minute: 1000000 }\n');
  const receipts = new Map<number, string>();
  const wrong: string[] = [];
  let service: TestService | undefined;
  onTestFinished(async () => {
    await service?.stop('SIGKILL');
    folders.remove();
  });
  for (let round = 0; round < kills && wrong.length === 0; round++) {
    service = await startDemo(folders);
    await rulesRun(service);
    if (round === 0) await installRules(service);
    wrong.push(...(await requestsUntilKilled(service, random, receipts)));
    await checkReceipts(join(folders.data, 'site.sqlite'), receipts);
    expectVerified(folders);
  }
  service = await startDemo(folders);
  expect(await service.stop()).toBe(0);
  const { events, unknown } = checkClosed(join(folders.data, 'site.sqlite'));
  console.log(
    `seed ${seed}: ${kills} kills, ${receipts.size} answered changes, ${events} events, ${unknown} closed as unknown`,
  );
  expect({ seed, wrong }).toEqual({ seed, wrong: [] });
  expect(receipts.size).toBeGreaterThan(kills);
});

test('[audit §6] of two machines one is killed repeatedly: the answers of both are in their audit trail', {
  timeout: 3_600_000,
}, async () => {
  const seed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 1_000_000);
  const random = seededRandom(seed);
  const cluster = await startCluster(['a', 'b'], { service: 'http: { mutations_per_minute: 1000000 }\n' });
  onTestFinished(() => cluster.close());
  await Promise.all(cluster.machines.map((machine) => machine.start()));
  const receipts = new Map<number, string>();
  const wrong: string[] = [];
  for (let round = 0; round < takeovers && wrong.length === 0; round++) {
    const leader = await cluster.leader(takeoverMs);
    const isLeader = random.chance(0.7);
    const victim = cluster.machines.find((machine) => (machine === leader) === isLeader) as Machine;
    const survivor = cluster.machines.find((machine) => machine !== victim) as Machine;
    const beside = requestsUntil(runningOn(survivor), random, receipts);
    wrong.push(...(await requestsUntilKilled(runningOn(victim), random, receipts)));
    await cluster.leader(takeoverMs);
    wrong.push(...(await beside.end()));
    await victim.start();
  }
  for (const { service } of cluster.machines) expect(await service?.stop()).toBe(0);
  const [{ folders }] = cluster.machines as [Machine, Machine];
  const verified = runCommand(
    'setpoint',
    ['audit', 'verify', '--json'],
    serviceEnvironment(folders, { SVC_DATABASE_URL: cluster.postgres.url }),
  );
  console.log(`seed ${seed}: ${takeovers} kills, ${receipts.size} answered changes`);
  await checkReceipts({ url: cluster.postgres.url, limits: storageLimits }, receipts);
  expect({ seed, wrong }).toEqual({ seed, wrong: [] });
  expect(receipts.size).toBeGreaterThan(takeovers);
  expect(verified.status, verified.stdout + verified.stderr).toBe(0);
});

function runningOn({ name, service }: Machine): TestService {
  if (service === null) throw new Error(`${name} is down`);
  return service;
}

/** Notes the receipts of answered changes; returns those answers that should not have been given before the kill. */
async function requestsUntilKilled(service: TestService, random: Random, receipts: Map<number, string>) {
  const load = requestsUntil(service, random, receipts);
  await new Promise((resolve) => setTimeout(resolve, random.below(killWithinMs)));
  load.expectEnd();
  await service.stop('SIGKILL');
  return load.end();
}

function requestsUntil(service: TestService, random: Random, receipts: Map<number, string>) {
  const wrong: string[] = [];
  const state = { isOver: false };
  const client = async (made: RandomRequests, token: string): Promise<void> => {
    while (!state.isOver) {
      const { method, path, body, headers } = made.next();
      try {
        const answer = await service.request(method, path, { token, headers, body });
        const sequence = answer.headers.get('x-svc-audit-sequence');
        if (sequence !== null) receipts.set(Number(sequence), answer.headers.get('x-svc-audit-hash') ?? '');
        if (answer.status >= 500 && !engineAway.test(answer.text)) wrong.push(`${method} ${path}: ${answer.text}`);
      } catch (error) {
        if (!state.isOver) wrong.push(`${method} ${path}: ${String(error)}`);
      }
    }
  };
  const load = async (): Promise<void> => {
    const described = JSON.parse((await service.request('GET', '/openapi.json')).text) as DescribedApi;
    const token = await service.token('Admin');
    await Promise.all(Array.from({ length: clients }, () => client(new RandomRequests(random, described), token)));
  };
  const running = load().catch((error: unknown) => {
    if (!state.isOver) wrong.push(String(error));
  });
  return {
    /** From now on a request may fail. */
    expectEnd: () => void (state.isOver = true),
    async end(): Promise<readonly string[]> {
      state.isOver = true;
      await running;
      return wrong;
    },
  };
}
