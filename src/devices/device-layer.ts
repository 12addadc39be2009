/**
 * The main thread's side of the device layer (ARCHITECTURE.md, "Threads"): it runs apart from the rule engine and may crash. Each
 * start is a new generation: live values are unavailable until read again and commands in flight are dropped [points §4.2].
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { type Caller, callThread, threadMemory } from '../base/thread.ts';
import { beginGeneration, currentGeneration, describePoints, type PointMemory } from '../points/shared-memory.ts';
import type { Site } from '../site/site.ts';
import type { ChannelTraffic, CommandCounts, PointError, PointText } from './device-channel.ts';
import { type DeviceSetup, idleDeviceCore } from './device-core.ts';
import type { DeviceMethods } from './device-protocol.ts';
import { type DriverMaterials, sameMaterials } from './driver/index.ts';
import type { ScanAnswer, ScanQuestion } from './driver.ts';
import type { DeviceLimits } from './limits.ts';
import { type MaterialSources, readMaterials } from './materials.ts';
import type { OpenWire } from './modbus/modbus-client.ts';
import { brokerCertificates, fileCertificates, type KnownCertificate } from './mqtt/certificates.ts';
import type { ChannelTrace } from './trace.ts';

/** `refusing`: the device answers, but refuses the requests; commands are accepted and fail. */
export type ChannelState = 'online' | 'refusing' | 'offline';

function stateOf(memory: PointMemory, channel: number): ChannelState {
  if (Atomics.load(memory.online, channel) !== 1) return 'offline';
  return Atomics.load(memory.refusing, channel) === 1 ? 'refusing' : 'online';
}

export interface DeviceLayer {
  /** Starts to read the devices, if it was started idle. */
  connect(): void;
  generation(): number;
  /** True while a device thread runs; after a crash false until the next one has started. */
  up(): boolean;
  channels(): { readonly id: string; readonly driver: string; readonly state: ChannelState }[];
  /** Of the channels: those in files, and those that brokers have shown. */
  certificates(): readonly KnownCertificate[];
  /** Of all channels together. */
  counts(): Promise<CommandCounts>;
  /** In the order of the site's channels; empty while no device thread runs. */
  traffic(): Promise<readonly ChannelTraffic[]>;
  /** The latest error of each point since the device layer started. */
  errors(): Promise<readonly PointError[]>;
  /** The latest values of text points. */
  texts(): Promise<readonly PointText[]>;
  /** By position of the channel; null while no device thread runs. */
  trace(channel: number): Promise<ChannelTrace | null>;
  /** Scans a device between its polls: null if that is not possible now, undefined if its driver cannot scan. */
  scan(channel: number, question: ScanQuestion): Promise<ScanAnswer | null | undefined>;
  /** Reads the dependencies of a changed site other than its file; throws an Error with one line for the operator. */
  prepare(site: Site): PreparedDevices;
  /** Ends the device thread at once and starts another one, as after a crash. */
  restart(): Promise<void>;
  /** Ends the device thread without a successor: everything becomes unavailable. */
  terminate(): Promise<void>;
  /** Lets drivers disconnect cleanly. */
  stop(): Promise<void>;
}

/** A site that the devices can continue with. */
export interface PreparedDevices {
  /** Channels that are in both sites and whose files, such as certificates, have changed since they were read. */
  readonly renewed: readonly string[];
  /** Channels with the same settings, files and points keep running and keep their values [points §1.3]. */
  readonly adopt: () => Promise<void>;
}

export interface DeviceLayerParts extends MaterialSources {
  readonly site: Site;
  readonly memory: PointMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly logLevel: LogLevel;
  readonly limits: DeviceLimits;
  /** True: no connection is opened before `connect`. */
  readonly idle?: boolean;
  /** True: in this thread, for tests. */
  readonly inProcess?: boolean;
  /** In a simulation, in this thread: the transport of Modbus channels instead of TCP. */
  readonly modbusWire?: OpenWire;
}

