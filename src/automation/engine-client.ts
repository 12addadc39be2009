/**
 * The main thread's side of the engine. It tracks which revisions the engine holds and sends the difference; if
 * the engine's thread dies it is restarted with the whole rule set, and its state is read from the runtime
 * database (ARCHITECTURE.md, "Threads").
 */
import { type Clock, type Timer, withTimeout } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { createTurn } from '../base/in-turn.ts';
import type { Log } from '../base/log.ts';
import { type Caller, callThread, type Port } from '../base/thread.ts';
import type { Grant } from '../rules/authority.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { AppliedGrant } from './authority-keeper.ts';
import type {
  AskedMethod,
  EngineEvent,
  EngineMethods,
  EngineRule,
  EngineStatus,
  ReloadReport,
} from './engine-contract.ts';
import { drainEngine } from './engine-drain.ts';
import type { EngineMeasures } from './engine-metrics.ts';
import type { AutomationLimits } from './limits.ts';
import type { SiteParameters } from './parameters-in-force.ts';
import { missingRules, nextStageSize, type Portion, portionSize, stageMaximum, stageMinimum } from './rule-portions.ts';
import type { EndedGrant } from './store/authority-store.ts';
import type { RuleHead } from './store/rule-store.ts';

/**
 * Share of `engine_call_timeout_ms` in which the engine must start an order, or drop it; the rest is for its answer, so that an
 * order answered with 503 is not carried out later [rules §2.5].
 */
const orderShare = 0.5;

/** A started engine thread, or its in-process twin. */
export interface EngineThread {
  readonly port: Port;
  onDeath(listener: (reason: string) => void): void;
  terminate(): Promise<void>;
}

/** Source of the rule set. */
interface StoredRules {
  heads(): Promise<RuleHead[]>;
  engineRules(ids: readonly number[]): Promise<EngineRule[]>;
}

export interface EngineClientParts {
  readonly start: (parameters: SiteParameters) => EngineThread;
  readonly rules: StoredRules;
  readonly parameters: SiteParameters;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AutomationLimits;
  readonly onExecutions: (records: readonly ExecutionRecord[]) => void;
  /** Overrides and limits have ended; each is reported again after a restart until `forget`. */
  readonly onGrantsEnded: (ended: readonly EndedGrant[]) => void;
  /** Called when a new engine runs, to send it the watched rules again. */
  readonly onStart: () => void;
  /** `reload` is retried: an engine continues with its rules while newer ones cannot be read. */
  readonly reloads?: boolean;
}

export interface EngineClient {
  /** Starts the engine with the stored rules. */
  open(): Promise<ReloadReport>;
  /** `parameters` are in force from now on; without them they do not change. `changed`: only these rules are read. */
  reload(parameters?: SiteParameters, changed?: readonly number[]): Promise<ReloadReport>;
  /** The stored values of parameters have changed: in this process these are in force from now on. */
  takeStored(parameters: SiteParameters): Promise<ReloadReport>;
  execute(ruleId: number, correlationId: string): Promise<ExecutionRecord>;
  /** Stores and applies an override or a limit before its deadline, or not at all. */
  grant(grant: Grant): Promise<AppliedGrant>;
  ask<M extends AskedMethod>(
    method: M,
    argument: Parameters<EngineMethods[M]>[0],
  ): Promise<ReturnType<EngineMethods[M]>>;
  /** Null while no engine runs. */
  status(): Promise<EngineStatus | null>;
  /** Pending runs of a rule are in the history afterwards, if an engine runs here and the store accepts them. */
  settle(ruleId: number): Promise<void>;
  /** Null while no engine runs. */
  measures(): Promise<EngineMeasures | null>;
  watch(ruleIds: readonly number[]): void;
  restarts(): number;
  readonly tickIntervalMs: number;
  /** Stores pending executions and ends the thread. */
  close(): Promise<void>;
}

/** The phases of an engine's start (docs/guides/several-machines.md). */
export interface ContendingEngine extends EngineClient {
  /** Starts the engine's thread and has it compile the stored rules. It reads no state and runs no rule. */
  standBy(): Promise<ReloadReport>;
  /** Has it load the stored states of the rules, which only this engine writes from now on. It runs no rule yet. */
  adopt(epoch: number, parameters: SiteParameters): Promise<ReloadReport>;
  /** Runs rules. */
  run(): Promise<void>;
  /**
   * Stores pending executions, ends the thread, runs `between`, which returns the parameters in force afterwards, and starts another
   * thread, which continues where the first one ended. In between no rule runs.
   */
  renew(between: () => Promise<SiteParameters>): Promise<ReloadReport>;
}

