/**
 * One life of the service in the world: the real stores, pipeline, engine and device layer on one simulated clock, over files
 * that outlive it. What connects them is faulty: the ports of the threads, the disk, the wires.
 */
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Answer, Subject } from '../../api/capability.ts';
import { type AuditLog, createAuditLog } from '../../audit/log.ts';
import { closeOpenRecords } from '../../audit/open-records.ts';
import { automationCapabilities } from '../../automation/capabilities.ts';
import { createEngineClient, type EngineClient } from '../../automation/engine-client.ts';
import { type EngineCore, startEngineCore } from '../../automation/engine-core.ts';
import { automationLimits } from '../../automation/limits.ts';
import { type ParametersInForce, parametersInForce } from '../../automation/parameters-in-force.ts';
import { isRunRow } from '../../automation/record-spool.ts';
import { createRecordWriter } from '../../automation/record-writer.ts';
import type { RunRow } from '../../automation/run-blocks.ts';
import { createAuthorityReader, createAuthorityStore } from '../../automation/store/authority-store.ts';
import { createRevisionReader, type RevisionReader } from '../../automation/store/revision-store.ts';
import { createRuleStore, type RuleStore } from '../../automation/store/rule-store.ts';
import { createRunReader, createRunStore, type RunStore } from '../../automation/store/run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from '../../automation/store/runtime-database.ts';
import { Fault } from '../../base/fault.ts';
import { type Log, silentLog } from '../../base/log.ts';
import { openDatabase } from '../../databases/site-database.ts';
import { type DeviceLayer, startDeviceLayer } from '../../devices/device-layer.ts';
import { deviceLimits } from '../../devices/limits.ts';
import { type Call, createPipeline } from '../../gateway/invoke.ts';
import { gatewayLimits } from '../../gateway/limits.ts';
import { RefusalTally } from '../../gateway/refusal-tally.ts';
import { historyLimits } from '../../historian/limits.ts';
import { operatorCapabilities } from '../../operator/capabilities.ts';
import { createLiveTableReader } from '../../points/live-table.ts';
import { createPointMemory, type PointMemory } from '../../points/shared-memory.ts';
import { flowLimits } from '../../rules/limits.ts';
import type { ExecutionRecord } from '../../rules/record.ts';
import { createSnapshot, type Snapshot } from '../../site/snapshot.ts';
import { retentionCell } from '../../storage/retention-clock.ts';
import { openJournal, type RowJournal } from '../../storage/row-journal.ts';
import type { Plant } from './plant.ts';
import type { Random } from './random.ts';
import { portPair } from './thread-port.ts';
import type { ProcessClock } from './world-clock.ts';
import { worldSite } from './world-site.ts';

export interface Disk {
  /** How long a commit takes, in milliseconds. */
  delayMs: number;
  /** A commit is refused. */
  isFull: boolean;
}

interface SiteEvents {
  /** A rule ran. */
  onRecord(record: ExecutionRecord): void;
  /** A thread of the engine ended that nobody killed. */
  onDeath(reason: string): void;
  /** An engine that had been busy for too long was ended and restarted. */
  onEnded(): void;
  /** Something was committed to the runtime database. */
  onCommit(): void;
}

export interface SiteParts {
  readonly folder: string;
  readonly clock: ProcessClock;
  readonly random: Random;
  readonly plant: Plant;
  readonly disk: Disk;
  readonly events: SiteEvents;
}

export type SiteProcess = Awaited<ReturnType<typeof startSite>>;

/** After a stall its consequences last for as long as a call may take. */
const answerMs = 2 * automationLimits.engine_call_timeout_ms;
const scope = { tenantId: 'world', projectId: 'world' };
const engineer: Subject = {
  kind: 'user',
  subjectId: 'engineer',
  ...scope,
  roles: ['Engineer'],
  permissions: new Set([
    'automation.read',
    'automation.rule.manage',
    'automation.rule.execute',
    'automation.point.command',
  ] as const),
};

