/**
 * The engine with everything around it, behind one message port: the same code in the worker (`engine-thread.ts`) and
 * in the tests' twin. Answers the calls of engine-contract.ts and rings when watched rules ran.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { listen } from '../base/doorbell.ts';
import type { Log } from '../base/log.ts';
import { answerCalls, type Port, sendEvent } from '../base/thread.ts';
import { createCommandWriter } from '../points/command-slots.ts';
import { createChangeReader, createLiveTableReader } from '../points/live-table.ts';
import { doorbells, type PointMemory } from '../points/shared-memory.ts';
import { type Site, siteCatalogue } from '../points/site.ts';
import { createArbiter } from '../rules/arbiter.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { createScheduler } from '../rules/scheduler.ts';
import { createSnapshot } from '../rules/snapshot.ts';
import { type DatabasePlace, openRuntimeDatabase } from '../storage/database.ts';
import { createEngine } from './engine.ts';
import type { EngineEvent, EngineMethods } from './engine-contract.ts';
import { createHistoryStore } from './history-store.ts';
import type { AutomationLimits } from './limits.ts';
import { recordSpool } from './record-spool.ts';
import { createRecorder } from './recorder.ts';
import { createRuleLog } from './rule-log.ts';
import { createRuleSet } from './rule-set.ts';

/** What an engine is started with: plain data and shared memory. */
export interface EngineSetup {
  readonly site: Site;
  readonly memory: PointMemory;
  /** The runtime database. */
  readonly database: DatabasePlace;
  readonly dataFolder: string;
  readonly limits: AutomationLimits;
}

export interface EngineCore {
  /** Ends at once, as a thread that dies: what waits is not stored. */
  stop(): Promise<void>;
}

/** Starts an engine that speaks through `port`; it runs from its first reload on. */
export function startEngineCore(port: Port, setup: EngineSetup, clock: Clock, log: Log): EngineCore {
  const { site, memory, limits } = setup;
  const catalogue = siteCatalogue(site);
  const now = () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  const publisher = createPublisher(port, clock);
  const database = openRuntimeDatabase(setup.database);
  const store = createHistoryStore(database);
  const ruleLog = createRuleLog(join(setup.dataFolder, 'logs', 'rules'), limits, clock, log);

  const assemble = async () => {
    const states = await store.states();
    const rules = createRuleSet({
      scheduler: createScheduler(),
      catalogueWith: (parameters) => (parameters === undefined ? catalogue : siteCatalogue({ ...site, parameters })),
      stored: new Map(states.map(({ rule_id, state }) => [rule_id, state])),
      now,
    });
    const { keep } = recordSpool(setup.dataFolder);
    const recorder = createRecorder({ store, ruleLog, limits, clock, log, stateOf: rules.exportState, keep });
    const live = createLiveTableReader(memory);
    const changes = createChangeReader(memory);
    const engine = createEngine({
      clock,
      limits,
      rules,
      arbiter: createArbiter(),
      snapshot: createSnapshot(catalogue.points.length),
      statusSnapshot: createSnapshot(catalogue.points.length),
      points: { copyInto: (snapshot) => live.copyInto(snapshot, clock), drainChanges: changes.drain },
      maxAgesMs: catalogue.points.map((point) => point.maxAgeMs),
      port: createCommandWriter(memory, clock),
      recorder,
      publish: publisher.take,
    });
    const bell = listen(clock, memory.doorbells, doorbells.changes, engine.pointsChanged);
    return { engine, recorder, bell };
  };
  const assembled = assemble();
  let started = false;

  const handlers: Parameters<typeof answerCalls<EngineMethods>>[1] = {
    async reload(change) {
      const { engine } = await assembled;
      const report = engine.reload(change);
      if (!started) engine.start();
      started = true;
      return report;
    },
    execute: async ({ ruleId, correlationId }) => (await assembled).engine.execute(ruleId, correlationId),
    explain: async ({ ruleIds }) => (await assembled).engine.explain(ruleIds),
    status: async () => (await assembled).engine.status(),
    measures: async () => (await assembled).engine.measures(),
    writers: async ({ points }) => (await assembled).engine.writers(points),
    watch({ ruleIds }) {
      publisher.watch(ruleIds);
      return null;
    },
    async drain() {
      const { engine, recorder, bell } = await assembled;
      engine.stop();
      bell.stop();
      await recorder.close();
      await database.close();
      return null;
    },
  };
  answerCalls<EngineMethods>(port, handlers);
  return {
    async stop() {
      const { engine, bell } = await assembled;
      engine.stop();
      bell.stop();
      await database.close();
    },
  };
}

/** Sends the records of watched rules, those of one turn in one message. */
function createPublisher(port: Port, clock: Clock) {
  let watched: ReadonlySet<number> = new Set();
  let records: ExecutionRecord[] = [];
  const send = (): void => {
    sendEvent(port, { type: 'executions', records } satisfies EngineEvent);
    records = [];
  };
  return {
    watch(ruleIds: readonly number[]): void {
      watched = new Set(ruleIds);
    },
    take(record: ExecutionRecord): void {
      if (!watched.has(record.rule_id)) return;
      if (records.length === 0) clock.soon(send);
      records.push(record);
    },
  };
}
