/**
 * The device layer's own work, the same in its thread and in-process: one driver per channel, readings scaled into the
 * live table, commands taken from the slots, safe values written when commands stay away [points §4.4].
 */
import type { Clock } from '../base/clock.ts';
import { listen } from '../base/doorbell.ts';
import type { Isolated } from '../base/isolation.ts';
import type { Log } from '../base/log.ts';
import { createCommandTaker, type TakenCommand } from '../points/command-slots.ts';
import { createLiveTableWriter, type LiveTableWriter } from '../points/live-table.ts';
import { doorbells, mayCommand, type PointMemory } from '../points/shared-memory.ts';
import { withinPoint } from '../rules/step.ts';
import { type QualityCode, quality } from '../site/quality.ts';
import type { Site, SitePoint } from '../site/site.ts';
import { createDriver, type DriverMaterials } from './driver/index.ts';
import type { Driver, DriverContext, DriverFailure, RawReading, ScanAnswer, ScanQuestion } from './driver.ts';
import type { DeviceLimits } from './limits.ts';
import { scaledBy } from './modbus/modbus-codec.ts';
import { watchRefusals } from './refusals.ts';
import { runChannel, type Seat } from './run-channel.ts';
import { type ChannelTrace, createTrace } from './trace.ts';

export interface DeviceSetup {
  readonly site: Site;
  readonly memory: PointMemory;
  readonly generation: number;
  readonly limits: DeviceLimits;
  readonly materials: DriverMaterials;
}

/** Commands that the device took, that it refused or that got lost, and that were dropped before they were sent. */
export interface CommandCounts {
  sent: number;
  failed: number;
  dropped: number;
}

/** What went over one channel since the device layer started. */
export interface ChannelTraffic extends CommandCounts {
  /** Values read, and values that could not be. */
  read: number;
  unread: number;
}

/** What a point that holds text said last. */
export interface PointText {
  readonly index: number;
  readonly text: string;
}

/** What went wrong last at one point. */
export interface PointError extends DriverFailure {
  readonly index: number;
  /** Wall milliseconds. */
  readonly atMs: number;
}

interface DeviceCore {
  /** In the order of the site's channels. */
  traffic(): readonly ChannelTraffic[];
  errors(): readonly PointError[];
  texts(): readonly PointText[];
  /** Null where the channel's driver keeps no trace. */
  trace(channel: number): ChannelTrace | null;
  /** Null where the channel cannot be looked through now; undefined where its driver never can. */
  scan(channel: number, question: ScanQuestion): Promise<ScanAnswer | null | undefined>;
  stop(): Promise<void>;
}

/** A core that has not begun: it holds no connection and touches no table until `connect`. */
export interface IdleDeviceCore extends DeviceCore {
  connect(): void;
  /** A driver failed of an error that it did not catch: its channel starts anew, the others go on. */
  failed(channel: number, error: unknown): void;
}

export function idleDeviceCore(
  setup: DeviceSetup,
  clock: Clock,
  log: Log,
  isolated: Isolated<number> = (_, work) => work(),
): IdleDeviceCore {
  let core: RunningCore | undefined;
  return {
    connect() {
      core ??= startDeviceCore(setup, clock, log, isolated);
    },
    failed: (channel, error) => core?.failed(channel, error),
    traffic: () => core?.traffic() ?? [],
    errors: () => core?.errors() ?? [],
    texts: () => core?.texts() ?? [],
    trace: (channel) => core?.trace(channel) ?? null,
    scan: async (channel, question) => core?.scan(channel, question) ?? null,
    stop: async () => core?.stop(),
  };
}

interface RunningCore extends DeviceCore {
  failed(channel: number, error: unknown): void;
}

/** How often hold times are looked at, in milliseconds. */
const holdCheckMs = 250;