export async function startSite({ folder, clock, random, plant, disk, events }: SiteParts) {
  const log: Log = silentLog;
  const places = { site: join(folder, 'site.sqlite'), runtime: join(folder, 'runtime.sqlite') };
  const database = openDatabase(places.site, clock);
  const runtime = openRuntimeDatabase(places.runtime, clock);
  // A kill keeps a copy of the bytes as they were: waiting for the real disk would add nothing.
  for (const each of [database, runtime]) await sql`PRAGMA synchronous = OFF`.execute(each.query);
  const faulty = <T>(work: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      clock.after(disk.delayMs, () => {
        if (disk.isFull) reject(new Fault('storage-unavailable', 'the disk is full'));
        else work().then(resolve, reject);
      });
    });
  const site = {
    ...database,
    transaction: ((work) => faulty(() => database.transaction(work))) as typeof database.transaction,
  };
  const memory = createPointMemory(worldSite.points, worldSite.channels.length);
  const devices = startWorldDevices({ folder, clock, plant }, memory);
  const audit = createAuditLog({ database: site, clock, scope });
  await closeOpenRecords({ database: site, clock, scope });
  const store = createRuleStore(site, clock, 1000);
  const parameters = parametersInForce(() => worldSite, worldSite.parameters, { all: async () => new Map() });
  const reader = createLiveTableReader(memory);
  const snapshot = (): Snapshot | null => {
    const now = createSnapshot(worldSite.points.length);
    return reader.copyInto(now, clock) ? now : null;
  };
  /** The store of an ended thread answers nothing more. */
  const slow = (inner: RunStore, isOver: () => boolean): RunStore => ({
    ...inner,
    append: (batch) =>
      faulty(async () => {
        if (isOver()) return new Promise<void>(() => undefined);
        await inner.append(batch);
        events.onCommit();
      }),
  });
  let stopping = false;
  const cores: EngineCore[] = [];
  let stall = (_untilMs: number): void => undefined;
  let stalledUntilMs = 0;
  const engine = createEngineClient({
    start(inForce) {
      const listeners: ((reason: string) => void)[] = [];
      const pair = portPair(clock, random, (message) => {
        if (isExecutions(message)) for (const record of message.event.records) events.onRecord(record);
      });
      const setup = {
        site: { ...worldSite, parameters: inForce },
        memory,
        database: places.runtime,
        dataFolder: folder,
        retention: retentionCell(0),
        limits: automationLimits,
      };
      const core = startEngineCore(pair.far, setup, clock, log, (_, opened, ownClock, ownLog) => {
        let ended = false;
        const ruleLog = { append: () => undefined, dropped: () => 0, flush: settled, close: settled };
        const parts = {
          store: slow(createRunStore(opened), () => ended),
          ruleLog,
          journal: faultyJournal(
            openJournal({ folder: join(folder, 'journal'), isRow: isRunRow, sync: () => undefined }),
            disk,
          ),
          blockMs: automationLimits.history_block_ms,
          limits: automationLimits,
          retention: { nowMs: ownClock.wallMs },
          clock: ownClock,
          log: ownLog,
        };
        const writer = createRecordWriter(parts);
        return {
          take: (batch) => writer.take(batch),
          counts: () => writer.counts(),
          settled: (ruleId) => writer.settled(ruleId),
          close: () => writer.close(),
          ...createAuthorityStore(opened),
          async end() {
            ended = true;
            await opened.close();
          },
        };
      });
      // Before the first rule runs, so that every event is seen.
      const ruleIds = Array.from({ length: 1000 }, (_, index) => index + 1);
      pair.near.postMessage({ tag: 'call', id: 0, method: 'watch', argument: { ruleIds } });
      cores.push(core);
      stall = pair.stall;
      return {
        port: pair.near,
        onDeath: (listener) => void listeners.push(listener),
        async terminate() {
          pair.cut();
          await core.stop();
          // An engine that did not answer in time is ended and restarted, by design.
          if (!stopping && stalledUntilMs < clock.monotonicMs() - answerMs)
            events.onDeath('the engine client ended its engine');
          else if (!stopping) events.onEnded();
          for (const listener of listeners.splice(0)) listener('terminated');
        },
      };
    },
    rules: store,
    parameters: parameters.current(),
    clock,
    log,
    limits: automationLimits,
    onExecutions: () => undefined,
    onGrantsEnded: () => undefined,
    onStart: () => undefined,
  });
  const stores = { store, revisions: createRevisionReader(site), runtime };
  const pipelines = pipelinesOf({ clock, random, stores, engine, parameters, snapshot, audit, devices });
  await engine.open();

  return {
    memory,
    devices,
    engine,
    store,
    database,
    runtime,
    snapshot,
    /** One call through the pipeline, as an HTTP request makes it. */
    async call(
      name: string,
      params: Readonly<Record<string, string>>,
      body: object | null,
      correlationId: string,
    ): Promise<Answer> {
      const pipeline = pipelines.get(name);
      if (pipeline === undefined) throw new Error(`there is no operation ${name}`);
      const headers: Readonly<Record<string, string>> = {
        'x-svc-confirmed': 'true',
        'content-type': 'application/json',
      };
      const call: Call = {
        correlationId,
        address: '127.0.0.1',
        local: true,
        traceId: undefined,
        header: (header) => headers[header],
        params,
        query: new URLSearchParams(name === 'automation.rule.list' ? 'include=status' : ''),
        onAudit: () => undefined,
        onAccepted: () => undefined,
      };
      const subject = await pipeline.admit(call);
      const bytes = body === null ? undefined : Buffer.from(JSON.stringify({ ...body, confirmed: true }));
      return pipeline.perform(call, subject, bytes);
    },
    /** The bytes on the disk at this moment become those of the next life; this life does nothing more. */
    async kill(next: string): Promise<void> {
      stopping = true;
      mkdirSync(next, { recursive: true });
      for (const name of ['site.sqlite', 'runtime.sqlite'])
        for (const end of ['', '-wal']) {
          const file = join(folder, name + end);
          if (existsSync(file)) copyFileSync(file, join(next, name + end));
        }
      if (existsSync(join(folder, 'journal')))
        cpSync(join(folder, 'journal'), join(next, 'journal'), { recursive: true });
      clock.kill();
      await devices.terminate();
      await Promise.all(cores.map((core) => core.stop())).catch(() => undefined);
      await Promise.all([database.close(), runtime.close()]).catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
    /** The engine's thread handles no message until then. */
    stallEngine(untilMs: number): void {
      stalledUntilMs = untilMs;
      stall(untilMs);
    },
    async restartDevices(): Promise<void> {
      await devices.restart();
    },
  };
}

