/**
 * The engine as the main thread sees it. It remembers which revisions the engine holds and sends the difference; when
 * the engine's thread dies it is started again with the whole rule set, and its state comes back from the runtime
 * database (house, "Threads").
 */
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { type Caller, callThread, type Port } from '../base/thread.ts';
import type { Parameter } from '../rules/catalogue.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type {
  EngineEvent,
  EngineMethods,
  EngineRule,
  EngineStatus,
  PointWriter,
  ReloadReport,
  RuleStatus,
} from './engine-contract.ts';
import type { AutomationLimits } from './limits.ts';
import type { EngineMeasures } from './measures.ts';

/** A started engine thread, or its twin. */
export interface EngineThread {
  readonly port: Port;
  onDeath(listener: (reason: string) => void): void;
  terminate(): Promise<void>;
}

/** Where the client reads the rule set. */
export interface RuleSource {
  heads(): Promise<{ id: number; revision: number }[]>;
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
}

export interface EngineClient {
  /** Starts the engine's thread, which runs no rule before `open`: for whoever is about to need it. */
  prepare(): void;
  /** Starts the engine with the stored rules. */
  open(): Promise<ReloadReport>;
  reload(parameters?: Readonly<Record<string, Parameter>>): Promise<ReloadReport>;
  execute(ruleId: number, correlationId: string): Promise<ExecutionRecord>;
  explain(ruleIds: readonly number[]): Promise<(RuleStatus | null)[]>;
  writers(points: readonly number[]): Promise<PointWriter[]>;
  /** Null while no engine runs. */
  status(): Promise<EngineStatus | null>;
  /** Null while no engine runs. */
  measures(): Promise<EngineMeasures | null>;
  watch(ruleIds: readonly number[]): void;
  restarts(): number;
  readonly tickIntervalMs: number;
  /** Stores what waits and ends the thread. */
  close(): Promise<void>;
}

interface Running {
  readonly thread: EngineThread;
  readonly caller: Caller<EngineMethods, EngineEvent>;
  /** Revision of each rule that this engine holds. */
  held: ReadonlyMap<number, number>;
}

/** An engine that lived this long is not dying in a loop: the pause before its restart starts small again. */
const steadyMs = 30_000;

export function createEngineClient(parts: EngineClientParts): EngineClient {
  const { clock, log, limits } = parts;
  let parameters = parts.parameters;
  let current: Running | undefined;
  let prepared: EngineThread | undefined;
  let restartTimer: Timer | undefined;
  let pauseMs = limits.engine_restart_ms;
  let deaths = 0;
  let closed = false;
  /** Reloads run one after the other, so that what the engine holds is always known. */
  let reloading: Promise<unknown> = Promise.resolve();

  const down = (): Fault => new Fault('engine-unavailable', 'the rule engine is not running; try again');
  const running = (): Running => {
    if (current === undefined) throw down();
    return current;
  };

  const sendRules = async (target: Running, changedParameters: boolean): Promise<ReloadReport> => {
    const heads = await parts.rules.heads();
    const changedIds = heads.filter(({ id, revision }) => target.held.get(id) !== revision).map(({ id }) => id);
    const changed = await parts.rules.engineRules(changedIds);
    // A rule that was deleted between the two reads is not named; its own reload follows.
    const found = new Map(changed.map((rule) => [rule.id, rule.revision]));
    const asked = new Set(changedIds);
    const held = new Map<number, number>();
    for (const { id } of heads) {
      const revision = found.get(id) ?? (asked.has(id) ? undefined : target.held.get(id));
      if (revision !== undefined) held.set(id, revision);
    }
    const change = { ids: [...held.keys()], changed, ...(changedParameters ? { parameters } : {}) };
    const report = await target.caller.call('reload', change);
    target.held = held;
    return report;
  };
  /** An engine that does not take a reload would run on with old rules: it is ended and started anew. */
  const sendOrEnd = async (target: Running, changedParameters: boolean): Promise<ReloadReport> => {
    try {
      return await sendRules(target, changedParameters);
    } catch (error) {
      if (current === target) await target.thread.terminate();
      throw error;
    }
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
    log.error('the rule engine died and is started again', { reason, pauseMs });
    restartTimer = clock.after(pauseMs, () => {
      restartTimer = undefined;
      start().catch((error: unknown) => log.error('the rule engine could not start', { error: String(error) }));
    });
    pauseMs = Math.min(pauseMs * 2, limits.engine_restart_max_ms);
  };

  const start = (): Promise<ReloadReport> => {
    const thread = prepared ?? parts.start(parameters);
    prepared = undefined;
    const caller = callThread<EngineMethods, EngineEvent>(thread.port, clock, limits.engine_call_timeout_ms);
    const target: Running = { thread, caller, held: new Map() };
    const startedMs = clock.monotonicMs();
    caller.onEvent((event) => parts.onExecutions(event.records));
    thread.onDeath((reason) => died(target, startedMs, reason));
    current = target;
    return inTurn(async () => {
      const report = await sendOrEnd(target, false);
      parts.onStart();
      return report;
    });
  };

  return {
    prepare() {
      prepared ??= parts.start(parameters);
    },
    open: start,
    reload(changed) {
      if (changed !== undefined) parameters = changed;
      return inTurn(() => sendOrEnd(running(), changed !== undefined));
    },
    execute: async (ruleId, correlationId) => running().caller.call('execute', { ruleId, correlationId }),
    explain: async (ruleIds) => running().caller.call('explain', { ruleIds }),
    writers: async (points) => running().caller.call('writers', { points }),
    status: async () => (current === undefined ? null : current.caller.call('status', null)),
    measures: async () => (current === undefined ? null : current.caller.call('measures', null)),
    watch(ruleIds) {
      // Without an engine there is nothing to watch; a new one is told when it starts.
      current?.caller.call('watch', { ruleIds }).catch((error: unknown) => {
        log.warn('the engine was not told what to watch', { error: String(error) });
      });
    },
    restarts: () => deaths,
    tickIntervalMs: limits.tick_interval_ms,
    async close() {
      closed = true;
      restartTimer?.cancel();
      await prepared?.terminate();
      prepared = undefined;
      const target = current;
      current = undefined;
      if (target === undefined) return;
      try {
        await target.caller.call('drain', null);
      } catch (error) {
        log.warn('the rule engine did not drain', { error: String(error) });
      }
      target.caller.close(down());
      await target.thread.terminate();
    },
  };
}