/** One running generation. */
interface Instance {
  connect(): void;
  traffic(): Promise<readonly ChannelTraffic[]>;
  errors(): Promise<readonly PointError[]>;
  texts(): Promise<readonly PointText[]>;
  trace(channel: number): Promise<ChannelTrace | null>;
  scan(channel: number, question: ScanQuestion): Promise<ScanAnswer | null | undefined>;
  adopt(site: Site, materials: DriverMaterials): Promise<unknown>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  onDeath(listener: (reason: string) => void): void;
}

/** Throws an Error with one line for the operator if a channel cannot be started at all. */
export function startDeviceLayer(parts: DeviceLayerParts): DeviceLayer {
  return new RestartedLayer(parts);
}

class RestartedLayer implements DeviceLayer {
  readonly #parts: DeviceLayerParts;
  readonly #memory;
  readonly #clock;
  readonly #log;
  readonly #limits;
  #site;
  #materials;
  #fileCertificates: readonly KnownCertificate[];
  #ended = false;
  #connects;
  #instance: Instance | undefined;
  #timer: Timer | undefined;
  #restartDelayMs;

  constructor(parts: DeviceLayerParts) {
    this.#parts = parts;
    const { site, memory, clock, log, limits } = parts;
    this.#site = site;
    this.#memory = memory;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#materials = this.#materialsOf(site);
    this.#fileCertificates = fileCertificates(site.channels, this.#materials.mqtt);
    this.#connects = parts.idle !== true;
    this.#restartDelayMs = this.#limits.restart_delay_ms;
    this.#begin();
  }

  connect(): void {
    this.#connects = true;
    this.#instance?.connect();
  }

