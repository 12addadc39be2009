import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { type Log, type LogFields, silentLog } from '../base/log.ts';
import { createLiveTableWriter } from '../points/live-table.ts';
import { beginGeneration, createPointMemory, type PointMemory } from '../points/shared-memory.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { quality } from '../site/quality.ts';
import { engines, runOn, type TestPlaces, testPlaces } from '../testing/engines.ts';
import { type SimulatedClock, simulatedClock, turnUntil } from '../testing/simulated-clock.ts';
import { engineRule, tankSite as site, tankSetup } from '../testing/tank-site.ts';
import { createEngineClient, type EngineThread } from './engine-client.ts';
import type { EngineRule } from './engine-contract.ts';
import { automationLimits } from './limits.ts';
import { recordSpool } from './record-spool.ts';
import { startEngineTwin } from './start-engine.ts';
import { createRunReader, createRunStore } from './store/run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from './store/runtime-database.ts';

const rule = (id: number, more: Partial<EngineRule> = {}): EngineRule =>
  engineRule(id, { cooldown_ms: 60_000, ...more });

/** Lets messages between the two ports, and their consequences, arrive. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(engines)('engine behind its port, on %s', (engine) => {
  let places: TestPlaces;
  let database: RuntimeDatabase;
  let memory: PointMemory;
  let clock: SimulatedClock;
  let stored: EngineRule[] = [];
  let threads: EngineThread[] = [];
  let asked: (readonly number[])[] = [];
  let seen: ExecutionRecord[] = [];
  let starts = 0;
  let away = false;
  /** After the first thread, this many fail to start. */
  let missing = 0;
  /** Warnings and errors of the client, with their details. */
  let said: string[] = [];
  let fields: (LogFields | undefined)[] = [];
  let client: ReturnType<typeof createEngineClient>;

  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openRuntimeDatabase(places.runtime);
    await database.ready();
    memory = createPointMemory(site.points, site.channels.length);
    clock = simulatedClock();
    beginGeneration(memory);
    memory.online[0] = 1;
    [stored, threads, asked, seen, starts, away, missing] = [[], [], [], [], 0, false, 0];
    [said, fields] = [[], []];
    client = make();
  });
  const hear = (message: string, carried?: LogFields): void => {
    said.push(message);
    fields.push(carried);
  };
  const log: Log = { ...silentLog, warn: hear, error: hear };
  const make = (reloads = false): typeof client =>
    createEngineClient({
      reloads,
      onGrantsEnded: () => undefined,
      start(parameters) {
        if (threads.length > 0 && missing-- > 0) throw new Error('no more threads');
        const setup = tankSetup({
          site: { ...site, parameters },
          memory,
          database: places.runtime,
          dataFolder: places.folder,
        });
        const thread = startEngineTwin(setup, clock, silentLog);
        threads.push(thread);
        return thread;
      },
      rules: {
        async heads() {
          if (away) throw new Fault('storage-unavailable', 'the storage is unavailable');
          return stored.map(({ id, revision, enabled, priority }) => ({ id, revision, enabled, priority }));
        },
        engineRules(ids) {
          asked.push(ids);
          return Promise.resolve(stored.filter((item) => ids.includes(item.id)));
        },
      },
      parameters: site.parameters,
      clock,
      log,
      limits: automationLimits,
      onExecutions: (records) => void seen.push(...records),
      onStart: () => void starts++,
    });
  afterEach(async () => {
    await turnUntil(clock, client.close());
    await database.close();
    await places.remove();
  });

  const write = (value: number): void =>
    createLiveTableWriter(
      memory,
      clock,
      site.points.map((point) => point.maxAgeMs),
    ).publish([{ index: 0, value, quality: quality.good }]);
  const pass = async (ms: number): Promise<void> => {
    await settle();
    clock.advance(ms);
    await settle();
    clock.advance(0);
    await settle();
  };

  /** Answered when the record is stored. */
  const execute = (): Promise<ExecutionRecord> => turnUntil(clock, client.execute(1, 'correlation-1'));
  const outcomeOf = async (): Promise<string> => (await execute()).outcome;
  /** The engine has been started again, and has read the states of its rules. */
  const startedAgain = async (): Promise<void> => {
    await pass(automationLimits.engine_restart_ms);
    await expect.poll(() => starts).toBe(2);
  };
  const storedStates = async (): Promise<number[]> =>
    (await createRunStore(database).states()).map(({ rule_id }) => rule_id);

  test('[rules §6.4] a reload sends only changes, and names the rest', async () => {
    stored = [rule(1), rule(2)];
    expect(await client.open()).toEqual({ rules_loaded: 2, rules_failed: [] });
    stored = [rule(1), rule(2, { revision: 2, nodes_json: '{}' }), rule(3)];
    expect(await client.reload()).toMatchObject({
      rules_loaded: 2,
      rules_failed: [{ id: 2, code: 'no-runnable-flow' }],
    });
    stored = [rule(3)];
    expect(await client.reload()).toMatchObject({ rules_loaded: 1, rules_failed: [] });
    expect(asked).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  test('[points §1.3] a renewed engine has the rules, their states and the new parameters; in between no rule runs', async () => {
    const nodes_json = stored.length === 0 ? rule(1).nodes_json : '';
    stored = [rule(1, { nodes_json })];
    write(20);
    await client.open();
    expect(await outcomeOf()).toBe('acted');
    let between = '';
    const parameters = { limit: { value: 30, unit: 'm' } };
    const renewed = client.renew(async () => {
      between = await client.execute(1, 'meanwhile').then(
        () => 'ran',
        (error: unknown) => (error instanceof Fault ? error.code : 'failed'),
      );
      return parameters;
    });
    expect(await turnUntil(clock, renewed)).toEqual({ rules_loaded: 1, rules_failed: [] });
    expect(between).toBe('engine-unavailable');
    expect([threads.length, starts, client.restarts()]).toEqual([2, 2, 0]);
    expect(await storedStates()).toEqual([1]);
    const run = await execute();
    expect(JSON.stringify(run)).toContain('30');
  });

  test('[points §1.3] an engine restarts even if the work in between failed', async () => {
    stored = [rule(1)];
    await client.open();
    const renewed = client.renew(async () => {
      throw new Error('no such device');
    });
    await expect(turnUntil(clock, renewed)).rejects.toThrow('no such device');
    await expect.poll(() => starts).toBe(2);
    expect(await outcomeOf()).not.toBe('');
  });

  test('[rules §6.4] many rules are loaded in portions: the first run at once, enabled ones by priority, disabled ones last', async () => {
    stored = Array.from({ length: 900 }, (_, index) =>
      rule(index + 1, { enabled: index % 3 > 0, priority: index % 7 }),
    );
    const first = await client.open();
    expect(first.rules_loaded).toBe(200);
    expect(starts).toBe(1);
    await pass(0);
    for (let turn = 0; turn < 20 && asked.flat().length < 900; turn++) await pass(0);
    await client.reload();
    const order = asked.flat().map((id) => stored[id - 1] as EngineRule);
    expect(order).toHaveLength(900);
    const sorted = stored.toSorted(
      (a, b) => Number(b.enabled) - Number(a.enabled) || b.priority - a.priority || a.id - b.id,
    );
    expect(order.map(({ id }) => id)).toEqual(sorted.map(({ id }) => id));
    expect(await client.status()).toMatchObject({ total_rules: 900, enabled_rules: 600, runnable_rules: 600 });
  });

  test('[rules §6.4] an edit during loading is part of the next portion; states of rules to be loaded are kept', async () => {
    const states = createRunStore(database);
    await states.append({ rows: [], states: [{ rule_id: 900, state: 'kept' }], gone: [], claims: [], segments: [] });
    stored = Array.from({ length: 900 }, (_, index) => rule(index + 1));
    await client.open();
    stored = stored.with(0, rule(1, { revision: 2 }));
    await client.reload();
    expect(asked.flat().slice(200, 201)).toEqual([1]);
    for (let turn = 0; turn < 20 && asked.flat().length < 901; turn++) await pass(0);
    await client.reload();
    await turnUntil(clock, client.close());
    expect(await storedStates()).toContain(900);
    client = make();
  });

  test('runs, history and log carry one record; execute answers when it is stored', async () => {
    stored = [rule(1, { enabled: false })];
    await client.open();
    client.watch([1]);
    write(20);
    const record = await execute();
    expect(record).toMatchObject({ outcome: 'acted', correlation_id: 'correlation-1', trigger: { type: 'manual' } });
    expect(seen).toEqual([record]);
    expect(await createRunReader(database).page(1, undefined, 10)).toEqual([JSON.stringify(record)]);
    clock.advance(automationLimits.log_flush_ms);
    await expect
      .poll(() => readFileSync(join(places.folder, 'logs', 'rules', '1.log'), 'utf8'))
      .toBe(`${JSON.stringify(record)}\n`);
  });

  test('rows that the store rejects before the end are spooled; if that fails too, the loss is reported', async () => {
    stored = [rule(1, { enabled: false })];
    const rename = async (from: string, to: string): Promise<void> => {
      const text = `ALTER TABLE ${from} RENAME TO ${to}`;
      if (typeof places.runtime !== 'string') return void (await runOn(places.runtime, text));
      const file = new DatabaseSync(places.runtime);
      file.exec(text);
      file.close();
    };
    const endWithout = async (): Promise<void> => {
      await client.open();
      const executing = client.execute(1, 'correlation-1').catch(() => undefined);
      await settle();
      await rename('execution_block', 'gone');
      await pass(0);
      await turnUntil(clock, client.close());
      await executing;
      await rename('gone', 'execution_block');
    };
    await endWithout();
    if (engine === 'sqlite') {
      // The row is in the journal; the next engine stores it.
      expect(said).toEqual([]);
      client = make();
      await client.open();
      await turnUntil(clock, client.settle(1));
      const [text] = await createRunReader(database).page(1, undefined, 9);
      expect(text).toContain('correlation-1');
      return;
    }
    const kept: unknown[] = [];
    expect(await recordSpool(places.folder).store(async (rows) => kept.push(...rows))).toBe(1);
    expect(kept).toMatchObject([{ rule_id: 1, record: expect.stringContaining('correlation-1') }]);
    expect(said).toEqual(['unsaved executions spooled until the database is back']);

    rmSync(join(places.folder, 'spool'), { recursive: true });
    writeFileSync(join(places.folder, 'spool'), 'not a folder');
    client = make();
    await endWithout();
    expect(said.at(-1)).toBe('executions lost: neither stored nor spooled');
    expect(fields.at(-1)).toMatchObject({
      rows: 1,
      error: expect.stringContaining('cannot write to the data directory'),
    });
  });

  test('only records of watched rules are sent', async () => {
    stored = [rule(1), rule(2)];
    await client.open();
    client.watch([2]);
    write(20);
    await pass(100);
    expect(seen.map((record) => record.rule_id)).toEqual([2]);
  });

  test('a dead engine is started again with all rules, and cooldowns continue where they were', async () => {
    stored = [rule(1)];
    await client.open();
    write(20);
    await pass(100);
    // Stored within the flush time; then the thread dies.
    await pass(automationLimits.record_flush_ms);
    await expect.poll(storedStates).toEqual([1]);
    await threads[0]?.terminate();
    await expect(client.execute(1, 'correlation-1')).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(await client.status()).toBeNull();
    await startedAgain();
    await expect.poll(() => starts).toBe(2);
    expect([threads.length, client.restarts()]).toEqual([2, 1]);
    const [status] = await client.ask('explain', { ruleIds: [1] });
    expect(status).toMatchObject({ state: 'cooldown', last_run: { outcome: 'acted' } });
    const running = client.status();
    await pass(0);
    expect(await running).toMatchObject({ running: true, total_rules: 1, executions: 0 });
  });

  test('a thread that cannot be started is one that died: it is tried again, with a growing pause', async () => {
    stored = [rule(1)];
    await client.open();
    missing = 2;
    await threads[0]?.terminate();
    const { engine_restart_ms: pauseMs } = automationLimits;
    for (const expected of [pauseMs, 2 * pauseMs, 4 * pauseMs]) {
      await pass(expected - 1);
      expect(threads).toHaveLength(1);
      await pass(1);
    }
    await expect.poll(() => starts).toBe(2);
    expect([threads.length, client.restarts()]).toEqual([2, 1]);
    expect(said).toEqual([
      'rule engine failed; restarting it',
      'cannot start the rule engine thread; retrying',
      'cannot start the rule engine thread; retrying',
    ]);
  });

  test('engine_restart_max_ms: the pause before a restart doubles up to it', async () => {
    stored = [rule(1)];
    await client.open();
    const { engine_restart_ms: firstMs, engine_restart_max_ms: mostMs } = automationLimits;
    const pauses: number[] = [];
    for (let pauseMs = firstMs; pauseMs < mostMs; pauseMs *= 2) pauses.push(pauseMs);
    pauses.push(mostMs, mostMs);
    missing = pauses.length - 1;
    await threads[0]?.terminate();
    await settle();
    for (const pauseMs of pauses.slice(0, -1)) await pass(pauseMs);
    expect(fields.map((carried) => carried?.['pauseMs'])).toEqual(pauses);
    await pass(mostMs - 1);
    expect(threads).toHaveLength(1);
    await pass(1);
    await expect.poll(() => starts).toBe(2);
  });

  test('history_read_wait_ms: a page of runs waits no longer for an engine that does not store them', async () => {
    stored = [rule(1)];
    await client.open();
    const port = (threads[0] as EngineThread).port;
    const { postMessage } = port;
    port.postMessage = () => undefined;
    let settled = false;
    const waiting = client.settle(1).then(() => (settled = true));
    await pass(automationLimits.history_read_wait_ms - 1);
    expect(settled).toBe(false);
    await pass(1);
    expect(settled).toBe(true);
    await waiting;
    port.postMessage = postMessage;
  });

  test('open calls of an engine that dies are refused', async () => {
    stored = [rule(1, { enabled: false })];
    await client.open();
    write(20);
    // The answer waits for a flush that this clock never reaches.
    const running = client.execute(1, 'correlation-1');
    await settle();
    await threads[0]?.terminate();
    await expect(running).rejects.toMatchObject({ code: 'engine-unavailable' });
  });

  test('[rules §2.7] changed parameters reach every rule, and an engine that starts later', async () => {
    stored = [rule(1, { enabled: false })];
    await client.open();
    write(20);
    expect(await outcomeOf()).toBe('acted');
    await client.reload({ limit: { value: 30, unit: undefined } });
    expect(await outcomeOf()).toBe('no_action');
    await threads[0]?.terminate();
    await startedAgain();
    expect(await outcomeOf()).toBe('no_action');
  });

  test('writers names the enabled rules that write a point', async () => {
    stored = [rule(1), rule(2, { enabled: false }), rule(3)];
    await client.open();
    const [written, read, unknown] = [
      { instance: 1, point_type: 'action', point: 1 },
      { instance: 1, point_type: 'measurement', point: 1 },
      { instance: 9, point_type: 'action', point: 1 },
    ] as const;
    expect(await client.ask('writers', { points: [written, unknown] })).toEqual([
      { rule_id: 1, point: written },
      { rule_id: 3, point: written },
    ]);
    expect(await client.ask('writers', { points: [read] })).toEqual([]);
  });

  test('a standby has rules, and neither runs them nor writes their states before they are its own', async () => {
    stored = [rule(1), rule(2, { nodes_json: '{}' })];
    const states = createRunStore(database);
    // Of a deleted rule: the controlling process removes it.
    await states.append({ rows: [], states: [{ rule_id: 9, state: 'left' }], gone: [], claims: [], segments: [] });
    const before = await client.standBy();
    expect(before).toEqual({ rules_loaded: 1, rules_failed: [{ id: 2, code: 'no-runnable-flow' }] });
    stored = [rule(1), rule(3)];
    expect(await client.reload()).toEqual({ rules_loaded: 2, rules_failed: [] });
    write(20);
    await pass(1000);
    expect([starts, await client.status()]).toEqual([0, null]);
    expect(await states.states()).toEqual([{ rule_id: 9, state: 'left' }]);
    await expect(client.execute(1, 'correlation-1')).rejects.toMatchObject({ code: 'engine-unavailable' });
    // On a server the lease decides whose states they are.
    if (typeof places.runtime !== 'string') await runOn(places.runtime, 'UPDATE engine_lease SET epoch = 7');
    // There is one more rule since.
    stored = [rule(1), rule(3), rule(4)];
    expect(await client.adopt(7, site.parameters)).toEqual({ rules_loaded: 3, rules_failed: [] });
    await pass(1000);
    expect([starts, await client.status()]).toEqual([0, null]);
    await client.run();
    await pass(100);
    const asking = client.status();
    await pass(0);
    expect(await asking).toMatchObject({ running: true, executions: 3 });
    expect([starts, threads.length]).toEqual([1, 1]);
    await pass(automationLimits.record_flush_ms);
    await expect.poll(storedStates).not.toContain(9);
  });

  test('an engine that takes over has parameters that were changed in the meantime', async () => {
    stored = [rule(1, { enabled: false })];
    await client.standBy();
    await client.adopt(1, { limit: { value: 30, unit: undefined } });
    await client.run();
    write(20);
    expect(await outcomeOf()).toBe('no_action');
  });

  test('also those that it missed at first, because the rules could not be read', async () => {
    client = make(true);
    stored = [rule(1, { enabled: false })];
    await client.standBy();
    away = true;
    const changed = { limit: { value: 30, unit: undefined } };
    await expect(client.adopt(1, changed)).rejects.toMatchObject({ code: 'storage-unavailable' });
    away = false;
    await client.adopt(1, changed);
    await client.run();
    write(20);
    expect(await outcomeOf()).toBe('no_action');
  });

  test('unchanged parameters do not recompile rules', async () => {
    stored = [rule(1)];
    await client.standBy();
    const report = await client.reload();
    expect(await client.reload({ limit: { value: 10, unit: undefined } })).toBe(report);
    expect(await client.reload({ limit: { value: 11, unit: undefined } })).not.toBe(report);
  });

  test.each([
    [true, 1],
    [false, 2],
  ])(
    'rules that cannot be read now: an engine that is asked again (%s) continues, another one is started again',
    async (reloads, expected) => {
      client = make(reloads);
      stored = [rule(1)];
      await client.open();
      away = true;
      await expect(client.reload()).rejects.toMatchObject({ code: 'storage-unavailable' });
      away = false;
      stored = [rule(1), rule(2)];
      await pass(automationLimits.engine_restart_ms);
      expect(threads).toHaveLength(expected);
      expect(await client.reload()).toMatchObject({ rules_loaded: 2 });
    },
  );
});
