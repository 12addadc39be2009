/**
 * The engine of a site that several processes serve: the client of this process's own engine while it controls, and otherwise
 * that of the one that does, asked through messages (docs/guides/several-machines.md). Handlers and stream see one engine.
 */
import Type, { type TSchema } from 'typebox';
import type { EngineClient } from '../automation/engine-client.ts';
import type { EngineEvent, SharedEngineMethods } from '../automation/engine-contract.ts';
import type { AutomationLimits } from '../automation/limits.ts';
import type { Clock } from '../base/clock.ts';
import { decoder } from '../base/decode.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { answerCalls, type Caller, callThread, type Handlers, type Port, sendEvent } from '../base/thread.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { Parameter } from '../site/catalogue.ts';
import type { Mailbox, News } from './mailbox.ts';

export interface EngineSeat extends EngineClient {
  /** From now on the engine is this one. */
  sit(client: EngineClient): void;
  /** No engine is here any more. */
  leave(): void;
  /** Takes the records of the engine that is here; passes them on to whoever watches. */
  publish(records: readonly ExecutionRecord[]): void;
}

export interface EngineSeatParts {
  readonly mailbox: Mailbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AutomationLimits;
  /** Records of watched rules, wherever they ran. */
  readonly onExecutions: (records: readonly ExecutionRecord[]) => void;
  /** Another process's engine runs: whatever it must be told again is told now. */
  readonly onStart: () => void;
  /** While no engine is here: some process changed rules, or took parameters of the site anew. */
  readonly onChange: (what: 'rules' | 'parameters') => void;
  /** Those that another process gave the engine that is here are in force from now on. */
  readonly useParameters: (parameters: Readonly<Record<string, Parameter>>) => void;
}

/** Whoever controls takes these. */
const engineName = 'engine';
/** What may be asked twice: a question that a process has fetched which died then is asked the one that follows it. */
const repeatable = ['reload', 'explain', 'writers', 'writeCycle', 'status', 'measures', 'watch'] as const;
/**
 * Without parameters: it would be too late for them where the engine that follows was given newer ones meanwhile. It has those
 * of its own file, which it read after the lease of the one before had ended.
 */
const reloadAgain = { ids: [], removed: [] };
/** Who asked within this time is believed to watch still; whoever watches says so more often. */
const watchLeaseMs = 10_000;
const watchRenewMs = 3000;

/** What other processes ask with: they may be of another version, and what is none of these would end the engine's thread. */
const numbers = Type.Array(Type.Integer());
const parameter = Type.Object({ value: Type.Number(), unit: Type.Optional(Type.String()) });
const understand = {
  reload: understanding(Type.Object({ parameters: Type.Optional(Type.Record(Type.String(), parameter)) })),
  execute: understanding(Type.Object({ ruleId: Type.Integer(), correlationId: Type.String() })),
  rule: understanding(Type.Object({ ruleId: Type.Integer() })),
  rules: understanding(Type.Object({ ruleIds: numbers })),
  points: understanding(Type.Object({ points: numbers })),
};

interface Watcher {
  readonly port: Port;
  ruleIds: ReadonlySet<number>;
  untilMs: number;
}

