/**
 * Control of a site: device layer and rule engine, started together and ended together. On the embedded database they run as long
 * as the process does. On a shared one they run while this process holds the lease (docs/guides/several-machines.md); otherwise
 * it is a standby, and the leader answers its requests.
 */
import { hostname } from 'node:os';
import type { ContendingEngine, EngineClient } from '../automation/engine-client.ts';
import type { ReloadReport } from '../automation/engine-contract.ts';
import type { SiteParameters } from '../automation/parameters-in-force.ts';
import { sleep, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Repeated } from '../base/repeatedly.ts';
import type { DeviceLayer, PreparedDevices } from '../devices/device-layer.ts';
import { mayCommand, setLease } from '../points/shared-memory.ts';
import type { Site } from '../site/site.ts';
import type { PostgresPlace } from '../storage/postgres.ts';
import { ClockWatch } from './clock-watch.ts';
import { pollRules, storeSpool } from './engine-chores.ts';
import { createEngineSeat } from './engine-seat.ts';
import { type EngineRoleParts, startDevices, startEngine } from './engine-threads.ts';
import { holdLease } from './lease.ts';
import { openMailbox } from './mailbox.ts';
import { StandbyWatch } from './standby-watch.ts';

export interface EngineRole {
  readonly engine: EngineClient;
  /** On a standby: up, with nothing to do. */
  readonly devices: Pick<
    DeviceLayer,
    'up' | 'counts' | 'traffic' | 'channels' | 'certificates' | 'errors' | 'texts' | 'trace' | 'scan'
  >;
  /** Whether this process is the leader now. */
  controls(): boolean;
  /** Whether no process is left that could take over, of those that were connected since this one started; null while that is not known. */
  standbyMissing(): boolean | null;
  /** How far this machine's clock is ahead of the database server's; null without a server, and before the first measurement. */
  clockAheadMs(): number | null;
  /** Reads the dependencies of a changed site other than its file; throws an Error with one line for the operator. */
  prepare(site: Site): PreparedSite;
  /** Starts it; returns what was loaded, or null on a standby. */
  open(): Promise<ReloadReport | null>;
  stop(): Promise<void>;
}

/** A site that devices and engine can continue with [points §1.3]. */
interface PreparedSite extends Pick<PreparedDevices, 'renewed'> {
  /** Ends the engine, calls `use`, which applies the site and its parameters, and lets devices and engine continue with it. */
  readonly apply: (use: () => Promise<SiteParameters>) => Promise<ReloadReport | null>;
}

/** Interval of readiness checks of starting threads. */
const readyRetryMs = 500;
/** Retry interval after threads could not be started. */
const standByRetryMs = 500;
/** Retry interval for the states of the rules. */
const adoptRetryMs = 100;

export function engineRole(parts: EngineRoleParts): EngineRole {
  const { runtime } = parts;
  return typeof runtime === 'string' ? ownRole(parts) : sharedRole(parts, runtime);
}

