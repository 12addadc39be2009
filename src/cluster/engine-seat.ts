/**
 * The engine of a site with several processes: the client of the local engine while this process leads, and otherwise
 * that of the leader, through messages (docs/guides/several-machines.md). Handlers and stream use one engine.
 */
import Type, { type TSchema } from 'typebox';
import type { AppliedGrant } from '../automation/authority-keeper.ts';
import type { EngineClient } from '../automation/engine-client.ts';
import type {
  AskedMethod,
  EngineEvent,
  EngineMethods,
  EngineStatus,
  ReloadReport,
  SharedEngineMethods,
} from '../automation/engine-contract.ts';
import type { EngineMeasures } from '../automation/engine-metrics.ts';
import type { AutomationLimits } from '../automation/limits.ts';
import type { ParametersInForce, SiteParameters } from '../automation/parameters-in-force.ts';
import type { Clock } from '../base/clock.ts';
import { decoder } from '../base/decode.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { answerCalls, type Caller, callThread, type Handlers, type Port, sendEvent } from '../base/thread.ts';
import type { Grant } from '../rules/authority.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { Mailbox, News } from './mailbox.ts';

export interface EngineSeat extends EngineClient {
  /** From now on the engine is this one. */
  sit(client: EngineClient): void;
  /** There is no local engine any more. */
  leave(): void;
  /** Receives the records of the local engine; passes them on to the watching processes. */
  publish(records: readonly ExecutionRecord[]): void;
}

export interface EngineSeatParts {
  readonly mailbox: Mailbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AutomationLimits;
  /** Records of watched rules, from any process. */
  readonly onExecutions: (records: readonly ExecutionRecord[]) => void;
  /** Called when another process's engine runs, to send it the watched rules again. */
  readonly onStart: () => void;
  /** Without a local engine: another process changed rules, or applied parameters of the site. */
  readonly onChange: (what: 'rules' | 'parameters') => void;
  readonly parameters: Pick<ParametersInForce, 'renew' | 'current'>;
}

/** The mailbox of the leader. */
const engineName = 'engine';
/** Calls that may be repeated: if the process that fetched one dies, the next leader is called. */
const repeatable = [
  'reload',
  'explain',
  'explainAsText',
  'writers',
  'writeCycle',
  'troubles',
  'unusableInputs',
  'failedCommands',
  'grants',
  'authority',
  'sample',
  'status',
  'measures',
  'watch',
] as const;
/**
 * Without parameters: they might be older than those of the next engine, which has the
 * parameters of its own file, read after the lease of the previous leader had ended.
 */
const reloadAgain = { ids: [], removed: [] };
/** A process counts as watching for this long after it last asked; watchers repeat the question more often. */
const watchLeaseMs = 10_000;
const watchRenewMs = 3000;

/** Calls by other processes: they may run another version, and an unexpected error would end the engine's thread. */
const numbers = Type.Array(Type.Integer());
const parameter = Type.Object({ value: Type.Number(), unit: Type.Optional(Type.String()) });
const facts = {
  id: Type.String(),
  instance: Type.Integer(),
  point: Type.Integer(),
  fromMs: Type.Number(),
  untilMs: Type.Number(),
  by: Type.Object({ kind: Type.String(), id: Type.String() }),
  reason: Type.String(),
};
const pointRef = Type.Object({ instance: Type.Integer(), point_type: Type.String(), point: Type.Integer() });
const bound = Type.Union([Type.Number(), Type.Null()]);
const grant = Type.Union([
  Type.Object({ kind: Type.Literal('override'), value: Type.Number(), ...facts }),
  Type.Object({ kind: Type.Literal('limit'), min: bound, max: bound, ...facts }),
]);
const understand = {
  reload: understanding(Type.Object({ parameters: Type.Optional(Type.Record(Type.String(), parameter)) })),
  execute: understanding(Type.Object({ ruleId: Type.Integer(), correlationId: Type.String() })),
  rule: understanding(Type.Object({ ruleId: Type.Integer() })),
  rules: understanding(Type.Object({ ruleIds: numbers })),
  points: understanding(Type.Object({ points: Type.Array(pointRef) })),
  known: understanding(Type.Object({ known: Type.String() })),
  troubles: understanding(Type.Object({ runs: Type.Integer(), ms: Type.Number() })),
  id: understanding(Type.Object({ id: Type.String() })),
  ids: understanding(Type.Object({ ids: Type.Array(Type.String()) })),
  grant: understanding(Type.Object({ grant })),
};

interface Watcher {
  readonly port: Port;
  ruleIds: ReadonlySet<number>;
  untilMs: number;
}

export function createEngineSeat(parts: EngineSeatParts): EngineSeat {
  return new ContendedSeat(parts);
}

class ContendedSeat implements EngineSeat {
  readonly #parts: EngineSeatParts;
  readonly #mailbox;
  readonly #clock;
  readonly #log;
  readonly #limits;
  #local: EngineClient | undefined;
  #watched: readonly number[] = [];
  readonly #toEngine: ((message: unknown) => void)[] = [];
  readonly #callers = new Map<string, { readonly port: Port; deliver(message: unknown): void }>();
  readonly #watchers = new Map<string, Watcher>();
  readonly #remote: Caller<SharedEngineMethods, EngineEvent>;
  #timer;