interface Running {
  readonly thread: EngineThread;
  readonly caller: Caller<EngineMethods, EngineEvent>;
  /** The parameters of this engine. */
  parameters: SiteParameters;
  /** Revision of each rule in this engine. */
  readonly held: Map<number, number>;
  /** More rules are to be loaded. */
  partial: boolean;
  /** Rules known to be missing, in loading order. */
  missing: number[];
  /** Of the last reload that it applied. */
  report: ReloadReport | undefined;
  rehearsed: boolean;
  adopted: boolean;
  runs: boolean;
}

/** After this uptime a crash is not part of a loop: the restart backoff starts again. */
const steadyMs = 30_000;

export function createEngineClient(parts: EngineClientParts): ContendingEngine {
  return new RestartedEngine(parts);
}

class RestartedEngine implements ContendingEngine {
  readonly #parts: EngineClientParts;
  readonly #clock;
  readonly #log;
  readonly #limits;
  #parameters;
  #current: Running | undefined;
  /** The target state of every engine, the running one and its successors. */
  readonly #wanted: { epoch: number | null | undefined; runs: boolean } = { epoch: undefined, runs: false };
  #restartTimer: Timer | undefined;
  #pauseMs;
  #deaths = 0;
  #closed = false;
  /** Reloads run one after the other, so that the engine's revisions are always known. */
  readonly #inTurn = createTurn();

  constructor(parts: EngineClientParts) {
    this.#parts = parts;
    const { clock, log, limits } = parts;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#parameters = parts.parameters;
    this.#pauseMs = this.#limits.engine_restart_ms;
  }

  open() {
    this.#wanted.epoch = null;
    this.#wanted.runs = true;
    return this.#start();
  }

  standBy(): Promise<ReloadReport> {
    return this.#start();
  }

  adopt(epoch: number, inForce: SiteParameters): Promise<ReloadReport> {
    this.#parameters = inForce;
    this.#wanted.epoch = epoch;
    return this.#inTurn(() => this.#bring(this.#alive()));
  }

  run(): Promise<void> {
    this.#wanted.runs = true;
    return this.#inTurn(() => this.#advance(this.#alive()));
  }

