/**
 * The engine as the main thread sees it. It remembers which revisions the engine holds and sends the difference; when
 * the engine's thread dies it is started again with the whole rule set, and its state comes back from the runtime
 * database (ARCHITECTURE.md, "Threads").
 */
import { type Clock, type Timer, within } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { type Caller, callThread, type Port } from '../base/thread.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { Parameter } from '../site/catalogue.ts';
import type {
  EngineEvent,
  EngineMethods,
  EngineRule,
  EngineStatus,
  PointWriter,
  ReloadReport,
  RuleStatus,
} from './engine-contract.ts';
import type { EngineMeasures } from './engine-metrics.ts';
import type { AutomationLimits } from './limits.ts';
import type { RuleHead } from './rule-store.ts';

/** Of `engine_call_timeout_ms`, the rest of which storing what waits may take: an end takes no longer than a call. */
const closingShare = 0.5;

/**
 * Of `engine_call_timeout_ms`, the time in which the engine begins an order or drops it; the rest is for its answer, so that an
 * order that was answered 503 is not carried out later [rules §2.5].
 */
const orderShare = 0.5;

/** A started engine thread, or its twin. */
export interface EngineThread {
  readonly port: Port;
  onDeath(listener: (reason: string) => void): void;
  terminate(): Promise<void>;
}

/** Where the client reads the rule set. */
export interface RuleSource {
  heads(): Promise<RuleHead[]>;
  engineRules(ids: readonly number[]): Promise<EngineRule[]>;
}

export interface EngineClientParts {
  readonly start: (parameters: Readonly<Record<string, Parameter>>) => EngineThread;
  readonly rules: RuleSource;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AutomationLimits;
  readonly onExecutions: (records: readonly ExecutionRecord[]) => void;
  /** A fresh engine runs: whatever it must be told again is told now. */
  readonly onStart: () => void;
  /** `reload` is called again and again: an engine goes on with the rules it has while newer ones cannot be read. */
  readonly reloads?: boolean;
}

export interface EngineClient {
  /** Starts the engine with the stored rules. */
  open(): Promise<ReloadReport>;
  /** `parameters` are those in force from now on; without them they stay. `changed`: only these rules are looked at. */
  reload(parameters?: Readonly<Record<string, Parameter>>, changed?: readonly number[]): Promise<ReloadReport>;
  execute(ruleId: number, correlationId: string): Promise<ExecutionRecord>;
  explain(ruleIds: readonly number[]): Promise<(RuleStatus | null)[]>;
  writers(points: readonly number[]): Promise<PointWriter[]>;
  writeCycle(ruleId: number): Promise<readonly number[] | null>;
  /** Null while no engine runs. */
  status(): Promise<EngineStatus | null>;
  /** Runs of a rule that wait to be stored with more of it are in the history then, if an engine runs here and the store takes them. */
  settle(ruleId: number): Promise<void>;
  /** Null while no engine runs. */
  measures(): Promise<EngineMeasures | null>;
  watch(ruleIds: readonly number[]): void;
  restarts(): number;
  readonly tickIntervalMs: number;
  /** Stores what waits and ends the thread. */
  close(): Promise<void>;
}

/** An engine that gets ready step by step (docs/guides/several-machines.md). */
export interface ContendingEngine extends EngineClient {
  /** Starts the engine's thread and has it compile the stored rules. It touches no state and runs none. */
  standBy(): Promise<ReloadReport>;
  /** Has it take the stored states of the rules, which are its own to write from now on. It runs none yet. */
  adopt(epoch: number, parameters: Readonly<Record<string, Parameter>>): Promise<ReloadReport>;
  /** Rules run. */
  run(): Promise<void>;
}

interface Running {
  readonly thread: EngineThread;
  readonly caller: Caller<EngineMethods, EngineEvent>;
  /** The site's parameters that this engine holds. */
  parameters: Readonly<Record<string, Parameter>>;
  /** Revision of each rule that this engine holds. */
  readonly held: Map<number, number>;
  /** More rules are to be loaded. */
  partial: boolean;
  /** Those that are known to be missing, in loading order. */
  missing: number[];
  /** Of the last reload that it took. */
  report: ReloadReport | undefined;
  rehearsed: boolean;
  adopted: boolean;
  runs: boolean;
}

