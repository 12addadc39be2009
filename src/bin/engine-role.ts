/**
 * What controls a site: device layer and rule engine, started together and ended together. On the embedded database they run
 * as long as the process does. On a shared one they run while this process holds the lease (docs/guides/several-machines.md);
 * otherwise it stands by, and its requests are answered by the process that controls.
 */
import { hostname } from 'node:os';
import { createEngineClient, type EngineClient } from '../automation/engine-client.ts';
import type { ReloadReport } from '../automation/engine-contract.ts';
import { createEngineSeat } from '../automation/engine-seat.ts';
import type { HistoryStore } from '../automation/history-store.ts';
import type { LiveStream } from '../automation/live-stream.ts';
import { recordSpool } from '../automation/record-spool.ts';
import type { RuleStore } from '../automation/rule-store.ts';
import { startEngineWorker } from '../automation/start-engine.ts';
import { systemClock, type Timer } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import type { Log } from '../base/log.ts';
import { type DeviceLayer, startDeviceLayer } from '../devices/device-layer.ts';
import type { SharedRecording } from '../historian/shared-recording.ts';
import { type PointMemory, setLease } from '../points/shared-memory.ts';
import type { Site } from '../points/site.ts';
import type { Parameter } from '../rules/catalogue.ts';
import type { DatabasePlace } from '../storage/database.ts';
import { holdLease } from '../storage/lease.ts';
import { openMailbox } from '../storage/mailbox.ts';
import type { PostgresPlace } from '../storage/postgres.ts';
import type { ServiceConfig, ServiceLimits } from './config.ts';

export interface EngineRoleParts {
  readonly config: ServiceConfig;
  readonly site: Site;
  readonly memory: PointMemory;
  readonly limits: ServiceLimits;
  readonly store: RuleStore;
  readonly stream: Pick<LiveStream, 'publish' | 'renew'>;
  /** Of the rules' history and state. */
  readonly runtime: DatabasePlace;
  readonly history: Pick<HistoryStore, 'restore'>;
  /** Of measurements, while this process controls a site that is shared. */
  readonly recording: () => Pick<SharedRecording, 'begin' | 'end'> | null;
  /** Those in force now: a reload may have changed them. */
  readonly parameters: () => Readonly<Record<string, Parameter>>;
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

/** How often executions are tried to be stored that were kept while the database was away. */
const spoolPollMs = 2000;
/** How often the process that controls looks for changed rules that nobody told it of. */
const rulesPollMs = 2000;

export function engineRole(parts: EngineRoleParts): EngineRole {
  const { runtime } = parts;
  return typeof runtime === 'string' ? ownRole(parts) : sharedRole(parts, runtime);
}

function startDevices({ config, site, memory, limits, log }: EngineRoleParts): DeviceLayer {
  const { configDir, dataDir, logLevel } = config;
  return startDeviceLayer({
    site,
    memory,
    clock: systemClock,
    log: log.with({ area: 'devices' }),
    logLevel,
    limits: limits.devices,
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
): EngineClient {
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
  });
}

function ownRole(parts: EngineRoleParts): EngineRole {
  const devices = startDevices(parts);
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

interface Controlling {
  readonly client: EngineClient;
  readonly devices: DeviceLayer;
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
  });
  const spool = storeSpool(parts);
  let controlling: Controlling | undefined;
  let poll: Timer | undefined;
  /** One begins after the other has ended. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (task: () => Promise<void>): Promise<void> => {
    turn = turn.then(task).catch((error: unknown) => {
      log.error('control was not taken over or given up in order', { error: String(error) });
    });
    return turn;
  };

  /** The last holder's states are final: the epoch fences it off. Without a lease no command leaves. */
  const getReady = async (epoch: number): Promise<void> => {
    const devices = startDevices(parts);
    const client = createClient(parts, { ...place, epoch }, seat.publish, stream.renew);
    controlling = { client, devices };
    client.prepare();
  };
  const control = async (epoch: number): Promise<void> => {
    if (controlling === undefined) throw new Error('control was given to a process that is not ready');
    const { client } = controlling;
    seat.sit(client);
    const rules = await client.open();
    parts.recording()?.begin(epoch);
    log.info('this process controls the site', { epoch, ...rules });
    poll = pollRules(parts.store, client);
  };
  const letGo = async (): Promise<void> => {
    const ended = controlling;
    controlling = undefined;
    poll?.cancel();
    seat.leave();
    const recorded = parts.recording()?.end();
    await ended?.client.close();
    await ended?.devices.stop();
    await recorded;
  };
  const lease = config.roles.engine
    ? holdLease({
        place,
        clock: systemClock,
        log,
        holder: name,
        graceMs: limits.devices.command_max_age_ms,
        onExtend: (untilMs) => setLease(memory, untilMs),
        onNext: (epoch) => void inTurn(() => getReady(epoch)),
        onLead: (epoch) => void inTurn(() => control(epoch)),
        onLost: () => {
          setLease(memory, 0);
          return inTurn(letGo);
        },
      })
    : null;
  return {
    engine: seat,
    devices: {
      up: () => controlling?.devices.up() ?? true,
      channels: () => controlling?.devices.channels() ?? [],
      counts: async () => (await controlling?.devices.counts()) ?? { sent: 0, failed: 0, dropped: 0 },
    },
    open: async () => null,
    async stop() {
      spool.cancel();
      await inTurn(letGo);
      setLease(memory, 0);
      await lease?.release();
      await seat.close();
      await mailbox.close();
    },
  };
}

/** What an engine of this process could not store is stored when the database answers again. */
function storeSpool({ config, history, log }: EngineRoleParts): Timer {
  const spool = recordSpool(config.dataDir);
  return repeatedly(spoolPollMs, async () => {
    const executions = await spool.store(history);
    if (executions > 0) log.info('executions kept while the database was away are stored', { executions });
  });
}

/** Does `task` again and again; one that fails is done again at its next time. */
function repeatedly(intervalMs: number, task: () => Promise<void>): Timer {
  let ended = false;
  let timer: Timer | undefined;
  const wait = (): void => {
    if (!ended) timer = systemClock.after(intervalMs, () => void task().then(wait, wait));
  };
  wait();
  return {
    cancel() {
      ended = true;
      timer?.cancel();
    },
  };
}

/** Changes reach the engine when they are made; this finds those whose message was lost. */
function pollRules(store: RuleStore, client: EngineClient): Timer {
  let known = '';
  return repeatedly(rulesPollMs, async () => {
    const heads = JSON.stringify(await store.heads());
    if (heads !== known) await client.reload();
    known = heads;
  });
}
