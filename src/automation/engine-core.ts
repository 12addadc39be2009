/**
 * The engine with its surroundings, behind one message port: the same code in the worker (`engine-thread.ts`) and
 * in the tests' twin. Answers the calls of engine-contract.ts and signals when watched rules ran.
 */
import type { Clock } from '../base/clock.ts';
import { listen } from '../base/doorbell.ts';
import { Fault } from '../base/fault.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { answerCalls, type Port, sendEvent } from '../base/thread.ts';
import { createCommandWriter, lastCommandFailed } from '../points/command-slots.ts';
import { createChangeReader, createLiveTableReader } from '../points/live-table.ts';
import { numberingOf } from '../points/numbering.ts';
import { createSampler } from '../points/sample.ts';
import { doorbells, isOnline, type PointMemory } from '../points/shared-memory.ts';
import { type Arbiter, createArbiter } from '../rules/arbiter.ts';
import { Authority } from '../rules/authority.ts';
import { Ownership } from '../rules/ownership.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { createScheduler } from '../rules/scheduler.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import type { Site } from '../site/site.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { createSnapshot } from '../site/snapshot.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { RetentionCell } from '../storage/retention-clock.ts';
import { AuthorityKeeper } from './authority-keeper.ts';
import { createEngine } from './engine.ts';
import {
  type EngineEvent,
  type EngineMethods,
  type EngineTerm,
  engineQuestions,
  type RuleSetChange,
  type RuleStatus,
} from './engine-contract.ts';
import { createHeldRules, type HeldRules } from './held-rules.ts';
import type { AutomationLimits } from './limits.ts';
import { ruleLoader } from './loaded-rule.ts';
import { type OpenRecordWriter, openRecordThread, openRecordWriter } from './open-record-writer.ts';
import { recordSpool } from './record-spool.ts';
import { createRuleSet, type RuleSet } from './rule-set.ts';
import { withTurns } from './rule-turns.ts';
import { parsedOrNull } from './rule-view.ts';
import type { RunRow } from './run-blocks.ts';
import { createRunRecorder } from './run-recorder.ts';
import { type EndedGrant, readAuthority } from './store/authority-store.ts';
import { type ClaimRow, createRunStore, holdsRuns, type StateRow } from './store/run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from './store/runtime-database.ts';

/** The start parameters of an engine: plain data and shared memory. */
export interface EngineSetup {
  readonly site: Site;
  readonly memory: PointMemory;
  /** The runtime database. */
  readonly database: DatabasePlace;
  readonly dataFolder: string;
  readonly retention: RetentionCell;
  readonly limits: AutomationLimits;
}

export interface EngineCore {
  /** Ends at once, like a crashed thread: pending executions are not stored. */
  stop(): Promise<void>;
}

/** Opens the writer of the engine's records. It takes over the handle, or closes it and opens its own. */
export type RecordsOf = (
  setup: EngineSetup,
  database: RuntimeDatabase,
  clock: Clock,
  log: Log,
) => Promise<OpenRecordWriter> | OpenRecordWriter;

const recordsHere: RecordsOf = openRecordWriter;

/** Records in files are stored by a separate thread: a tick never waits for a disk. A server's are stored from here. */
export function recordsApart(logLevel: LogLevel): RecordsOf {
  return async (setup, database, clock, log) => {
    if (typeof setup.database !== 'string') return recordsHere(setup, database, clock, log);
    const isStored = await holdsRuns(database);
    await database.close();
    const { dataFolder, retention, limits } = setup;
    const data = { database: setup.database, dataFolder, retention, limits, logLevel };
    return openRecordThread(data, isStored, clock, log);
  };
}

/**
 * Starts an engine that speaks through `port`. Until `adopt` it only compiles rules: it opens no database and has no state;
 * until `run` it runs none.
 */