  reload(inForce?: SiteParameters, changed?: readonly number[]): Promise<ReloadReport> {
    if (inForce !== undefined) this.#parameters = inForce;
    return this.#inTurn(() => {
      const target = this.#alive();
      // Edits come before the rest of the load.
      target.missing = [];
      return this.#bring(target, changed);
    });
  }

  readonly takeStored = (inForce: SiteParameters): Promise<ReloadReport> => this.reload(inForce);

  async execute(ruleId: number, correlationId: string): Promise<ExecutionRecord> {
    const untilMs = this.#clock.monotonicMs() + this.#limits.engine_call_timeout_ms * orderShare;
    return this.#running().caller.call('execute', { ruleId, correlationId, untilMs });
  }

  async grant(grant: Grant): Promise<AppliedGrant> {
    const untilMs = this.#clock.monotonicMs() + this.#limits.engine_call_timeout_ms * orderShare;
    return this.#running().caller.call('grant', { grant, untilMs });
  }

  async ask<M extends AskedMethod>(method: M, argument: Parameters<EngineMethods[M]>[0]) {
    return this.#running().caller.call(method, argument);
  }

  async status(): Promise<EngineStatus | null> {
    return this.#current?.runs === true ? this.#current.caller.call('status', null) : null;
  }

  async measures(): Promise<EngineMeasures | null> {
    return this.#current?.runs === true ? this.#current.caller.call('measures', null) : null;
  }

  async settle(ruleId: number): Promise<void> {
    // If they cannot be stored in time, the page is shown without them.
    if (this.#current?.runs !== true) return;
    const over = (): undefined => undefined;
    const settling = this.#current.caller.call('settle', { ruleId }).then(over, over);
    await withTimeout(this.#clock, this.#limits.history_read_wait_ms, settling);
  }

  watch(ruleIds: readonly number[]): void {
    // Without an engine there is nothing to watch; a new one gets the list at its start.
    this.#current?.caller.call('watch', { ruleIds }).catch((error: unknown) => {
      this.#log.warn('could not tell the engine which rules to watch', { error: String(error) });
    });
  }

  readonly restarts = (): number => this.#deaths;

  get tickIntervalMs(): number {
    return this.#limits.tick_interval_ms;
  }

  async renew(between: () => Promise<SiteParameters>): Promise<ReloadReport> {
    await this.#end();
    try {
      this.#parameters = await between();
    } finally {
      // It may have been closed in the meantime. An engine that is not started here is started later.
      if (!this.#closed) this.#startOrRetry();
    }
    return this.reload();
  }

  async close() {
    this.#closed = true;
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#restartTimer?.cancel();
    const target = this.#current;
    this.#current = undefined;
    if (target === undefined) return;
    await drainEngine(target.caller, this.#limits, this.#clock, this.#log);
    target.caller.close(this.#down());
    await target.thread.terminate();
  }

  #down(): Fault {
    return new Fault('engine-unavailable', 'the rule engine is not running; try again');
  }

  #alive(): Running {
    if (this.#current === undefined) throw this.#down();
    return this.#current;
  }

  #running(): Running {
    const target = this.#alive();
    if (!target.runs) throw this.#down();
    return target;
  }

  /** The next portion of stored rules that an engine does not hold yet; null if it holds all. */
  async #nextPortion(target: Running, named: readonly number[] | undefined): Promise<Portion | null> {
    // Deleted ones show when they are read.
    if (named !== undefined && target.report !== undefined && !target.partial)
      return { ids: named, removed: [], partial: false };
    const count = portionSize(target.held.size);
    if (target.missing.length > 0) return { ids: target.missing.splice(0, count), removed: [], partial: true };
    const { ids, removed } = missingRules(await this.#parts.rules.heads(), target.held);
    const isComplete = ids.length === 0 && removed.length === 0;
    if (isComplete && target.report !== undefined && !target.partial) return null;
    target.missing = ids.slice(count);
    return { ids: ids.slice(0, count), removed, partial: target.missing.length > 0 };
  }

  /** Has the engine compile these rules, limited in bytes per call; returns their revisions. */
  async #stage(
    target: Running,
    ids: readonly number[],
    inForce: SiteParameters,
  ): Promise<(readonly [number, number])[]> {
    const revisions: (readonly [number, number])[] = [];
    let size = stageMinimum;
    for (let from = 0; from < ids.length; ) {
      const rows = await this.#parts.rules.engineRules(ids.slice(from, from + size));
      from += size;
      // A rule deleted between the two reads is not named; its own reload follows.
      for (const row of rows) revisions.push([row.id, row.revision]);
      await this.#orEnd(target, () => target.caller.call('stage', { rows, parameters: inForce }));
      const bytes = rows.reduce((sum, row) => sum + row.nodes_json.length, 0);
      size = nextStageSize(size, bytes);
    }
    return revisions;
  }

  /** Has the engine compile its rules for other parameters, before these come into force. */
  async #restage(target: Running, inForce: SiteParameters): Promise<void> {
    const ids = [...target.held.keys()];
    for (let from = 0; from < ids.length; from += stageMaximum) {
      const order = { rows: [], ids: ids.slice(from, from + stageMaximum), parameters: inForce };
      await this.#orEnd(target, () => target.caller.call('stage', order));
    }
  }

  async #sendRules(target: Running, named?: readonly number[]): Promise<ReloadReport> {
    const found = await this.#nextPortion(target, named).catch(async (error: unknown) => {
      if (this.#parts.reloads !== true && this.#current === target) await target.thread.terminate();
      throw error;
    });
    const inForce = this.#parameters;
    const changedParameters = JSON.stringify(target.parameters) !== JSON.stringify(inForce);
    if (found === null && !changedParameters && target.report !== undefined) return target.report;
    const staged = found === null ? [] : await this.#stage(target, found.ids, inForce);
    if (changedParameters) await this.#restage(target, inForce);
    const revisions = new Map(staged);
    // An edited rule that was deleted in the meantime is no longer held.
    const unread = (found?.ids ?? []).filter((id) => target.held.has(id) && !revisions.has(id));
    const removed = [...(found?.removed ?? []), ...unread];
    const partial = found?.partial ?? false;
    const change = { ids: [...revisions.keys()], removed, partial };
    const report = await this.#orEnd(target, () =>
      target.caller.call('reload', changedParameters ? { ...change, parameters: inForce } : change),
    );
    target.parameters = inForce;
    for (const id of removed) target.held.delete(id);
    for (const [id, revision] of staged) target.held.set(id, revision);
    target.partial = partial;
    target.report = report;
    return report;
  }

  /** An unresponsive engine may still run the old rules: end it and start a new one. */
  async #orEnd<T>(target: Running, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // Unavailable storage is not the engine's fault: it stays warm for when the storage is back.
      const patient = this.#parts.reloads === true && error instanceof Fault && error.code === 'storage-unavailable';
      if (this.#current === target && !patient) await target.thread.terminate();
      throw error;
    }
  }

  /** Gives an engine the states, once, and lets it run, as far as its phase allows. */
  async #advance(target: Running): Promise<void> {
    const { epoch } = this.#wanted;
    if (epoch === undefined && !target.rehearsed) {
      await this.#orEnd(target, () => target.caller.call('rehearse', null));
      target.rehearsed = true;
    }
    if (epoch !== undefined && !target.adopted) {
      target.report = await this.#orEnd(target, () => target.caller.call('adopt', { epoch }));
      target.adopted = true;
    }
    if (!this.#wanted.runs || !target.adopted || target.runs) return;
    await this.#orEnd(target, () => target.caller.call('run', null));
    target.runs = true;
    this.#parts.onStart();
  }

  async #bring(target: Running, named?: readonly number[]): Promise<ReloadReport> {
    const report = await this.#sendRules(target, named);
    // A standby is useful only when it is completely ready; a leader starts with the rules it has.
    if (target.partial && this.#wanted.epoch === undefined) return this.#bring(target);
    await this.#advance(target);
    if (target.partial) this.#loadOn(target);
    return target.report ?? report;
  }

  /** The next portion, in turn: pending reloads come first. */
  #loadOn(target: Running): void {
    this.#clock.soon(() => {
      if (this.#current !== target || this.#closed) return;
      this.#inTurn(async () =>
        this.#current === target && target.partial ? void (await this.#bring(target)) : undefined,
      ).catch((error: unknown) => {
        this.#log.warn('cannot load all stored rules yet', { error: String(error) });
        if (this.#current === target) this.#clock.after(this.#limits.engine_restart_max_ms, () => this.#loadOn(target));
      });
    });
  }

  #died(target: Running, startedMs: number, reason: string): void {
    target.caller.close(this.#down());
    if (this.#current !== target) return;
    this.#current = undefined;
    if (this.#closed) return;
    this.#deaths++;
    if (this.#clock.monotonicMs() - startedMs > steadyMs) this.#pauseMs = this.#limits.engine_restart_ms;
    this.#restartLater('rule engine failed; restarting it', reason);
  }

  #restartLater(what: string, reason: string): void {
    this.#log.error(what, { reason, pauseMs: this.#pauseMs });
    this.#restartTimer = this.#clock.after(this.#pauseMs, () => {
      this.#restartTimer = undefined;
      this.#startOrRetry();
    });
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#limits.engine_restart_max_ms);
  }

  #startOrRetry(): void {
    try {
      this.#start().catch((error: unknown) =>
        this.#log.error('the rule engine could not start', { error: String(error) }),
      );
    } catch (error) {
      // The thread could not be created: too many threads, or too little memory.
      this.#restartLater('cannot start the rule engine thread; retrying', String(error));
    }
  }

  readonly #start = (): Promise<ReloadReport> => {
    const { start, onExecutions, onGrantsEnded } = this.#parts;
    const thread = start(this.#parameters);
    const { engine_call_timeout_ms: timeoutMs } = this.#limits;
    const caller = callThread<EngineMethods, EngineEvent>(thread.port, this.#clock, timeoutMs);
    const target: Running = {
      thread,
      caller,
      parameters: this.#parameters,
      held: new Map(),
      partial: true,
      missing: [],
      report: undefined,
      rehearsed: false,
      adopted: false,
      runs: false,
    };
    const startedMs = this.#clock.monotonicMs();
    caller.onEvent((event) => (event.type === 'executions' ? onExecutions(event.records) : onGrantsEnded(event.ended)));
    thread.onDeath((reason) => this.#died(target, startedMs, reason));
    this.#current = target;
    return this.#inTurn(() => this.#bring(target));
  };
}
