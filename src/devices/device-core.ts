/**
 * The device layer, the same in its thread and in-process: independent channels, so that a fault of one does not affect
 * another [points §3].
 */
import type { Clock } from '../base/clock.ts';
import { listen } from '../base/doorbell.ts';
import type { Isolated } from '../base/isolation.ts';
import type { Log } from '../base/log.ts';
import { createCommandTaker } from '../points/command-slots.ts';
import { doorbells, type PointMemory } from '../points/shared-memory.ts';
import type { Channel } from '../site/protocol/index.ts';
import type { Site } from '../site/site.ts';
import { channelParts, sameData } from '../site/site-change.ts';
import {
  type ChannelSurroundings,
  type ChannelTraffic,
  type DeviceChannel,
  deviceChannel,
  type PointError,
  type PointText,
} from './device-channel.ts';
import { type DriverMaterials, sameMaterials } from './driver/index.ts';
import type { ScanAnswer, ScanQuestion } from './driver.ts';
import type { DeviceLimits } from './limits.ts';
import type { ChannelTrace } from './trace.ts';

export interface DeviceSetup {
  readonly site: Site;
  readonly memory: PointMemory;
  readonly generation: number;
  readonly limits: DeviceLimits;
  readonly materials: DriverMaterials;
}

interface DeviceCore {
  /** In the order of the site's channels. */
  traffic(): readonly ChannelTraffic[];
  errors(): readonly PointError[];
  texts(): readonly PointText[];
  /** Null if the channel's driver keeps no trace. */
  trace(channel: number): ChannelTrace | null;
  /** Null if the channel cannot be scanned now; undefined if its driver cannot scan. */
  scan(channel: number, question: ScanQuestion): Promise<ScanAnswer | null | undefined>;
  /** Continues with a changed site: channels with the same settings, files and points are not affected. */
  adopt(site: Site, materials: DriverMaterials): Promise<void>;
  stop(): Promise<void>;
}

/** A core that has not started: it opens no connection and uses no table until `connect`. */
export interface IdleDeviceCore extends DeviceCore {
  connect(): void;
  /** A driver failed with an uncaught error: its channel, by serial number, restarts; the others continue. */
  failed(serial: number, error: unknown): void;
}

export function idleDeviceCore(
  setup: DeviceSetup,
  clock: Clock,
  log: Log,
  isolated: Isolated<number> = (_, work) => work(),
): IdleDeviceCore {
  let core: RunningCore | undefined;
  let current = setup;
  return {
    connect() {
      core ??= new RunningCore(current, clock, log, isolated);
    },
    failed: (serial, error) => core?.failed(serial, error),
    traffic: () => core?.traffic() ?? [],
    errors: () => core?.errors() ?? [],
    texts: () => core?.texts() ?? [],
    trace: (channel) => core?.trace(channel) ?? null,
    scan: async (channel, question) => core?.scan(channel, question) ?? null,
    async adopt(site, materials) {
      current = { ...current, site, materials };
      await core?.adopt(site, materials);
    },
    stop: async () => core?.stop(),
  };
}

/** The values of a virtual channel exist only in the live table. */
function holdsValues(channel: Channel | undefined): boolean {
  return channel?.driver === 'virtual';
}

function partition<T>(list: readonly T[], isFirst: (each: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [list.filter(isFirst), list.filter((each) => !isFirst(each))];
}

/** Interval of the check of hold times, in milliseconds. */
const holdCheckMs = 250;

class RunningCore implements DeviceCore {
  readonly #around: Omit<ChannelSurroundings, 'materials' | 'isolated'>;
  readonly #isolated: Isolated<number>;
  #materials: DriverMaterials;
  #serial = 0;
  readonly #bell;
  #channels: readonly DeviceChannel[];
  #stopped = false;

  constructor(setup: DeviceSetup, clock: Clock, log: Log, isolated: Isolated<number>) {
    const { site, memory, limits, materials } = setup;
    const taker = createCommandTaker(memory, clock, setup.generation, limits.command_max_age_ms);
    this.#around = { clock, log, memory, limits, taker };
    this.#isolated = isolated;
    this.#materials = materials;
    this.#channels = channelParts(site).map((parts, position) => this.#open(position, parts));
    // First the bell, then the drivers: a channel takes commands from the moment it is online.
    this.#bell = listen(clock, memory.doorbells, doorbells.commands, () => {
      for (const channel of this.#channels) channel.wake();
    });
    for (const channel of this.#channels) channel.start();
    clock.after(holdCheckMs, this.#checkHolds);
  }

  readonly traffic = () => this.#channels.map((channel) => channel.traffic());
  readonly errors = () => this.#channels.flatMap((channel) => channel.errors());
  readonly texts = () => this.#channels.flatMap((channel) => channel.texts());
  readonly trace = (channel: number) => this.#channels[channel]?.trace() ?? null;
  readonly scan = async (channel: number, question: ScanQuestion) => this.#channels[channel]?.scan(question);

  failed(serial: number, error: unknown): void {
    const channel = this.#channels.find((each) => each.serial === serial);
    if (channel === undefined) this.#around.log.warn('a driver failed after its end', { error: String(error) });
    else channel.failed(error);
  }

  async adopt(site: Site, materials: DriverMaterials): Promise<void> {
    const before = this.#channels;
    const materialsBefore = this.#materials;
    this.#materials = materials;
    const kept = channelParts(site).map((parts, position) => {
      const open = before[position];
      const isSame = open !== undefined && sameData({ channel: open.channel, points: open.points }, parts);
      return isSame && sameMaterials(open.channel.id, materialsBefore, materials) ? open : undefined;
    });
    // All removals come before the additions: a point may have moved between channels.
    const gone = before.filter((open, position) => kept[position] !== open);
    const [holding, others] = partition(gone, ({ channel }) => holdsValues(channel));
    await Promise.all(others.map((open) => open.stop()));
    // Last, and at once: these must not be read again.
    await Promise.all(holding.map((open) => open.stop()));
    if (this.#stopped) return;
    for (const open of others) open.clear([]);
    for (const open of holding) open.clear(site.points.filter((point) => holdsValues(site.channels[point.channel])));
    this.#channels = channelParts(site).map((parts, position) => kept[position] ?? this.#open(position, parts));
    for (const [position, channel] of this.#channels.entries()) if (kept[position] === undefined) channel.start();
  }

  async stop(): Promise<void> {
    this.#bell.stop();
    await Promise.all(this.#channels.map((channel) => channel.stop()));
    this.#stopped = true;
  }

  readonly #checkHolds = (): void => {
    if (this.#stopped) return;
    for (const channel of this.#channels) channel.hold();
    this.#around.clock.after(holdCheckMs, this.#checkHolds);
  };

  #open(position: number, { channel, points }: ReturnType<typeof channelParts>[number]): DeviceChannel {
    const serial = this.#serial++;
    const isolated: Isolated<number> = this.#isolated;
    const around = {
      ...this.#around,
      materials: this.#materials,
      isolated: (work: () => void) => isolated(serial, work),
    };
    return deviceChannel({ position, serial, channel, points }, around);
  }
}