function startDeviceCore(setup: DeviceSetup, clock: Clock, log: Log, isolated: Isolated<number>): RunningCore {
  const { site, memory, limits } = setup;
  const writer = createLiveTableWriter(
    memory,
    clock,
    site.points.map((point) => point.maxAgeMs),
  );
  const taker = createCommandTaker(memory, clock, setup.generation, limits.command_max_age_ms);
  const safe = createSafeValues(site.points, memory, clock);
  const errors = new Map<number, PointError>();
  const texts = new Map<number, string>();
  // A core whose generation has passed must not touch the tables of the next one.
  let stopped = false;

  const channels = site.channels.map((channel, position) => {
    const points = site.points.filter((point) => point.channel === position);
    const traffic = { sent: 0, failed: 0, read: 0, unread: 0 };
    const trace = createTrace(limits.trace_exchanges);
    const refusals = watchRefusals(limits.refusing_after_ms);
    const setOnline = (online: boolean): void => {
      Atomics.store(memory.online, position, online ? 1 : 0);
      if (online) return;
      Atomics.store(memory.refusing, position, 0);
      for (const point of points) {
        // What was accepted and not sent yet is dropped: after a reconnect it would be late.
        taker.drop(point.index);
        // The device may come back with any value: the safe one is written again.
        safe.unwritten(point.index);
      }
    };
    const start = (seat: Seat): Driver => {
      const isCurrent = (): boolean => !stopped && !seat.left;
      const context = contextOf(points, {
        clock,
        log: log.with({ channel: channel.id }),
        limits,
        publish: (readings) => {
          if (!isCurrent()) return;
          traffic.read += readings.length;
          writer.publish(readings);
        },
        exchanged: trace.add,
        says: (index, text) => {
          if (text === null) texts.delete(index);
          else texts.set(index, text);
        },
        setOnline: (online) => {
          if (isCurrent()) setOnline(online);
        },
        take: (index) => {
          if (!isCurrent()) return null;
          const command = taker.take(index);
          if (command !== null) safe.commanded(index);
          if (command !== null) return command;
          return mayCommand(memory, clock.monotonicMs()) ? safe.due(index) : null;
        },
        done: ({ index, serial }, failure) => {
          if (!isCurrent()) return;
          if (failure === null) traffic.sent++;
          else {
            traffic.failed++;
            safe.unwritten(index);
            errors.set(index, { index, ...failure, atMs: clock.wallMs() });
          }
          // Last: another thread that reads a failed result finds its error.
          if (serial !== 0) taker.report(index, serial, failure === null);
        },
        readFailed: (indexes, failure) => {
          if (!isCurrent()) return;
          traffic.unread += indexes.length;
          for (const index of indexes) errors.set(index, { index, ...failure, atMs: clock.wallMs() });
        },
        answered: (what, refused) => {
          if (!isCurrent()) return;
          const refuses = refusals.answered(what, refused, clock.monotonicMs());
          const before = Atomics.exchange(memory.refusing, position, refuses ? 1 : 0);
          if (refuses && before === 0)
            log.error('the device answers every request of this kind with an exception', { channel: channel.id, what });
        },
      });
      return createDriver(channel, context, setup.materials);
    };
    const running = runChannel({
      clock,
      limits,
      log: log.with({ channel: channel.id }),
      isolated: (work) => isolated(position, work),
      start,
      lost() {
        if (stopped) return;
        setOnline(false);
        for (const { index } of points) texts.delete(index);
        writer.publish(points.map(({ index }) => ({ index, value: Number.NaN, quality: quality.bad })));
      },
    });
    const dropped = (): number => points.reduce((sum, { index }) => sum + taker.dropped(index), 0);
    return { running, trace, traffic: (): ChannelTraffic => ({ ...traffic, dropped: dropped() }) };
  });
  const wakeAll = (): void => {
    for (const { running } of channels) running.wake();
  };
  // First the bell, then the drivers: a channel takes commands from the moment it is online.
  const bell = listen(clock, memory.doorbells, doorbells.commands, wakeAll);
  for (const { running } of channels) running.start();
  const check = (): void => {
    if (stopped) return;
    if (safe.anyDue()) wakeAll();
    clock.after(holdCheckMs, check);
  };
  if (site.points.some((point) => point.holdMaxMs !== undefined)) clock.after(holdCheckMs, check);

  return {
    traffic: () => channels.map((channel) => channel.traffic()),
    errors: () => [...errors.values()],
    texts: () => [...texts].map(([index, text]) => ({ index, text })),
    trace: (channel) => channels[channel]?.trace.kept() ?? null,
    scan: async (channel, question) => channels[channel]?.running.scan(question),
    failed: (channel, error) => channels[channel]?.running.failed(error),
    async stop() {
      bell.stop();
      await Promise.all(channels.map(({ running }) => running.stop()));
      stopped = true;
    },
  };
}

