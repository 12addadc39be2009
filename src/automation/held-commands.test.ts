/** A command leaves with the cooldown that it starts stored (docs/guides/several-machines.md), with a real engine and a real server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { createCommandTaker } from '../points/command-slots.ts';
import { createLiveTableWriter } from '../points/live-table.ts';
import { beginGeneration, createPointMemory } from '../points/shared-memory.ts';
import { quality } from '../rules/snapshot.ts';
import { openRuntimeDatabase } from '../storage/database.ts';
import { connectPostgres, type PostgresPlace } from '../storage/postgres.ts';
import { runOn, testSchema } from '../testing/engines.ts';
import { engineRule, switchFlow, tankSetup, tankSite } from '../testing/tank-site.ts';
import { createEngineClient } from './engine-client.ts';
import { automationLimits } from './limits.ts';
import { startEngineTwin } from './start-engine.ts';

const [level, pump, , valve] = [0, 1, 2, 3] as const;
const interval = '{"type":"interval","interval_ms":100}';
const rules = [
  engineRule(1, { cooldown_ms: 3_600_000, trigger_config: interval }),
  engineRule(2, { trigger_config: interval, nodes_json: switchFlow('x > limit', 2, 2) }),
];
const patience = { timeout: 10_000, interval: 5 };

let place: PostgresPlace;
let folder = '';
let closers: (() => unknown)[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'held-'));
  place = await testSchema();
  const runtime = openRuntimeDatabase(place);
  await runtime.ready();
  await runtime.close();
  closers = [];
});
afterEach(async () => {
  for (const close of closers) await close();
  await runOn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
  rmSync(folder, { recursive: true, force: true });
});

test('while states cannot be stored, a rule with a cooldown sends nothing and others go on; then it sends with its cooldown stored', async () => {
  const memory = createPointMemory(tankSite.points, tankSite.channels.length);
  const generation = beginGeneration(memory);
  memory.online[0] = 1;
  const ages = tankSite.points.map((point) => point.maxAgeMs);
  createLiveTableWriter(memory, systemClock, ages).publish([{ index: level, value: 20, quality: quality.good }]);
  const taker = createCommandTaker(memory, systemClock, generation, 60_000);
  const setup = tankSetup({ memory, database: place, dataFolder: folder, commandMaxAgeMs: 60_000 });
  const client = createEngineClient({
    start: () => startEngineTwin(setup, systemClock, silentLog),
    rules: {
      heads: async () => rules.map(({ id, revision }) => ({ id, revision })),
      engineRules: async (ids) => rules.filter(({ id }) => ids.includes(id)),
    },
    parameters: tankSite.parameters,
    clock: systemClock,
    log: silentLog,
    limits: automationLimits,
    onExecutions: () => undefined,
    onStart: () => undefined,
  });
  await client.standBy();
  await client.adopt(0, tankSite.parameters);
  const server = connectPostgres(place, 'site');
  const { run, release } = await server.connect();
  closers.push(
    () => client.close(),
    async () => {
      release(true);
      await server.close();
    },
  );
  await run('BEGIN; LOCK TABLE rule_state IN EXCLUSIVE MODE');
  await client.run();
  for (let round = 0; round < 3; round++) {
    await expect.poll(() => taker.take(valve)?.value, patience).toBe(2);
    expect(taker.take(pump)).toBeNull();
  }
  expect(await run('SELECT rule_id FROM rule_state WHERE rule_id = 1')).toEqual([]);
  await run('COMMIT');
  await expect.poll(() => taker.take(pump)?.value, patience).toBe(1);
  const [row] = await run('SELECT state FROM rule_state WHERE rule_id = 1');
  expect(JSON.parse(String(row?.['state']))).toMatchObject({ schedule: { last_acted: expect.any(Number) } });
});
