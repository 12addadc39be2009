/**
 * The engine with everything around it, behind one message port: the same code in the worker (`engine-thread.ts`) and
 * in the tests' twin. Answers the calls of engine-contract.ts and rings when watched rules ran.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { listen } from '../base/doorbell.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { answerCalls, type Port, sendEvent } from '../base/thread.ts';
import { createCommandWriter } from '../points/command-slots.ts';
import { createChangeReader, createLiveTableReader } from '../points/live-table.ts';
import { doorbells, type PointMemory } from '../points/shared-memory.ts';
import { type Site, siteCatalogue } from '../points/site.ts';
import { createArbiter } from '../rules/arbiter.ts';
import type { SiteCatalogue } from '../rules/catalogue.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { createScheduler } from '../rules/scheduler.ts';
import { createSnapshot } from '../rules/snapshot.ts';
import { type DatabasePlace, openRuntimeDatabase } from '../storage/database.ts';
import { createEngine } from './engine.ts';
import {
  type EngineEvent,
  type EngineMethods,
  type EngineTerm,
  engineQuestions,
  type RuleSetChange,
} from './engine-contract.ts';
import { createHistoryStore, type HistoryRow, type StateRow } from './history-store.ts';
import type { AutomationLimits } from './limits.ts';
import { type RuleLoader, ruleLoader } from './loaded-rule.ts';
import { recordSpool } from './record-spool.ts';
import { createRecorder } from './recorder.ts';
import { createRuleLog } from './rule-log.ts';
import { createRuleSet, type RuleSet } from './rule-set.ts';
import { createStandbyRules } from './standby-rules.ts';

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

/**
 * Starts an engine that speaks through `port`. Until `adopt` it only compiles rules: it opens no database and has no state;
 * until `run` it runs none.
 */
export function startEngineCore(port: Port, setup: EngineSetup, clock: Clock, log: Log): EngineCore {
  const publisher = createPublisher(port, clock);
  const catalogueWith = catalogues(setup.site);
  const standby = createStandbyRules(catalogueWith, ruleLoader(setup.limits));
  const spool = recordSpool(setup.dataFolder);
  let adopted: Promise<Assembled> | undefined;
  /** What the store did not take before the end, and how many of it are kept. */
  let [left, kept]: [readonly HistoryRow[], number] = [[], 0];
  const running = (): Promise<Assembled> => {
    if (adopted === undefined) throw new Fault('engine-unavailable', 'the rule engine does not run; try again');
    return adopted;
  };
  const end = async (): Promise<void> => {
    if (adopted === undefined) return;
    const { engine, bell } = await adopted;
    engine.stop();
    bell.stop();
  };

  const handlers: Parameters<typeof answerCalls<EngineMethods>>[1] = {
    reload: async (change) => (adopted === undefined ? standby.take(change) : (await adopted).engine.reload(change)),
    async rehearse() {
      const database = openRuntimeDatabase(setup.database);
      try {
        const states = await createHistoryStore(database).states();
        ruleSet(states, setup.limits, clock, catalogueWith, standby.load).replace(standby.all(), clock.monotonicMs());
      } finally {
        await database.close();
      }
      return null;
    },
    async adopt(term) {
      adopted ??= assemble({ setup, clock, log, term, catalogueWith, load: standby.load, publish: publisher.take });
      try {
        return (await adopted).engine.reload(standby.all());
      } catch (error) {
        // The states could not be read: whoever asks again may find the database there.
        adopted = undefined;
        throw error;
      }
    },
    async run() {
      (await running()).engine.start();
      return null;
    },
    execute: async (order) => (await running()).engine.execute(order),
    explain: async ({ ruleIds }) => (await running()).engine.explain(ruleIds),
    status: async () => (await running()).engine.status(),
    measures: async () => (await running()).engine.measures(),
    writers: async ({ points }) => (await running()).engine.writers(points),
    watch({ ruleIds }) {
      publisher.watch(ruleIds);
      return null;
    },
    async drain() {
      await end();
      left = (await (await adopted)?.recorder.close()) ?? [];
      return left.length;
    },
    async keep() {
      try {
        kept = await spool.keep(left, kept);
      } catch (error) {
        throw new Fault('storage-unavailable', `the data dir takes nothing: ${String(error)}`, { cause: error });
      }
      return left.length - kept;
    },
    async close() {
      await (await adopted)?.ruleLog.close();
      await (await adopted)?.database.close();
      return null;
    },
  };
  answerCalls<EngineMethods>(port, handlers, {
    questions: engineQuestions,
    onError: (method, error) => log.error('a question to the rule engine failed', { method, error: stackOf(error) }),
  });
  return {
    async stop() {
      await end();
      await (await adopted)?.database.close();
    },
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

type Assembled = Awaited<ReturnType<typeof assemble>>;

interface AssemblyParts {
  readonly setup: EngineSetup;
  readonly clock: Clock;
  readonly log: Log;
  readonly term: EngineTerm;
  readonly catalogueWith: ReturnType<typeof catalogues>;
  readonly load: RuleLoader;
  readonly publish: (record: ExecutionRecord) => void;
}

/** The engine with the stored states of its rules, and everything that it writes to. */
async function assemble({ setup, clock, log, term, catalogueWith, load, publish }: AssemblyParts) {
  const { memory, limits, database: place, dataFolder } = setup;
  const { points } = catalogueWith(undefined);
  const ofTerm = typeof place === 'string' || term.epoch === null ? place : { ...place, epoch: term.epoch };
  const database = openRuntimeDatabase(ofTerm);
  const store = createHistoryStore(database);
  const states = await store.states().catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const ruleLog = createRuleLog(join(dataFolder, 'logs', 'rules'), limits, clock, log);
  const rules = ruleSet(states, limits, clock, catalogueWith, load);
  const recorder = createRecorder({ store, ruleLog, limits, clock, log, stateOf: rules.exportState });
  const live = createLiveTableReader(memory);
  const changes = createChangeReader(memory);
  const engine = createEngine({
    clock,
    limits,
    rules,
    arbiter: createArbiter(),
    snapshot: createSnapshot(points.length),
    statusSnapshot: createSnapshot(points.length),
    points: { copyInto: (snapshot) => live.copyInto(snapshot, clock), drainChanges: changes.drain },
    maxAgesMs: points.map((point) => point.maxAgeMs),
    port: createCommandWriter(memory, clock),
    recorder,
    publish,
  });
  const bell = listen(clock, memory.doorbells, doorbells.changes, engine.pointsChanged);
  return { engine, recorder, ruleLog, bell, database };
}

function ruleSet(
  states: readonly StateRow[],
  limits: AutomationLimits,
  clock: Clock,
  catalogueWith: ReturnType<typeof catalogues>,
  load: AssemblyParts['load'],
): RuleSet {
  return createRuleSet({
    scheduler: createScheduler(limits),
    catalogueWith,
    load,
    stored: new Map(states.map(({ rule_id, state }) => [rule_id, state])),
    now: () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }),
  });
}

/** The site's catalogue with given parameters; the same object for the same parameters. */
function catalogues(site: Site): (parameters: RuleSetChange['parameters']) => SiteCatalogue {
  let last: { readonly parameters: RuleSetChange['parameters']; readonly catalogue: SiteCatalogue } | undefined;
  return (parameters) => {
    if (last === undefined || last.parameters !== parameters)
      last = { parameters, catalogue: siteCatalogue(parameters === undefined ? site : { ...site, parameters }) };
    return last.catalogue;
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