export function createEngineSeat(parts: EngineSeatParts): EngineSeat {
  const { mailbox, clock, log, limits } = parts;
  let local: EngineClient | undefined;
  let watched: readonly number[] = [];
  const toEngine: ((message: unknown) => void)[] = [];
  const callers = new Map<string, { readonly port: Port; deliver(message: unknown): void }>();
  const watchers = new Map<string, Watcher>();

  const post = (recipient: string, message: unknown): void => {
    mailbox.send(recipient, message).catch((error: unknown) => {
      // Its sender waits for an answer no longer than its deadline.
      log.debug('could not send a message to another process', { error: String(error) });
    });
  };
  const remote: Caller<SharedEngineMethods, EngineEvent> = callThread<SharedEngineMethods, EngineEvent>(
    {
      postMessage: (message) => post(engineName, message),
      on: (_event, listener) => toEngine.push(listener),
    },
    clock,
    limits.engine_call_timeout_ms,
  );
  const announce = (what: News): void => {
    mailbox.announce(what).catch((error: unknown) => {
      // Whoever stands by looks for changed rules now and then.
      log.debug('could not notify the other processes', { what, error: String(error) });
    });
  };
  mailbox.onNews((what) => {
    if (what === 'engine') {
      remote.repeat(repeatable, { reload: reloadAgain });
      if (local === undefined) parts.onStart();
    } else if (local === undefined) parts.onChange(what);
  });
  remote.onEvent((event) => {
    if (local === undefined) parts.onExecutions(event.records);
  });

  const here = (): EngineClient => {
    if (local === undefined) throw new Fault('engine-unavailable', 'the rule engine has just moved; try again');
    return local;
  };
  /** All that anybody watches, told to the engine that is here. */
  const watchAll = (): void => {
    const nowMs = clock.monotonicMs();
    for (const [name, watcher] of watchers) if (watcher.untilMs <= nowMs) watchers.delete(name);
    local?.watch([...new Set([...watched, ...[...watchers.values()].flatMap(({ ruleIds }) => [...ruleIds])])]);
  };
  /** What another process asks of the engine that is here. */
  const callerOf = (name: string) => {
    const known = callers.get(name);
    if (known !== undefined) return known;
    const deliveries: ((message: unknown) => void)[] = [];
    const port: Port = {
      postMessage: (message) => post(name, message),
      on: (_event, listener) => deliveries.push(listener),
    };
    const handlers: Handlers<SharedEngineMethods> = {
      async reload(change) {
        understand.reload(change);
        const report = await here().reload(change.parameters);
        if (change.parameters !== undefined) parts.useParameters(change.parameters);
        return report;
      },
      async execute(order) {
        understand.execute(order);
        return here().execute(order.ruleId, order.correlationId);
      },
      async explain(question) {
        understand.rules(question);
        return here().explain(question.ruleIds);
      },
      async writers(question) {
        understand.points(question);
        return here().writers(question.points);
      },
      async writeCycle(question) {
        understand.rule(question);
        return here().writeCycle(question.ruleId);
      },
      async status() {
        const status = await here().status();
        if (status === null) throw new Fault('engine-unavailable', 'the rule engine is not running; try again');
        return status;
      },
      async measures() {
        const measures = await here().measures();
        if (measures === null) throw new Fault('engine-unavailable', 'the rule engine is not running; try again');
        return measures;
      },
      watch(question) {
        understand.rules(question);
        watchers.set(name, { port, ruleIds: new Set(question.ruleIds), untilMs: clock.monotonicMs() + watchLeaseMs });
        watchAll();
        return null;
      },
    };
    answerCalls<SharedEngineMethods>(port, handlers, {
      refuse(error) {
        log.warn('cannot decode a request from another process', { sender: name, error: String(error) });
        return new Fault('engine-unavailable', 'the process that controls does not understand this request');
      },
    });
    const caller = { port, deliver: (message: unknown) => deliveries.forEach((each) => each(message)) };
    callers.set(name, caller);
    return caller;
  };
  mailbox.onMail(({ sender, message }) => {
    try {
      if (isCall(message)) callerOf(sender).deliver(message);
      else for (const listener of toEngine) listener(message);
    } catch (error) {
      log.warn('cannot decode a message from another process', { sender, error: String(error) });
    }
  });
  const renewWatch = (): void => {
    timer = clock.after(watchRenewMs, renewWatch);
    if (local !== undefined) watchAll();
    else if (watched.length > 0) remote.call('watch', { ruleIds: watched }).catch(() => undefined);
  };
  let timer = clock.after(watchRenewMs, renewWatch);

  return {
    sit(client) {
      local = client;
      mailbox.alsoFor(engineName, true);
      watchAll();
      announce('engine');
    },
    leave() {
      local = undefined;
      mailbox.alsoFor(engineName, false);
      callers.clear();
      watchers.clear();
    },
    publish(records) {
      parts.onExecutions(records);
      for (const { port, ruleIds } of watchers.values()) {
        const wanted = records.filter((record) => ruleIds.has(record.rule_id));
        if (wanted.length > 0) sendEvent(port, { type: 'executions', records: wanted } satisfies EngineEvent);
      }
    },
    open: async () => here().open(),
    async reload(parameters, changed) {
      announce(parameters === undefined ? 'rules' : 'parameters');
      return local === undefined
        ? remote.call('reload', { ...reloadAgain, ...(parameters === undefined ? {} : { parameters }) })
        : local.reload(parameters, changed);
    },
    execute: async (ruleId, correlationId) =>
      local === undefined ? remote.call('execute', { ruleId, correlationId }) : local.execute(ruleId, correlationId),
    explain: async (ruleIds) => (local === undefined ? remote.call('explain', { ruleIds }) : local.explain(ruleIds)),
    writers: async (points) => (local === undefined ? remote.call('writers', { points }) : local.writers(points)),
    writeCycle: async (ruleId) =>
      local === undefined ? remote.call('writeCycle', { ruleId }) : local.writeCycle(ruleId),
    async status() {
      if (local !== undefined) return local.status();
      try {
        return await remote.call('status', null);
      } catch (error) {
        if (error instanceof Fault) return null;
        throw error;
      }
    },
    measures: async () => (local === undefined ? null : local.measures()),
    // Over a database that processes share, runs are stored as they come.
    settle: async (ruleId) => local?.settle(ruleId),
    watch(ruleIds) {
      watched = ruleIds;
      if (local !== undefined) watchAll();
      else remote.call('watch', { ruleIds }).catch(() => undefined);
    },
    restarts: () => local?.restarts() ?? 0,
    tickIntervalMs: limits.tick_interval_ms,
    async close() {
      timer.cancel();
      remote.close(new Fault('engine-unavailable', 'the service is stopping'));
    },
  };
}

function isCall(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'tag' in message && message.tag === 'call';
}

/** Throws where a value is not what it should be. */
function understanding(schema: TSchema): (argument: unknown) => void {
  const decode = decoder(schema);
  return (argument) => {
    const decoded = decode(argument);
    if (!decoded.ok) throw new Error(decoded.issues.map(({ path, message }) => `${path}: ${message}`).join('; '));
  };
}