interface Wiring {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: DeviceLimits;
  readonly publish: LiveTableWriter['publish'];
  readonly setOnline: (online: boolean) => void;
  readonly take: (index: number) => TakenCommand | null;
  readonly done: DriverContext['commandDone'];
  readonly readFailed: DriverContext['readFailed'];
  readonly answered: DriverContext['answered'];
  readonly exchanged: DriverContext['exchanged'];
  /** The text of a point; null when it has none now. */
  readonly says: (index: number, text: string | null) => void;
}

/** The one place where raw and engineering values meet: engineering = raw * scale + offset. */
function contextOf(points: readonly SitePoint[], wiring: Wiring): DriverContext {
  const byIndex = new Map(points.map((point) => [point.index, point]));
  const writable = points.filter((point) => point.writable);
  const pointOf = (index: number): SitePoint => {
    const point = byIndex.get(index);
    if (point === undefined) throw new Error(`point ${index} is of another channel`);
    return point;
  };
  // Starts behind the point that was served last, so that a busy point cannot starve the others of its channel.
  let next = 0;
  return {
    points,
    clock: wiring.clock,
    log: wiring.log,
    limits: wiring.limits,
    setOnline: wiring.setOnline,
    answered: wiring.answered,
    exchanged: wiring.exchanged,
    commandDone: wiring.done,
    readFailed: wiring.readFailed,
    publish(readings: readonly RawReading[]) {
      wiring.publish(
        readings.map((reading) => {
          const point = pointOf(reading.index);
          const value = scaledBy(reading.raw, reading.exponent ?? 0) * point.scale + point.offset;
          if (point.isText) wiring.says(reading.index, reading.text ?? null);
          return { index: reading.index, value, quality: judged(reading, value, point) };
        }),
      );
    },
    nextCommand() {
      for (let tried = 0; tried < writable.length; tried++) {
        const point = writable[next % writable.length];
        next = (next + 1) % writable.length;
        const command = point === undefined ? null : wiring.take(point.index);
        if (point !== undefined && command !== null)
          return { ...command, value: (command.value - point.offset) / point.scale };
      }
      return null;
    },
  };
}

/** A reading that says "not available", or lies outside its measurement point's range, is bad [points §2]. */
function judged(reading: RawReading, value: number, point: SitePoint): QualityCode {
  if (reading.quality !== quality.good && reading.quality !== quality.uncertain) return reading.quality;
  if (point.invalid.includes(reading.raw)) return quality.invalid;
  return point.kind === 'measurement' && !withinPoint(value, point) ? quality.outOfRange : reading.quality;
}

interface SafeValues {
  commanded(index: number): void;
  /** The device may not have the safe value: it is written again when it is due. */
  unwritten(index: number): void;
  /** The safe value of a point whose commands stayed away for its hold time; once until the next command. */
  due(index: number): TakenCommand | null;
  anyDue(): boolean;
}

function createSafeValues(points: readonly SitePoint[], memory: PointMemory, clock: Clock): SafeValues {
  interface Hold {
    readonly safeValue: number;
    readonly holdMaxMs: number;
    lastMs: number;
    written: boolean;
  }
  const startMs = clock.monotonicMs();
  const holds = new Map<number, Hold>();
  for (const { index, safeValue, holdMaxMs } of points) {
    if (safeValue !== undefined && holdMaxMs !== undefined)
      holds.set(index, { safeValue, holdMaxMs, lastMs: startMs, written: false });
  }
  const isDue = (hold: Hold): boolean => !hold.written && clock.monotonicMs() - hold.lastMs >= hold.holdMaxMs;
  return {
    commanded(index) {
      const hold = holds.get(index);
      if (hold === undefined) return;
      hold.lastMs = clock.monotonicMs();
      hold.written = false;
    },
    unwritten(index) {
      const hold = holds.get(index);
      if (hold !== undefined) hold.written = false;
    },
    due(index) {
      const hold = holds.get(index);
      if (hold === undefined || !isDue(hold)) return null;
      hold.written = true;
      Atomics.add(memory.safeWrites, index, 1);
      // Limits hold for the safe value too [points §7.2].
      const [low, high] = [memory.limitLow[index] ?? hold.safeValue, memory.limitHigh[index] ?? hold.safeValue];
      return { index, value: Math.min(Math.max(hold.safeValue, low), high), serial: 0 };
    },
    anyDue: () => [...holds.values()].some(isDue),
  };
}
