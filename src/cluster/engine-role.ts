/**
 * What controls a site: device layer and rule engine, started together and ended together. On the embedded database they run
 * as long as the process does. On a shared one they run while this process holds the lease (docs/guides/several-machines.md);
 * otherwise it stands by, and its requests are answered by the process that controls.
 */
import { hostname } from 'node:os';
import { type ContendingEngine, createEngineClient, type EngineClient } from '../automation/engine-client.ts';
import type { ReloadReport } from '../automation/engine-contract.ts';
import type { HistoryStore } from '../automation/history-store.ts';
import type { AutomationLimits } from '../automation/limits.ts';
import type { LiveStream } from '../automation/live-stream.ts';
import { recordSpool } from '../automation/record-spool.ts';
import type { RuleStore } from '../automation/rule-store.ts';
import { startEngineWorker } from '../automation/start-engine.ts';
import { sleep, systemClock, type Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { type Repeated, repeatedly } from '../base/repeatedly.ts';
import { type DeviceLayer, startDeviceLayer } from '../devices/device-layer.ts';
import type { DeviceLimits } from '../devices/limits.ts';
import { type PointMemory, setLease } from '../points/shared-memory.ts';
import type { Parameter } from '../site/catalogue.ts';
import type { Site } from '../site/site.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { PostgresPlace } from '../storage/postgres.ts';
import { createEngineSeat } from './engine-seat.ts';
import { holdLease } from './lease.ts';
import { openMailbox } from './mailbox.ts';
import type { SharedRecording } from './shared-recording.ts';

/** What a process that may control is started with. */
export interface RoleSettings {
  readonly dataDir: string;
  readonly configDir: string;
  readonly logLevel: LogLevel;
  /** Secrets of channels stand in the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly roles: { readonly engine: boolean };
}

export interface EngineRoleParts {
  readonly config: RoleSettings;
  readonly site: Site;
  readonly memory: PointMemory;
  readonly limits: { readonly automation: AutomationLimits; readonly devices: DeviceLimits };
  readonly store: RuleStore;
  readonly stream: Pick<LiveStream, 'publish' | 'renew'>;
  /** Of the rules' history and state. */
  readonly runtime: DatabasePlace;
  readonly history: Pick<HistoryStore, 'restore'>;
  /** Of measurements, while this process controls a site that is shared. */
  readonly recording: () => Pick<SharedRecording, 'begin' | 'end'> | null;
  /** Those in force now: a reload may have changed them. */
  readonly parameters: () => Readonly<Record<string, Parameter>>;
  /** Reads them from site.yaml; throws a Fault when that is not valid now. */
  readonly readParameters: () => Promise<Readonly<Record<string, Parameter>>>;
  /** Makes them those in force. */
  readonly useParameters: (parameters: Readonly<Record<string, Parameter>>) => void;
  readonly log: Log;
}

export interface EngineRole {
  readonly engine: EngineClient;
  /** While another process controls: up, with nothing to do. */
  readonly devices: Pick<DeviceLayer, 'up' | 'counts' | 'channels'>;
  /** Starts it; what was loaded, or null while another process controls. */
  open(): Promise<ReloadReport | null>;
  stop(): Promise<void>;
}

type ParametersInForce = ReturnType<EngineRoleParts['parameters']>;

/** How often executions are tried to be stored that were kept while the database was away. */
const spoolPollMs = 2000;
/** How often an engine looks for changed rules that nobody told it of. */
const rulesPollMs = 2000;
/** Pause before threads that start are asked again whether they are ready. */
const readyRetryMs = 500;
/** Pause before threads that could not be started are started again. */
const standByRetryMs = 500;
/** Pause before the states of the rules are asked for again. */
const adoptRetryMs = 100;

export function engineRole(parts: EngineRoleParts): EngineRole {
  const { runtime } = parts;
  return typeof runtime === 'string' ? ownRole(parts) : sharedRole(parts, runtime);
}

function startDevices({ config, site, memory, limits, log }: EngineRoleParts, idle: boolean): DeviceLayer {
  const { configDir, dataDir, logLevel } = config;
  return startDeviceLayer({
    site,
    memory,
    clock: systemClock,
    log: log.with({ area: 'devices' }),
    logLevel,
    limits: limits.devices,
    idle,
    configDir,
    dataDir,
    secret: (variable) => config.env[variable],
  });
}

function createClient(
  parts: EngineRoleParts,
  database: DatabasePlace,
  onExecutions: LiveStream['publish'],
  onStart: () => void,
): ContendingEngine {
  const { config, site, memory, limits } = parts;
  const setup = { memory, database, dataFolder: config.dataDir, limits: limits.automation };
  return createEngineClient({
    start: (parameters) => startEngineWorker({ ...setup, site: { ...site, parameters } }, config.logLevel),
    rules: parts.store,
    parameters: parts.parameters(),
    clock: systemClock,
    log: parts.log.with({ area: 'automation' }),
    limits: limits.automation,
    onExecutions,
    onStart,
    reloads: typeof database !== 'string',
  });
}

function ownRole(parts: EngineRoleParts): EngineRole {
  const devices = startDevices(parts, false);
  const spool = storeSpool(parts);
  const engine = createClient(parts, parts.runtime, parts.stream.publish, parts.stream.renew);
  return {
    engine,
    devices,
    open: () => engine.open(),
    async stop() {
      spool.cancel();
      await engine.close();
      await devices.stop();
    },
  };
}

/** Threads that are ready to control, or do. */
interface Standing {
  readonly client: ContendingEngine;
  readonly devices: DeviceLayer;
  readonly poll: Repeated;
}

function sharedRole(parts: EngineRoleParts, place: PostgresPlace): EngineRole {
  const { memory, config, limits, stream } = parts;
  const log = parts.log.with({ area: 'lease' });
  const name = `${hostname()}-${newId()}`;
  setLease(memory, 0);
  const mailbox = openMailbox(place, { name, clock: systemClock, log });
  const seat = createEngineSeat({
    mailbox,
    clock: systemClock,
    log,
    limits: limits.automation,
    onExecutions: stream.publish,
    onStart: stream.renew,
    onChange: (what) => void follow(what),
    useParameters: parts.useParameters,
  });
  const spool = storeSpool(parts);
  /** The term that this process is in: the next to control, or controlling. */
  let term: number | undefined;
  let stopping = false;
  /** One begins after the other has ended. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (task: () => Promise<void>): Promise<void> => {
    turn = turn.then(task).catch((error: unknown) => {
      log.error('handover failed', { error: String(error) });
    });
    return turn;
  };

  /** An engine that controls is told those of the reload that changed them. */
  const ownParameters = () => (term === undefined ? parts.parameters() : undefined);
  /** Threads started and rules compiled, so that a takeover waits for neither. No device is touched, no state either. */
  const standBy = (): Standing => {
    const devices = startDevices(parts, true);
    try {
      const client = createClient(parts, place, seat.publish, stream.renew);
      const ready = client.standBy();
      ready.catch((error: unknown) => log.debug('the rule engine is not ready yet', { error: String(error) }));
      const started: Standing = { client, devices, poll: pollRules(client, log, ownParameters) };
      void tellWhenReady(started);
      return started;
    } catch (error) {
      void inTurn(() => devices.terminate());
      throw error;
    }
  };
  const tellWhenReady = async (started: Standing): Promise<void> => {
    for (;;) {
      try {
        // A thread that is asked something answers once it runs.
        const [rules] = await Promise.all([started.client.reload(), started.devices.counts()]);
        if (term === undefined) log.info('this process stands by', { ...rules });
        return;
      } catch {
        await sleep(systemClock, readyRetryMs);
      }
      if (stopping || standing !== started) return;
    }
  };
  let standing = config.roles.engine ? standBy() : undefined;

  /** The last holder may have been told of others than this process: what is in the file is what an operator wants. */
  const readParameters = async (): Promise<void> => {
    try {
      parts.useParameters(await parts.readParameters());
    } catch (error) {
      const issues = error instanceof Fault ? error.details : undefined;
      log.warn('cannot reload parameters; keeping the previous values', {
        error: String(error),
        ...issues,
      });
    }
  };
  /** What another process changed is taken up at once, so that nothing is left to do at a takeover. */
  const follow = async (what: 'rules' | 'parameters'): Promise<void> => {
    if (what === 'parameters') await readParameters();
    standing?.poll.now();
  };
  /** The last holder's states are final: the epoch fences it off. Without a lease no command leaves. */
  const getReady = async (epoch: number): Promise<void> => {
    if (standing === undefined || term !== epoch) return;
    standing.devices.connect();
    await readParameters();
    try {
      await standing.client.adopt(epoch, parts.parameters());
      log.info('the rule engine is ready', { epoch });
    } catch (error) {
      log.warn('cannot read rule states', { error: String(error) });
      await sleep(systemClock, adoptRetryMs);
      await getReady(epoch);
    }
  };
  const control = async (epoch: number): Promise<void> => {
    if (standing === undefined || term !== epoch) return;
    seat.sit(standing.client);
    try {
      await standing.client.run();
    } finally {
      // An engine that does not run yet is started again: what is measured meanwhile is recorded all the same.
      if (term === epoch) parts.recording()?.begin(epoch);
    }
    log.info('this process controls the site', { epoch });
  };
  const letGo = async (): Promise<void> => {
    const ended = standing;
    standing = undefined;
    seat.leave();
    ended?.poll.cancel();
    const recorded = parts.recording()?.end();
    await ended?.client.close();
    await spool.recover();
    await ended?.devices.stop();
    await recorded;
  };
  let trouble = '';
  /** Tells a new reason once: a file that is missing, a thread that cannot be started. */
  const standAgain = async (): Promise<void> => {
    if (stopping) return;
    try {
      standing = standBy();
      trouble = '';
    } catch (error) {
      const reason = String(error);
      if (reason !== trouble) log.error('cannot become a standby; retrying', { reason });
      trouble = reason;
      await sleep(systemClock, standByRetryMs);
    }
  };
  const lease = config.roles.engine
    ? holdLease({
        place,
        clock: systemClock,
        log,
        holder: name,
        graceMs: limits.devices.command_max_age_ms,
        onExtend: (untilMs) => setLease(memory, untilMs),
        onNext(epoch) {
          term = epoch;
          void inTurn(() => getReady(epoch));
        },
        onLead: (epoch) => void inTurn(() => control(epoch)),
        async onLost() {
          term = undefined;
          setLease(memory, 0);
          await inTurn(letGo);
          // A process that contends has threads to control with.
          for (;;) {
            await inTurn(standAgain);
            if (standing !== undefined || stopping) return;
          }
        },
      })
    : null;
  return {
    engine: seat,
    devices: {
      up: () => (term === undefined ? true : (standing?.devices.up() ?? true)),
      channels: () => (term === undefined ? [] : (standing?.devices.channels() ?? [])),
      counts: async () => (await standing?.devices.counts()) ?? { sent: 0, failed: 0, dropped: 0 },
    },
    open: async () => null,
    async stop() {
      spool.cancel();
      stopping = true;
      term = undefined;
      await inTurn(letGo);
      setLease(memory, 0);
      await lease?.release();
      await seat.close();
      await mailbox.close();
    },
  };
}

/** What an engine of this process could not store is stored when the database answers again. */
function storeSpool({ config, history, log }: EngineRoleParts): Timer & { recover(): Promise<void> } {
  const spool = recordSpool(config.dataDir);
  const storeKept = async (): Promise<void> => {
    const executions = await spool.store(history.restore);
    if (executions > 0) log.info('spooled executions stored', { executions });
  };
  const waiting = 'cannot store spooled executions yet; retrying';
  const { cancel } = repeatedly(systemClock, spoolPollMs, log, storeKept, waiting);
  const recover = (): Promise<void> =>
    spool.recover().catch((error: unknown) => {
      log.error('cannot recover spooled executions', { error: String(error) });
    });
  // Of a process that was killed while it kept them.
  void recover();
  return { cancel, recover };
}

/** Changes reach every engine when they are made; this finds those of which the message was lost. */
function pollRules(client: EngineClient, log: Log, parameters: () => ParametersInForce | undefined): Repeated {
  return repeatedly(systemClock, rulesPollMs, log, async () => {
    await client.reload(parameters());
  });
}