  generation(): number {
    return currentGeneration(this.#memory);
  }

  up(): boolean {
    return this.#instance !== undefined;
  }

  channels(): { readonly id: string; readonly driver: string; readonly state: ChannelState }[] {
    return this.#site.channels.map(({ id, driver }, position) => ({
      id,
      driver,
      state: stateOf(this.#memory, position),
    }));
  }

  certificates(): readonly KnownCertificate[] {
    return [...this.#fileCertificates, ...brokerCertificates(this.#site.channels, this.#memory)];
  }

  async counts(): Promise<CommandCounts> {
    const counts = { sent: 0, failed: 0, dropped: 0 };
    for (const { sent, failed, dropped } of await this.traffic()) {
      counts.sent += sent;
      counts.failed += failed;
      counts.dropped += dropped;
    }
    return counts;
  }

  async traffic(): Promise<readonly ChannelTraffic[]> {
    return (await this.#instance?.traffic()) ?? [];
  }

  async errors(): Promise<readonly PointError[]> {
    return (await this.#instance?.errors()) ?? [];
  }

  async texts(): Promise<readonly PointText[]> {
    return (await this.#instance?.texts()) ?? [];
  }

  async trace(channel: number): Promise<ChannelTrace | null> {
    return (await this.#instance?.trace(channel)) ?? null;
  }

  async scan(channel: number, question: ScanQuestion): Promise<ScanAnswer | null | undefined> {
    return this.#instance === undefined ? null : this.#instance.scan(channel, question);
  }

  prepare(site: Site): PreparedDevices {
    const materials = this.#materialsOf(site);
    const common = site.channels.filter(({ id }) => this.#site.channels.some((running) => running.id === id));
    const renewed = common.filter(({ id }) => !sameMaterials(id, this.#materials, materials)).map(({ id }) => id);
    const adopt = async () => {
      this.#site = site;
      this.#materials = materials;
      this.#fileCertificates = fileCertificates(site.channels, materials.mqtt);
      describePoints(this.#memory, site.points);
      const adopting = this.#instance;
      try {
        await adopting?.adopt(site, materials);
      } catch (error) {
        if (this.#ended || this.#instance !== adopting) return;
        // A thread that fails to switch to the new site must not continue with the old one.
        this.#log.error('the device layer did not apply the changed site; restarting it', { reason: String(error) });
        await this.restart();
      }
    };
    return { renewed, adopt };
  }

  async restart(): Promise<void> {
    await this.#end('kill');
    this.#begin();
  }

  async terminate(): Promise<void> {
    this.#ended = true;
    await this.#end('kill');
  }

  async stop(): Promise<void> {
    this.#ended = true;
    await this.#end('stop');
  }

  #materialsOf(site: Site): DriverMaterials {
    const { modbusWire } = this.#parts;
    const read = readMaterials(site, this.#parts);
    return modbusWire === undefined ? read : { ...read, modbusWire };
  }

  #begin(): void {
    const generation = beginGeneration(this.#memory);
    const setup: DeviceSetup = {
      site: this.#site,
      memory: this.#memory,
      generation,
      limits: this.#limits,
      materials: this.#materials,
    };
    const started =
      this.#parts.inProcess === true
        ? startTwin(setup, this.#clock, this.#log)
        : startWorker(setup, this.#connects, this.#parts.logLevel, this.#clock, this.#log);
    if (this.#parts.inProcess === true && this.#connects) started.connect();
    const startedMs = this.#clock.monotonicMs();
    started.onDeath((reason) => {
      if (this.#ended || this.#instance !== started) return;
      // A long uptime means the start was fine: reset the backoff.
      if (this.#clock.monotonicMs() - startedMs > this.#limits.restart_max_ms)
        this.#restartDelayMs = this.#limits.restart_delay_ms;
      this.#instance = undefined;
      beginGeneration(this.#memory);
      this.#beginLater('device layer failed; restarting it', { reason, generation });
    });
    this.#instance = started;
  }

  #beginLater(what: string, details: Readonly<Record<string, unknown>>): void {
    this.#log.error(what, { ...details, delay_ms: this.#restartDelayMs });
    this.#timer = this.#clock.after(this.#restartDelayMs, () => {
      try {
        this.#begin();
      } catch (error) {
        // The thread could not be created: too many threads, or too little memory.
        this.#beginLater('the device layer has no thread; it is tried again', { reason: String(error) });
      }
    });
    this.#restartDelayMs = Math.min(this.#limits.restart_max_ms, this.#restartDelayMs * 2);
  }

  async #end(how: 'stop' | 'kill'): Promise<void> {
    this.#timer?.cancel();
    const old = this.#instance;
    this.#instance = undefined;
    await old?.[how]();
    beginGeneration(this.#memory);
  }
}

function startWorker(setup: DeviceSetup, connects: boolean, logLevel: LogLevel, clock: Clock, log: Log): Instance {
  const worker = new Worker(new URL('./device-thread.ts', import.meta.url), {
    workerData: { setup, connects, logLevel },
    name: 'devices',
    resourceLimits: threadMemory,
  });
  const caller: Caller<DeviceMethods, never> = callThread(worker, clock, setup.limits.stop_timeout_ms);
  let reason = 'the thread ended';
  worker.on('error', (error) => {
    reason = error instanceof Error ? error.message : String(error);
  });
  const close = (): void => caller.close(new Fault('engine-unavailable', 'the device layer is restarting; try again'));
  worker.on('exit', close);
  const kill = async (): Promise<void> => {
    close();
    await worker.terminate();
  };
  return {
    connect: () => void caller.call('connect', null).catch(() => undefined),
    traffic: () => caller.call('traffic', null),
    errors: () => caller.call('errors', null),
    texts: () => caller.call('texts', null),
    trace: (channel) => caller.call('trace', { channel }),
    // The driver ends a scan at its limit; this is for a thread that does not answer.
    scan: (channel, question) => caller.call('scan', { channel, question }, 2 * setup.limits.scan_timeout_ms),
    adopt: (site, materials) => caller.call('adopt', { site, materials }),
    kill,
    async stop() {
      try {
        await caller.call('stop', null);
      } catch (error) {
        log.warn('device layer did not stop in time; terminating it', { reason: String(error) });
      }
      await kill();
    },
    onDeath: (listener) => void worker.on('exit', () => listener(reason)),
  };
}

/** In this thread; "killed", it stops without cleanup. */
function startTwin(setup: DeviceSetup, clock: Clock, log: Log): Instance {
  const core = idleDeviceCore(setup, clock, log);
  return {
    connect: () => core.connect(),
    traffic: async () => core.traffic(),
    errors: async () => core.errors(),
    texts: async () => core.texts(),
    trace: async (channel) => core.trace(channel),
    scan: (channel, question) => core.scan(channel, question),
    adopt: (site, materials) => core.adopt(site, materials),
    stop: () => core.stop(),
    kill: () => core.stop(),
    onDeath: () => undefined,
  };
}