interface Portion {
  /** To be read. */
  readonly ids: readonly number[];
  /** Held, and not stored any more. */
  readonly removed: readonly number[];
  readonly partial: boolean;
}

/** Rules of the first portion, and of the largest: what the engine takes up in one turn. */
const portionMinimum = 200;
const portionMaximum = 500;
/** Rules sent at once, and about how many bytes of them: what either thread does in one turn with a message. */
const stageMinimum = 4;
const stageMaximum = 100;
const stageBytes = 262_144;

/** Edited rules first, then enabled ones by priority: what waits longest is what does not run anyway. */
function inLoadingOrder(held: ReadonlyMap<number, number>, a: RuleHead, b: RuleHead): number {
  return (
    Number(held.has(b.id)) - Number(held.has(a.id)) ||
    Number(b.enabled) - Number(a.enabled) ||
    b.priority - a.priority ||
    a.id - b.id
  );
}

/** An engine that lived this long is not dying in a loop: the pause before its restart starts small again. */
const steadyMs = 30_000;

export function createEngineClient(parts: EngineClientParts): ContendingEngine {
  const { clock, log, limits } = parts;
  let parameters = parts.parameters;
  let current: Running | undefined;
  /** What every engine is brought to, the one that runs and those that follow it. */
  const wanted: { epoch: number | null | undefined; runs: boolean } = { epoch: undefined, runs: false };
  let restartTimer: Timer | undefined;
  let pauseMs = limits.engine_restart_ms;
  let deaths = 0;
  let closed = false;
  /** Reloads run one after the other, so that what the engine holds is always known. */
  let reloading: Promise<unknown> = Promise.resolve();

  const down = (): Fault => new Fault('engine-unavailable', 'the rule engine is not running; try again');
  const alive = (): Running => {
    if (current === undefined) throw down();
    return current;
  };
  const running = (): Running => {
    const target = alive();
    if (!target.runs) throw down();
    return target;
  };

  /** What of the stored rules an engine does not hold yet, the next portion of it; null when it holds all. */
  const nextPortion = async (target: Running, named: readonly number[] | undefined): Promise<Portion | null> => {
    // Which of them are gone shows when they are read.
    if (named !== undefined && target.report !== undefined && !target.partial)
      return { ids: named, removed: [], partial: false };
    // As many again as are held: few reloads at first, and the first rules run soon; then as many as one turn takes.
    const count = Math.min(portionMaximum, Math.max(portionMinimum, target.held.size));
    if (target.missing.length > 0) return { ids: target.missing.splice(0, count), removed: [], partial: true };
    const heads = await parts.rules.heads();
    const stored = new Set(heads.map(({ id }) => id));
    const removed = [...target.held.keys()].filter((id) => !stored.has(id));
    const missing = heads.filter(({ id, revision }) => target.held.get(id) !== revision);
    const isComplete = missing.length === 0 && removed.length === 0;
    if (isComplete && target.report !== undefined && !target.partial) return null;
    const ids = missing.toSorted((a, b) => inLoadingOrder(target.held, a, b)).map(({ id }) => id);
    target.missing = ids.slice(count);
    return { ids: ids.slice(0, count), removed, partial: target.missing.length > 0 };
  };
  /** Has the engine compile these rules, a bounded number of bytes at a time; answers their revisions. */
  const stage = async (
    target: Running,
    ids: readonly number[],
    inForce: Readonly<Record<string, Parameter>>,
  ): Promise<(readonly [number, number])[]> => {
    const revisions: (readonly [number, number])[] = [];
    let size = stageMinimum;
    for (let from = 0; from < ids.length; ) {
      const rows = await parts.rules.engineRules(ids.slice(from, from + size));
      from += size;
      // A rule that was deleted between the two reads is not named; its own reload follows.
      for (const row of rows) revisions.push([row.id, row.revision]);
      await orEnd(target, () => target.caller.call('stage', { rows, parameters: inForce }));
      const bytes = rows.reduce((sum, row) => sum + row.nodes_json.length, 0);
      size = Math.max(1, Math.min(stageMaximum, 2 * size, Math.floor((size * stageBytes) / Math.max(1, bytes))));
    }
    return revisions;
  };
  /** Has the engine compile what it holds for other parameters, before they come into force. */
  const restage = async (target: Running, inForce: Readonly<Record<string, Parameter>>): Promise<void> => {
    const ids = [...target.held.keys()];
    for (let from = 0; from < ids.length; from += stageMaximum) {
      const order = { rows: [], ids: ids.slice(from, from + stageMaximum), parameters: inForce };
      await orEnd(target, () => target.caller.call('stage', order));
    }
  };
  const sendRules = async (target: Running, named?: readonly number[]): Promise<ReloadReport> => {
    const found = await nextPortion(target, named).catch(async (error: unknown) => {
      if (parts.reloads !== true && current === target) await target.thread.terminate();
      throw error;
    });
    const inForce = parameters;
    const changedParameters = JSON.stringify(target.parameters) !== JSON.stringify(inForce);
    if (found === null && !changedParameters && target.report !== undefined) return target.report;
    const staged = found === null ? [] : await stage(target, found.ids, inForce);
    if (changedParameters) await restage(target, inForce);
    const revisions = new Map(staged);
    // An edited rule that was deleted meanwhile was not read any more: it is held no longer.
    const unread = (found?.ids ?? []).filter((id) => target.held.has(id) && !revisions.has(id));
    const removed = [...(found?.removed ?? []), ...unread];
    const partial = found?.partial ?? false;
    const change = { ids: [...revisions.keys()], removed, partial };
    const report = await orEnd(target, () =>
      target.caller.call('reload', changedParameters ? { ...change, parameters: inForce } : change),
    );
    target.parameters = inForce;
    for (const id of removed) target.held.delete(id);
    for (const [id, revision] of staged) target.held.set(id, revision);
    target.partial = partial;
    target.report = report;
    return report;
  };
  /** An engine that does not do as it is told would run on as it was: it is ended and started anew. */
  const orEnd = async <T>(target: Running, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      // Storage that is away is none of its faults, and no reason to be cold when it is back.
      const patient = parts.reloads === true && error instanceof Fault && error.code === 'storage-unavailable';
      if (current === target && !patient) await target.thread.terminate();
      throw error;
    }
  };
  /** Gives an engine the states, once, and lets it run, as far as that is wanted. */
  const advance = async (target: Running): Promise<void> => {
    const { epoch } = wanted;
    if (epoch === undefined && !target.rehearsed) {
      await orEnd(target, () => target.caller.call('rehearse', null));
      target.rehearsed = true;
    }
    if (epoch !== undefined && !target.adopted) {
      target.report = await orEnd(target, () => target.caller.call('adopt', { epoch }));
      target.adopted = true;
    }
    if (!wanted.runs || !target.adopted || target.runs) return;
    await orEnd(target, () => target.caller.call('run', null));
    target.runs = true;
    parts.onStart();
  };
  const bring = async (target: Running, named?: readonly number[]): Promise<ReloadReport> => {
    const report = await sendRules(target, named);
    // One that stands by is of use when it is ready as a whole; one that controls does what it can at once.
    if (target.partial && wanted.epoch === undefined) return bring(target);
    await advance(target);
    if (target.partial) loadOn(target);
    return target.report ?? report;
  };
  /** The next portion, in its turn: reloads that were asked for meanwhile come before it. */
  const loadOn = (target: Running): void => {
    clock.soon(() => {
      if (current !== target || closed) return;
      inTurn(async () => (current === target && target.partial ? void (await bring(target)) : undefined)).catch(
        (error: unknown) => {
          log.warn('cannot load all stored rules yet', { error: String(error) });
          if (current === target) clock.after(limits.engine_restart_max_ms, () => loadOn(target));
        },
      );
    });
  };
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    const result = reloading.then(task, task);
    reloading = result.catch(() => undefined);
    return result;
  };

  const died = (target: Running, startedMs: number, reason: string): void => {
    target.caller.close(down());
    if (current !== target) return;
    current = undefined;
    if (closed) return;
    deaths++;
    if (clock.monotonicMs() - startedMs > steadyMs) pauseMs = limits.engine_restart_ms;
    restartLater('rule engine failed; restarting it', reason);
  };
  const restartLater = (what: string, reason: string): void => {
    log.error(what, { reason, pauseMs });
    restartTimer = clock.after(pauseMs, () => {
      restartTimer = undefined;
      try {
        start().catch((error: unknown) => log.error('the rule engine could not start', { error: String(error) }));
      } catch (error) {
        // There is no thread that could die: too many of them, or no memory for one more.
        restartLater('cannot start the rule engine thread; retrying', String(error));
      }
    });
    pauseMs = Math.min(pauseMs * 2, limits.engine_restart_max_ms);
  };

  const start = (): Promise<ReloadReport> => {
    const thread = parts.start(parameters);
    const caller = callThread<EngineMethods, EngineEvent>(thread.port, clock, limits.engine_call_timeout_ms);
    const target: Running = {
      thread,
      caller,
      parameters,
      held: new Map(),
      partial: true,
      missing: [],
      report: undefined,
      rehearsed: false,
      adopted: false,
      runs: false,
    };
    const startedMs = clock.monotonicMs();
    caller.onEvent((event) => parts.onExecutions(event.records));
    thread.onDeath((reason) => died(target, startedMs, reason));
    current = target;
    return inTurn(() => bring(target));
  };

  return {
    open() {
      wanted.epoch = null;
      wanted.runs = true;
      return start();
    },
    standBy: start,
    adopt(epoch, inForce) {
      parameters = inForce;
      wanted.epoch = epoch;
      return inTurn(() => bring(alive()));
    },
    run() {
      wanted.runs = true;
      return inTurn(() => advance(alive()));
    },
    reload(inForce, changed) {
      if (inForce !== undefined) parameters = inForce;
      return inTurn(() => {
        const target = alive();
        // Whatever was edited meanwhile comes before what is still to be loaded.
        target.missing = [];
        return bring(target, changed);
      });
    },
    async execute(ruleId, correlationId) {
      const untilMs = clock.monotonicMs() + limits.engine_call_timeout_ms * orderShare;
      return running().caller.call('execute', { ruleId, correlationId, untilMs });
    },
    explain: async (ruleIds) => running().caller.call('explain', { ruleIds }),
    writers: async (points) => running().caller.call('writers', { points }),
    writeCycle: async (ruleId) => running().caller.call('writeCycle', { ruleId }),
    status: async () => (current?.runs === true ? current.caller.call('status', null) : null),
    measures: async () => (current?.runs === true ? current.caller.call('measures', null) : null),
    async settle(ruleId) {
      // If they cannot be stored in time, the page is shown without them.
      const settling = current?.runs === true ? current.caller.call('settle', { ruleId }) : undefined;
      if (settling !== undefined)
        await within(
          clock,
          limits.history_read_wait_ms,
          settling.then(
            () => undefined,
            () => undefined,
          ),
        );
    },
    watch(ruleIds) {
      // Without an engine there is nothing to watch; a new one is told when it starts.
      current?.caller.call('watch', { ruleIds }).catch((error: unknown) => {
        log.warn('could not tell the engine which rules to watch', { error: String(error) });
      });
    },
    restarts: () => deaths,
    tickIntervalMs: limits.tick_interval_ms,
    async close() {
      closed = true;
      restartTimer?.cancel();
      const target = current;
      current = undefined;
      if (target === undefined) return;
      await drain(target.caller, limits, clock, log);
      target.caller.close(down());
      await target.thread.terminate();
    },
  };
}

/** Whatever an engine could not store is kept, or said to be lost. */
async function drain({ call }: Running['caller'], limits: AutomationLimits, clock: Clock, log: Log): Promise<void> {
  let left = 0;
  try {
    left = await call('drain', null);
    const rows = left;
    while (left > 0) left = await call('keep', null);
    if (rows > 0) log.warn('unsaved executions spooled until the database is back', { rows });
  } catch (error) {
    if (left > 0) log.error('executions lost: neither stored nor spooled', { rows: left, error: String(error) });
    else log.warn('the rule engine did not drain', { error: String(error) });
    return;
  }
  let reason: string | null = 'no answer';
  const closing = call('close', null).then(
    () => void (reason = null),
    (error: unknown) => void (reason = String(error)),
  );
  await within(clock, limits.engine_call_timeout_ms * closingShare, closing);
  if (reason !== null) log.warn('the rule engine did not close its files in time', { reason });
}