function startWorldDevices(
  { folder, clock, plant }: Pick<SiteParts, 'folder' | 'clock' | 'plant'>,
  memory: PointMemory,
): DeviceLayer {
  return startDeviceLayer({
    site: worldSite,
    memory,
    clock,
    log: silentLog,
    logLevel: 'silent',
    limits: deviceLimits,
    configDir: folder,
    dataDir: folder,
    secret: () => undefined,
    inProcess: true,
    modbusWire: plant.open,
  });
}

interface PipelineParts {
  readonly clock: SiteParts['clock'];
  readonly random: SiteParts['random'];
  readonly stores: {
    readonly store: RuleStore;
    readonly revisions: RevisionReader;
    readonly runtime: RuntimeDatabase;
  };
  readonly engine: EngineClient;
  readonly parameters: ParametersInForce;
  readonly snapshot: () => Snapshot | null;
  readonly audit: AuditLog;
  readonly devices: DeviceLayer;
}

/** The operations on rules, each behind the pipeline that HTTP requests pass through. */
function pipelinesOf({ clock, random, stores, engine, parameters, snapshot, audit, devices }: PipelineParts) {
  const log: Log = silentLog;
  const { store, revisions, runtime } = stores;
  const capabilities = automationCapabilities({
    clock,
    flowLimits,
    tickIntervalMs: 100,
    requireTests: false,
    store,
    revisions,
    runs: createRunReader(runtime),
    engine,
    site: () => worldSite,
    catalogue: parameters.catalogue,
    parameters,
    readFile: () =>
      Promise.resolve({
        parameters: { threshold: { value: 40 + random.below(20), unit: undefined } },
        otherChanges: [],
      }),
    snapshot,
    log,
  });
  const free = async (): Promise<void> => undefined;
  const parts = {
    identity: {
      authenticate: async () => engineer,
      authenticateSession: async () => null,
      authenticateToken: async () => null,
    },
    audit,
    site: scope,
    rateLimits: { countMutation: free, countProcessing: free, countSearch: free, countFailedAuthentication: free },
    refusals: new RefusalTally(clock, log, gatewayLimits),
    clock,
    log,
  };
  const operator = operatorCapabilities({
    clock,
    site: () => worldSite,
    catalogue: parameters.catalogue,
    engine,
    store,
    ownership: createAuthorityReader(runtime),
    history: { snapshot: () => Promise.reject(new Fault('source-unavailable', 'the world records nothing')) },
    limits: historyLimits,
    sample: async () => null,
    devices,
  });
  return new Map([...capabilities, ...operator].map((bound) => [bound.descriptor.name, createPipeline(bound, parts)]));
}

/** A full disk accepts no more of the journal than of anything else. */
function faultyJournal(journal: RowJournal<RunRow>, disk: Disk): RowJournal<RunRow> {
  return {
    ...journal,
    append(rows, last) {
      if (disk.isFull) throw new Fault('storage-unavailable', 'the disk is full');
      return journal.append(rows, last);
    },
  };
}

const settled = (): Promise<void> => Promise.resolve();

function isExecutions(message: unknown): message is { event: { records: readonly ExecutionRecord[] } } {
  if (typeof message !== 'object' || message === null || !('tag' in message) || message.tag !== 'event') return false;
  return (
    'event' in message && typeof message.event === 'object' && message.event !== null && 'records' in message.event
  );
}