  constructor(parts: EngineSeatParts) {
    this.#parts = parts;
    const { mailbox, clock, log, limits } = parts;
    this.#mailbox = mailbox;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#remote = callThread<SharedEngineMethods, EngineEvent>(
      {
        postMessage: (message) => this.#post(engineName, message),
        on: (_event, listener) => this.#toEngine.push(listener),
      },
      this.#clock,
      this.#limits.engine_call_timeout_ms,
    );
    this.#mailbox.onNews((what) => {
      if (what === 'engine') {
        this.#remote.repeat(repeatable, { reload: reloadAgain });
        if (this.#local === undefined) parts.onStart();
      } else if (this.#local === undefined) parts.onChange(what);
    });
    this.#remote.onEvent((event) => {
      if (this.#local === undefined && event.type === 'executions') parts.onExecutions(event.records);
    });
    this.#mailbox.onMail(({ sender, message }) => {
      try {
        if (isCall(message)) this.#callerOf(sender).deliver(message);
        else for (const listener of this.#toEngine) listener(message);
      } catch (error) {
        this.#log.warn('cannot decode a message from another process', { sender, error: String(error) });
      }
    });
    this.#timer = this.#clock.after(watchRenewMs, this.#renewWatch);
  }

  sit(client: EngineClient): void {
    this.#local = client;
    this.#mailbox.alsoFor(engineName, true);
    this.#watchAll();
    this.#announce('engine');
  }

  leave(): void {
    this.#local = undefined;
    this.#mailbox.alsoFor(engineName, false);
    this.#callers.clear();
    this.#watchers.clear();
  }

  publish(records: readonly ExecutionRecord[]): void {
    this.#parts.onExecutions(records);
    for (const { port, ruleIds } of this.#watchers.values()) {
      const wanted = records.filter((record) => ruleIds.has(record.rule_id));
      if (wanted.length > 0) sendEvent(port, { type: 'executions', records: wanted } satisfies EngineEvent);
    }
  }

  async open(): Promise<ReloadReport> {
    return this.#here().open();
  }

  async reload(parameters?: SiteParameters, changed?: readonly number[]): Promise<ReloadReport> {
    this.#announce(parameters === undefined ? 'rules' : 'parameters');
    return this.#local === undefined
      ? this.#remote.call('reload', { ...reloadAgain, ...(parameters === undefined ? {} : { parameters }) })
      : this.#local.reload(parameters, changed);
  }

  /** The leader reads them itself: of two concurrent changes, its last read finds both. */
  async takeStored(parameters: SiteParameters): Promise<ReloadReport> {
    this.#announce('parameters');
    return this.#local === undefined ? this.#remote.call('reload', reloadAgain) : this.#local.reload(parameters);
  }

  async execute(ruleId: number, correlationId: string): Promise<ExecutionRecord> {
    return this.#local === undefined
      ? this.#remote.call('execute', { ruleId, correlationId })
      : this.#local.execute(ruleId, correlationId);
  }

  async grant(grant: Grant): Promise<AppliedGrant> {
    if (this.#local !== undefined) return this.#local.grant(grant);
    // A leader of an older version does not return the times.
    return { granted: grant, ...(await this.#remote.call('grant', { grant })) };
  }

  async ask<M extends AskedMethod>(method: M, argument: Parameters<EngineMethods[M]>[0]) {
    if (this.#local !== undefined) return this.#local.ask(method, argument);
    const remote: Caller<EngineMethods, EngineEvent> = this.#remote;
    const answer = await remote.call(method, argument);
    if (method === 'sample' && !isNumbered(answer))
      throw new Fault(
        'engine-unavailable',
        'the leader runs another version: install the same version on all machines',
      );
    return answer;
  }

  async status(): Promise<EngineStatus | null> {
    if (this.#local !== undefined) return this.#local.status();
    try {
      return await this.#remote.call('status', null);
    } catch (error) {
      if (error instanceof Fault) return null;
      throw error;
    }
  }

  async measures(): Promise<EngineMeasures | null> {
    return this.#local === undefined ? null : this.#local.measures();
  }

  // Over a shared database, runs are stored at once.
  async settle(ruleId: number): Promise<void> {
    return this.#local?.settle(ruleId);
  }

  watch(ruleIds: readonly number[]): void {
    this.#watched = ruleIds;
    if (this.#local !== undefined) this.#watchAll();
    else this.#remote.call('watch', { ruleIds }).catch(() => undefined);
  }

  restarts() {
    return this.#local?.restarts() ?? 0;
  }

  get tickIntervalMs(): number {
    return this.#limits.tick_interval_ms;
  }

  async close() {
    this.#timer.cancel();
    this.#remote.close(new Fault('engine-unavailable', 'the service is stopping'));
  }

  #post(recipient: string, message: unknown): void {
    this.#mailbox.send(recipient, message).catch((error: unknown) => {
      // Its sender waits for an answer no longer than its deadline.
      this.#log.debug('could not send a message to another process', { error: String(error) });
    });
  }

  #announce(what: News): void {
    this.#mailbox.announce(what).catch((error: unknown) => {
      // A standby polls for changed rules, in case a notification was lost.
      this.#log.debug('could not notify the other processes', { what, error: String(error) });
    });
  }

  #here(): EngineClient {
    if (this.#local === undefined) throw new Fault('engine-unavailable', 'the rule engine has just moved; try again');
    return this.#local;
  }

  /** All watched rules, sent to the local engine. */
  #watchAll(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [name, watcher] of this.#watchers) if (watcher.untilMs <= nowMs) this.#watchers.delete(name);
    this.#local?.watch([
      ...new Set([...this.#watched, ...[...this.#watchers.values()].flatMap(({ ruleIds }) => [...ruleIds])]),
    ]);
  }

  /** Calls by other processes on the local engine. */
  #callerOf(name: string) {
    const known = this.#callers.get(name);
    if (known !== undefined) return known;
    const deliveries: ((message: unknown) => void)[] = [];
    const port: Port = {
      postMessage: (message) => this.#post(name, message),
      on: (_event, listener) => deliveries.push(listener),
    };
    const handlers: Handlers<SharedEngineMethods> = {
      reload: async (change) => {
        understand.reload(change);
        // This process asked before it led. Its change holds the turn, and the takeover has read the value.
        if (name === this.#mailbox.name) return this.#here().reload();
        const { parameters } = this.#parts;
        const inFile = () => change.parameters ?? parameters.current();
        const { taken } = await parameters.renew((inForce) => this.#here().reload(inForce), inFile);
        return taken;
      },
      execute: async (order) => {
        understand.execute(order);
        return this.#here().execute(order.ruleId, order.correlationId);
      },
      explain: async (question) => {
        understand.rules(question);
        return this.#here().ask('explain', question);
      },
      explainAsText: async (question) => {
        understand.rules(question);
        return this.#here().ask('explainAsText', question);
      },
      writers: async (question) => {
        understand.points(question);
        return this.#here().ask('writers', question);
      },
      writeCycle: async (question) => {
        understand.rule(question);
        return this.#here().ask('writeCycle', question);
      },
      troubles: async (question) => {
        understand.troubles(question);
        return this.#here().ask('troubles', question);
      },
      unusableInputs: () => this.#here().ask('unusableInputs', null),
      failedCommands: () => this.#here().ask('failedCommands', null),
      grant: async (order) => {
        understand.grant(order);
        return this.#here().grant(byClock(order.grant, this.#clock));
      },
      release: async (order) => {
        understand.id(order);
        return this.#here().ask('release', order);
      },
      forget: async (order) => {
        understand.ids(order);
        return this.#here().ask('forget', order);
      },
      sample: async (question) => {
        understand.known(question);
        return this.#here().ask('sample', question);
      },
      grants: async () => this.#here().ask('grants', null),
      authority: async (question) => {
        understand.points(question);
        return this.#here().ask('authority', question);
      },
      status: async () => {
        const status = await this.#here().status();
        if (status === null) throw new Fault('engine-unavailable', 'the rule engine is not running; try again');
        return status;
      },
      measures: async () => {
        const measures = await this.#here().measures();
        if (measures === null) throw new Fault('engine-unavailable', 'the rule engine is not running; try again');
        return measures;
      },
      watch: (question) => {
        understand.rules(question);
        this.#watchers.set(name, {
          port,
          ruleIds: new Set(question.ruleIds),
          untilMs: this.#clock.monotonicMs() + watchLeaseMs,
        });
        this.#watchAll();
        return null;
      },
    };
    answerCalls<SharedEngineMethods>(port, handlers, {
      refuse: (error) => {
        this.#log.warn('cannot decode a request from another process', { sender: name, error: String(error) });
        return new Fault('engine-unavailable', 'the leader does not support this request');
      },
    });
    const caller = { port, deliver: (message: unknown) => deliveries.forEach((each) => each(message)) };
    this.#callers.set(name, caller);
    return caller;
  }

  readonly #renewWatch = (): void => {
    this.#timer = this.#clock.after(watchRenewMs, this.#renewWatch);
    if (this.#local !== undefined) this.#watchAll();
    else if (this.#watched.length > 0) this.#remote.call('watch', { ruleIds: this.#watched }).catch(() => undefined);
  };
}

/** Of the same duration from now on: the clock of its sender may be wrong. */
function byClock(given: Grant, clock: Clock): Grant {
  const fromMs = clock.wallMs();
  return { ...given, fromMs, untilMs: fromMs + given.untilMs - given.fromMs };
}

function isCall(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'tag' in message && message.tag === 'call';
}

/** Values without their numbering might be taken for those of other points. */
function isNumbered(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'numbering' in answer;
}

/** Throws for an invalid value. */
function understanding(schema: TSchema): (argument: unknown) => void {
  const decode = decoder(schema);
  return (argument) => {
    const decoded = decode(argument);
    if (!decoded.ok) throw new Error(decoded.issues.map(({ path, message }) => `${path}: ${message}`).join('; '));
  };
}