function ownRole(parts: EngineRoleParts): EngineRole {
  const devices = startDevices(parts, false);
  const spool = storeSpool(parts);
  const engine = startEngine(parts, parts.runtime, parts.stream.publish, parts.stream.renew);
  return {
    engine,
    devices,
    controls: () => true,
    standbyMissing: () => false,
    clockAheadMs: () => null,
    prepare(site) {
      const { renewed, adopt } = devices.prepare(site);
      const apply: PreparedSite['apply'] = (use) =>
        engine.renew(async () => {
          const inForce = await use();
          await adopt();
          return inForce;
        });
      return { renewed, apply };
    },
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
  return new SharedRole(parts, place);
}

class SharedRole implements EngineRole {
  readonly #parts: EngineRoleParts;
  readonly #place: PostgresPlace;
  readonly #memory;
  readonly #config;
  readonly #limits;
  readonly #stream;
  readonly #log;
  readonly #name = `${hostname()}-${newId()}`;
  readonly #clocks;
  readonly #standbys;
  readonly #mailbox;
  readonly #seat;
  readonly #spool;
  /** The term of this process: next to lead, or leader. */
  #term: number | undefined;
  #stopping = false;
  /** Terms do not overlap. */
  #turn: Promise<void> = Promise.resolve();
  #standing;
  #trouble = '';
  readonly #lease;

  constructor(parts: EngineRoleParts, place: PostgresPlace) {
    this.#parts = parts;
    this.#place = place;
    const { memory, config, limits, stream } = parts;
    this.#memory = memory;
    this.#config = config;
    this.#limits = limits;
    this.#stream = stream;
    this.#log = parts.log.with({ area: 'lease' });
    setLease(this.#memory, 0);
    this.#clocks = new ClockWatch(systemClock, this.#log, parts.limits.alarms.clock_differs_ms);
    this.#standbys = new StandbyWatch(systemClock, place.limits.postgres_schema);
    this.#mailbox = openMailbox(place, {
      name: this.#name,
      processName: parts.processName,
      clock: systemClock,
      log: this.#log,
      clocks: this.#clocks,
      standbys: this.#standbys,
    });
    this.#seat = createEngineSeat({
      mailbox: this.#mailbox,
      clock: systemClock,
      log: this.#log,
      limits: this.#limits.automation,
      onExecutions: this.#stream.publish,
      onStart: this.#stream.renew,
      onChange: (what) => void this.#follow(what),
      parameters: parts.parameters,
    });
    this.#spool = storeSpool(parts);
    this.#standing = this.#config.roles.engine ? this.#standBy() : undefined;
    this.#lease = this.#config.roles.engine
      ? holdLease({
          place,
          clock: systemClock,
          log: this.#log,
          holder: this.#name,
          graceMs: this.#limits.devices.command_max_age_ms,
          onExtend: (untilMs) => setLease(this.#memory, untilMs),
          onNext: (epoch) => {
            this.#term = epoch;
            void this.#inTurn(() => this.#getReady(epoch));
          },
          onLead: (epoch) => void this.#inTurn(() => this.#control(epoch)),
          onLost: async () => {
            this.#term = undefined;
            setLease(this.#memory, 0);
            await this.#inTurn(this.#letGo);
            // A process that contends for control has threads.
            for (;;) {
              await this.#inTurn(this.#standAgain);
              if (this.#standing !== undefined || this.#stopping) return;
            }
          },
        })
      : null;
  }

  get engine(): EngineClient {
    return this.#seat;
  }

  /** On a standby: up, with nothing to do. */
  readonly devices: EngineRole['devices'] = {
    up: () => (this.#term === undefined ? true : (this.#standing?.devices.up() ?? true)),
    channels: () => (this.#term === undefined ? [] : (this.#standing?.devices.channels() ?? [])),
    certificates: () => (this.#term === undefined ? [] : (this.#standing?.devices.certificates() ?? [])),
    errors: async () => (await this.#standing?.devices.errors()) ?? [],
    texts: async () => (await this.#standing?.devices.texts()) ?? [],
    traffic: async () => (await this.#standing?.devices.traffic()) ?? [],
    trace: async (channel) => (await this.#standing?.devices.trace(channel)) ?? null,
    scan: async (channel, question) =>
      this.#standing === undefined ? null : this.#standing.devices.scan(channel, question),
    counts: async () => (await this.#standing?.devices.counts()) ?? { sent: 0, failed: 0, dropped: 0 },
  };

  controls(): boolean {
    return mayCommand(this.#memory, systemClock.monotonicMs());
  }

  standbyMissing(): boolean | null {
    return this.#standbys.isMissing();
  }

  clockAheadMs(): number | null {
    return this.#clocks.aheadMs();
  }

  prepare(site: Site): PreparedSite {
    const standing = this.#standing;
    // A process without an engine has no devices either.
    const devices = standing?.devices.prepare(site);
    return { renewed: devices?.renewed ?? [], apply: (use) => this.#apply(site, use, standing, devices?.adopt) };
  }

  /** `adopt`: of the threads `prepared`, which others may have replaced since. */
  #apply(
    site: Site,
    use: () => Promise<SiteParameters>,
    prepared: Standing | undefined,
    adopt: PreparedDevices['adopt'] | undefined,
  ): Promise<ReloadReport | null> {
    return this.#ordered(async () => {
      const standing = this.#standing;
      if (standing === undefined) {
        await use();
        return null;
      }
      const report = await standing.client.renew(async () => {
        const inForce = await use();
        await (standing === prepared ? adopt : standing.devices.prepare(site).adopt)?.();
        return inForce;
      });
      return this.#term === undefined ? null : report;
    });
  }

  async open(): Promise<ReloadReport | null> {
    return null;
  }

  async stop(): Promise<void> {
    this.#spool.cancel();
    this.#stopping = true;
    this.#term = undefined;
    await this.#inTurn(this.#letGo);
    setLease(this.#memory, 0);
    await this.#lease?.release();
    await this.#seat.close();
    await this.#mailbox.close();
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    return this.#ordered(task).catch((error: unknown) => {
      this.#log.error('handover failed', { error: String(error) });
    });
  }

  #ordered<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(task);
    this.#turn = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  /** Threads started and rules compiled, so that a takeover waits for neither. No device connection, no state. */
  #standBy(): Standing {
    const devices = startDevices(this.#parts, true);
    try {
      const client = startEngine(
        this.#parts,
        this.#place,
        (records) => this.#seat.publish(records),
        this.#stream.renew,
      );
      const ready = client.standBy();
      ready.catch((error: unknown) => this.#log.debug('the rule engine is not ready yet', { error: String(error) }));
      const started: Standing = { client, devices, poll: pollRules(client, this.#log, this.#parts.parameters) };
      void this.#tellWhenReady(started);
      return started;
    } catch (error) {
      void this.#inTurn(() => devices.terminate());
      throw error;
    }
  }

  async #tellWhenReady(started: Standing): Promise<void> {
    for (;;) {
      try {
        // A thread answers its first call once it runs.
        const [rules] = await Promise.all([started.client.reload(), started.devices.counts()]);
        if (this.#term === undefined) this.#log.info('this process is a standby', { ...rules });
        return;
      } catch {
        await sleep(systemClock, readyRetryMs);
      }
      if (this.#stopping || this.#standing !== started) return;
    }
  }

  /** The last leader may have been given other parameters than this process: the file has what the operator wants. */
  async #readParameters(read: (inFile: () => Promise<SiteParameters>) => Promise<unknown>): Promise<void> {
    try {
      await read(this.#parts.readParameters);
    } catch (error) {
      const issues = error instanceof Fault ? error.details : undefined;
      this.#log.warn('cannot reload parameters; keeping the previous values', {
        error: String(error),
        ...issues,
      });
    }
  }

  /** Changes by another process are applied at once, so that no work is left for a takeover. */
  async #follow(what: 'rules' | 'parameters'): Promise<void> {
    const { parameters } = this.#parts;
    if (what === 'parameters') await this.#readParameters((inFile) => parameters.renew(async () => undefined, inFile));
    this.#standing?.poll.now();
  }

  /** The last leader's states are final: the epoch fences it off. Without a lease no command is sent. */
  async #getReady(epoch: number): Promise<void> {
    if (this.#standing === undefined || this.#term !== epoch) return;
    this.#standing.devices.connect();
    const { parameters } = this.#parts;
    // Not in turn: a takeover must not wait for a change that waits for the last leader.
    await this.#readParameters(async (inFile) => parameters.use(await parameters.read(await inFile())));
    try {
      await this.#standing.client.adopt(epoch, parameters.current());
      this.#log.info('the rule engine is ready', { epoch });
    } catch (error) {
      this.#log.warn('cannot read rule states', { error: String(error) });
      await sleep(systemClock, adoptRetryMs);
      await this.#getReady(epoch);
    }
  }

  async #control(epoch: number): Promise<void> {
    if (this.#standing === undefined || this.#term !== epoch) return;
    this.#seat.sit(this.#standing.client);
    try {
      await this.#standing.client.run();
    } finally {
      // An engine that does not run yet is restarted: readings are recorded in the meantime.
      if (this.#term === epoch) this.#parts.recording()?.begin(epoch);
    }
    this.#log.info('this process controls the site', { epoch });
  }

  readonly #letGo = async (): Promise<void> => {
    const ended = this.#standing;
    this.#standing = undefined;
    this.#seat.leave();
    ended?.poll.cancel();
    const recorded = this.#parts.recording()?.end();
    await ended?.client.close();
    await this.#spool.recover();
    await ended?.devices.stop();
    await recorded;
  };

  /** Logs a new reason once: a missing file, a thread that cannot be started. */
  readonly #standAgain = async (): Promise<void> => {
    if (this.#stopping) return;
    try {
      this.#standing = this.#standBy();
      this.#trouble = '';
    } catch (error) {
      const reason = String(error);
      if (reason !== this.#trouble) this.#log.error('cannot become a standby; retrying', { reason });
      this.#trouble = reason;
      await sleep(systemClock, standByRetryMs);
    }
  };
}