export function startEngineCore(
  port: Port,
  setup: EngineSetup,
  clock: Clock,
  log: Log,
  recordsOf: RecordsOf = recordsHere,
): EngineCore {
  const publisher = createPublisher(port, clock);
  const catalogueWith = catalogues(setup.site);
  const held = createHeldRules(catalogueWith, ruleLoader(setup.limits), clock);
  const spool = recordSpool(setup.dataFolder);
  let adopted: Promise<Assembled> | undefined;
  /** Rows that the store did not accept before the end, and how many of them are spooled. */
  let [left, kept]: [readonly RunRow[], number] = [[], 0];
  const sample = createSampler(setup.memory, setup.site.points.length, setup.site.channels.length, clock);
  const numbering = numberingOf(setup.site);
  const running = (): Promise<Assembled> => {
    if (adopted === undefined) throw new Fault('engine-unavailable', 'the rule engine is not running; try again');
    return adopted;
  };
  const end = async (): Promise<void> => {
    if (adopted === undefined) return;
    const { engine, keeper, bell } = await adopted;
    engine.stop();
    keeper.flush();
    bell.stop();
  };

  const explained = async ({ ruleIds }: { readonly ruleIds: readonly number[] }): Promise<(RuleStatus | null)[]> => {
    const { engine, keeper } = await running();
    return withTurns(engine.explain(ruleIds), keeper.turns());
  };

  const handlers: Parameters<typeof answerCalls<EngineMethods>>[1] = {
    async stage(rules) {
      await held.stage(rules);
      return null;
    },
    async reload(change) {
      const rows = held.take(change);
      return adopted === undefined ? held.report() : (await adopted).engine.reload(rows);
    },
    async rehearse() {
      const database = openRuntimeDatabase(setup.database);
      try {
        const states = await createRunStore(database).states();
        ruleSet(states, setup.limits, clock, catalogueWith, held.load).change(held.all());
      } finally {
        await database.close();
      }
      return null;
    },
    async adopt(term) {
      adopted ??= assemble({
        setup,
        clock,
        log,
        term,
        catalogueWith,
        load: held.load,
        publish: publisher.take,
        onEnded: (ended) => sendEvent(port, { type: 'grants-ended', ended } satisfies EngineEvent),
        recordsOf,
      });
      try {
        return (await adopted).engine.reload(held.all());
      } catch (error) {
        // The states could not be read: the next attempt may find the database available.
        adopted = undefined;
        throw error;
      }
    },
    async run() {
      (await running()).engine.start();
      return null;
    },
    execute: async (order) => (await running()).engine.execute(order),
    explain: explained,
    explainAsText: async (question) => (await explained(question)).map((status) => JSON.stringify(status)).join('\n'),
    status: async () => (await running()).engine.status(),
    measures: async () => (await running()).engine.measures(),
    settle: async ({ ruleId }) => (await running()).recorder.settled(ruleId),
    writeCycle: async ({ ruleId }) => (await running()).engine.writeCycle(ruleId),
    async grant({ grant, untilMs }) {
      const { keeper } = await running();
      return keeper.grant(grant, untilMs);
    },
    release: async ({ id }) => (await running()).keeper.release(id),
    forget: async ({ ids }) => {
      await (await running()).records.remove(ids);
      return null;
    },
    grants: async () => (await running()).keeper.grants(),
    authority: async ({ points }) => (await running()).keeper.view(points),
    async sample({ known }) {
      await running();
      return { sample: sample(), numbering: known === numbering.digest ? null : numbering };
    },
    troubles: async (question) => (await running()).engine.troubles(question),
    unusableInputs: async () => (await running()).engine.unusableInputs(),
    async failedCommands() {
      await running();
      return setup.site.points
        .filter(({ index }) => lastCommandFailed(setup.memory, index))
        .map(({ instance, kind, id }) => ({ instance, point_type: kind, point: id }));
    },
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
        throw new Fault('storage-unavailable', `cannot write to the data directory: ${String(error)}`, {
          cause: error,
        });
      }
      return left.length - kept;
    },
    async close() {
      await (await adopted)?.records.end();
      return null;
    },
  };
  answerCalls<EngineMethods>(port, handlers, {
    questions: engineQuestions,
    onError: (method, error) => log.error('engine query failed', { method, error: stackOf(error) }),
  });
  return {
    async stop() {
      await end();
      await (await adopted)?.records.end();
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
  readonly load: HeldRules['load'];
  readonly publish: (record: ExecutionRecord) => void;
  readonly onEnded: (ended: readonly EndedGrant[]) => void;
  readonly recordsOf: RecordsOf;
}

/** The engine with the stored states of its rules, and its outputs. */
async function assemble(parts: AssemblyParts) {
  const { setup, clock, log, term, catalogueWith, load, publish, onEnded, recordsOf } = parts;
  const { memory, limits, database: place } = setup;
  const catalogue = catalogueWith(undefined);
  const { points } = catalogue;
  const ofTerm = typeof place === 'string' || term.epoch === null ? place : { ...place, epoch: term.epoch };
  const database = openRuntimeDatabase(ofTerm);
  const store = createRunStore(database);
  const read = Promise.all([store.states(), store.claims(), readAuthority(database)]);
  const [states, claims, authority] = await read.catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const ladder = { authority: new Authority(setup.site.limits), ownership: new Ownership() };
  const arbiter = createArbiter(ladder);
  restoreClaims(arbiter, claims, catalogue, clock);
  const rules = ruleSet(states, limits, clock, catalogueWith, load);
  const records = await recordsOf({ ...setup, database: ofTerm }, database, clock, log);
  const recorder = createRunRecorder({
    writer: records,
    limits,
    clock,
    log,
    stateOf: rules.exportState,
    remembers: rules.remembers,
    urgentStateOf: rules.urgentState,
  });
  const live = createLiveTableReader(memory);
  const changes = createChangeReader(memory);
  const port = createCommandWriter(memory, clock);
  const keeper = new AuthorityKeeper({
    catalogue,
    arbiter,
    ladder,
    port,
    store: records,
    limits,
    now: () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }),
    onEnded,
    onSegments: (rows) => recorder.owned(rows),
  });
  keeper.restore(authority.grants, authority.open);
  const engine = createEngine({
    clock,
    limits,
    rules,
    arbiter,
    authority: keeper,
    snapshot: createSnapshot(points.length),
    statusSnapshot: createSnapshot(points.length),
    points: {
      copyInto: (snapshot) => live.copyInto(snapshot, clock),
      drainChanges: changes.drain,
      isOnline: (index) => isOnline(memory, index),
    },
    maxAgesMs: points.map((point) => point.maxAgeMs),
    port,
    recorder,
    publish,
  });
  const bell = listen(clock, memory.doorbells, doorbells.changes, () => engine.pointsChanged());
  return { engine, keeper, recorder, records, bell };
}

/** Holds and write budgets continue [rules §6.2]; those of removed points are dropped. */
function restoreClaims(arbiter: Arbiter, claims: readonly ClaimRow[], catalogue: SiteCatalogue, clock: Clock): void {
  const byKey = new Map(claims.map(({ point, state }) => [point, state]));
  for (const point of catalogue.points) {
    const text = byKey.get(`${point.instance}:${point.point_type}:${point.point}`);
    if (text !== undefined) arbiter.restoreClaim(point, parsedOrNull(text), clock.monotonicMs(), clock.wallMs());
  }
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
    limits,
    stored: new Map(states.map(({ rule_id, state }) => [rule_id, state])),
    now: () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }),
  });
}

/** Cached catalogues: the one in force, and the one for which rules are being compiled. */
const cataloguesKept = 2;

/** The site's catalogue with given parameters; the same object for equal parameters. */
function catalogues(site: Site): (parameters: RuleSetChange['parameters']) => SiteCatalogue {
  const known = new Map<string, SiteCatalogue>();
  return (parameters = site.parameters) => {
    const key = JSON.stringify(parameters);
    const catalogue = known.get(key) ?? siteCatalogue({ ...site, parameters });
    known.delete(key);
    known.set(key, catalogue);
    for (const oldest of [...known.keys()].slice(0, -cataloguesKept)) known.delete(oldest);
    return catalogue;
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
