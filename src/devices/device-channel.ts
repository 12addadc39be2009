/**
 * One channel of the device layer: its driver, its readings and commands, and their counters. It is created for
 * given settings and points; if those change, a new one replaces it.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { CommandTaker, TakenCommand } from '../points/command-slots.ts';
import { createLiveTableWriter, type LiveTableWriter } from '../points/live-table.ts';
import { mayCommand, type PointMemory } from '../points/shared-memory.ts';
import { withinPoint } from '../rules/step.ts';
import type { Channel } from '../site/protocol/index.ts';
import { type QualityCode, quality } from '../site/quality.ts';
import { engineeringValue, rawValue } from '../site/scaling.ts';
import type { SitePoint } from '../site/site.ts';
import { sameData } from '../site/site-change.ts';
import { createDriver, type DriverMaterials } from './driver/index.ts';
import type { Driver, DriverContext, DriverFailure, RawReading } from './driver.ts';
import type { DeviceLimits } from './limits.ts';
import { scaledBy } from './modbus/modbus-codec.ts';
import { watchRefusals } from './refusals.ts';
import { type RunningChannel, runChannel, type Seat } from './run-channel.ts';
import { createSafeValues } from './safe-values.ts';
import { type ChannelTrace, createTrace } from './trace.ts';

/** Commands that the device confirmed, that failed, and that were dropped before they were sent. */
export interface CommandCounts {
  sent: number;
  failed: number;
  dropped: number;
}

/** The traffic of one channel since its start. */
export interface ChannelTraffic extends CommandCounts {
  /** Values read, and failed reads. */
  read: number;
  unread: number;
  /** Polls left out, because the device is slower than its interval. */
  late: number;
  /** Wall milliseconds of the newest value read; null before the first. */
  lastReadMs: number | null;
}

/** The latest value of a text point. */
export interface PointText {
  readonly index: number;
  readonly text: string;
}

/** The latest error of one point. */
export interface PointError extends DriverFailure {
  readonly index: number;
  /** Wall milliseconds. */
  readonly atMs: number;
}

/** The common dependencies of all channels of one device layer. */
export interface ChannelSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly memory: PointMemory;
  readonly limits: DeviceLimits;
  readonly materials: DriverMaterials;
  readonly taker: CommandTaker;
  /** Runs the driver's work so that an error in a later callback is attributed to this channel. */
  readonly isolated: (work: () => void) => void;
}

/** The parts of a channel. */
export interface ChannelIdentity {
  /** Position in the tables. */
  readonly position: number;
  /** Serial number; a successor has another one. */
  readonly serial: number;
  readonly channel: Channel;
  /** The channel's own. */
  readonly points: readonly SitePoint[];
}

export interface DeviceChannel extends ChannelIdentity, Pick<RunningChannel, 'start' | 'wake' | 'failed' | 'scan'> {
  traffic(): ChannelTraffic;
  errors(): readonly PointError[];
  texts(): readonly PointText[];
  trace(): ChannelTrace;
  /** Wakes the driver when a safe value is due. */
  hold(): void;
  /** Closes the driver; once this resolves, it no longer accesses the tables. */
  stop(): Promise<void>;
  /** After the stop: its points reject commands and have no values, except those that stay as they are. */
  clear(staying: readonly SitePoint[]): void;
}

/** Reads nothing before `start`. */
export function deviceChannel(identity: ChannelIdentity, surroundings: ChannelSurroundings): DeviceChannel {
  return new OpenChannel(identity, surroundings);
}

class OpenChannel implements DeviceChannel {
  readonly position;
  readonly serial;
  readonly channel: Channel;
  readonly points;
  readonly #around: ChannelSurroundings;
  readonly #log: Log;
  readonly #writer: LiveTableWriter;
  readonly #safe;
  readonly #refusals;
  readonly #trace;
  readonly #running: RunningChannel;
  readonly #counts = { sent: 0, failed: 0, read: 0, unread: 0, late: 0 };
  #lastReadMs: number | null = null;
  readonly #errors = new Map<number, PointError>();
  readonly #texts = new Map<number, string>();
  /** Afterwards the driver must not touch the tables of its successor. */
  #stopped = false;

  constructor({ position, serial, channel, points }: ChannelIdentity, around: ChannelSurroundings) {
    const { clock, log, memory, limits } = around;
    this.position = position;
    this.serial = serial;
    this.channel = channel;
    this.points = points;
    this.#around = around;
    this.#log = log.with({ channel: channel.id });
    const maxAgesMs: number[] = [];
    for (const { index, maxAgeMs } of points) maxAgesMs[index] = maxAgeMs;
    this.#writer = createLiveTableWriter(memory, clock, maxAgesMs);
    memory.certificateEndMs[position] = Number.NaN;
    this.#safe = createSafeValues(points, memory, clock);
    this.#refusals = watchRefusals(limits.refusing_after_ms);
    this.#trace = createTrace(limits.trace_exchanges);
    this.#running = runChannel({
      clock,
      limits,
      log: this.#log,
      isolated: around.isolated,
      start: (seat) => this.#begin(seat),
      lost: () => {
        if (!this.#stopped) this.clear([]);
      },
    });
  }

  readonly start = (): void => this.#running.start();
  readonly wake = (): void => this.#running.wake();
  readonly failed = (error: unknown): void => this.#running.failed(error);
  readonly scan: RunningChannel['scan'] = (question) => this.#running.scan(question);
  readonly trace = (): ChannelTrace => this.#trace.kept();
  readonly errors = (): readonly PointError[] => [...this.#errors.values()];
  readonly texts = (): readonly PointText[] => [...this.#texts].map(([index, text]) => ({ index, text }));

  traffic(): ChannelTraffic {
    const { taker } = this.#around;
    return {
      ...this.#counts,
      lastReadMs: this.#lastReadMs,
      dropped: this.points.reduce((sum, { index }) => sum + taker.dropped(index), 0),
    };
  }

  hold(): void {
    if (this.#safe.anyDue()) this.wake();
  }

  async stop(): Promise<void> {
    await this.#running.stop();
    this.#stopped = true;
  }

  clear(staying: readonly SitePoint[]): void {
    this.#setOnline(false);
    this.#texts.clear();
    const gone = this.points.filter((point) => !staying.some((other) => sameData(other, point)));
    this.#unread(gone.map(({ index }) => index));
  }

  /** The last readings of these points no longer count. */
  #unread(indexes: readonly number[]): void {
    for (const index of indexes) this.#texts.delete(index);
    this.#writer.publish(indexes.map((index) => ({ index, value: Number.NaN, quality: quality.bad })));
  }

  #setOnline(online: boolean): void {
    const { memory, taker } = this.#around;
    Atomics.store(memory.online, this.position, online ? 1 : 0);
    if (online) return;
    Atomics.store(memory.refusing, this.position, 0);
    // Accepted commands that were not sent yet are dropped: after a reconnect they would be late.
    for (const { index } of this.points) taker.drop(index);
    this.#safeUnwritten();
  }

  /** The device may come back with any value: the safe one is written again. */
  #safeUnwritten(): void {
    for (const { index } of this.points) this.#safe.unwritten(index);
  }

  #begin(seat: Seat): Driver {
    const { clock, limits, materials, memory } = this.#around;
    const isCurrent = (): boolean => !this.#stopped && !seat.left;
    const whileCurrent =
      <A extends unknown[]>(work: (...given: A) => void) =>
      (...given: A): void => {
        if (isCurrent()) work(...given);
      };
    const context = contextOf(this.points, {
      clock,
      log: this.#log,
      limits,
      publish: whileCurrent((readings) => {
        this.#counts.read += readings.length;
        if (readings.length > 0) this.#lastReadMs = clock.wallMs();
        this.#writer.publish(readings);
      }),
      exchanged: this.#trace.add,
      says: (index, text) => {
        if (text === null) this.#texts.delete(index);
        else this.#texts.set(index, text);
      },
      setOnline: whileCurrent((online) => this.#setOnline(online)),
      reconnected: whileCurrent(() => this.#safeUnwritten()),
      certified: whileCurrent(({ beginMs, endMs }) => {
        memory.certificateBeginMs[this.position] = beginMs;
        memory.certificateEndMs[this.position] = endMs;
      }),
      take: (index) => (isCurrent() ? this.#take(index) : null),
      done: whileCurrent((command, failure) => this.#done(command, failure)),
      readFailed: whileCurrent((indexes, failure) => {
        this.#counts.unread += indexes.length;
        for (const index of indexes) this.#errors.set(index, { index, ...failure, atMs: clock.wallMs() });
        this.#unread(indexes);
      }),
      forget: whileCurrent(() => this.#unread(this.points.map(({ index }) => index))),
      late: whileCurrent(() => this.#counts.late++),
      answered: whileCurrent((what, refused) => this.#answered(what, refused)),
    });
    return createDriver(this.channel, context, materials);
  }

  #take(index: number): TakenCommand | null {
    const { taker, memory, clock } = this.#around;
    const command = taker.take(index);
    if (command !== null) {
      this.#safe.commanded(index);
      return command;
    }
    return mayCommand(memory, clock.monotonicMs()) ? this.#safe.due(index) : null;
  }

  #done({ index, serial }: TakenCommand, failure: DriverFailure | null): void {
    const { taker, clock } = this.#around;
    if (failure === null) this.#counts.sent++;
    else {
      this.#counts.failed++;
      this.#safe.unwritten(index);
      this.#errors.set(index, { index, ...failure, atMs: clock.wallMs() });
    }
    // Last, so that a thread that reads a failed result finds its error.
    if (serial !== 0) taker.report(index, serial, failure === null);
  }

  #answered(what: 'read' | 'write', refused: boolean): void {
    const { clock, memory } = this.#around;
    const refuses = this.#refusals.answered(what, refused, clock.monotonicMs());
    const before = Atomics.exchange(memory.refusing, this.position, refuses ? 1 : 0);
    if (refuses && before === 0)
      this.#log.error('the device answers every request of this kind with an exception', { what });
  }
}

interface Wiring {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: DeviceLimits;
  readonly publish: LiveTableWriter['publish'];
  readonly setOnline: (online: boolean) => void;
  readonly reconnected: () => void;
  readonly certified: DriverContext['certified'];
  readonly take: (index: number) => TakenCommand | null;
  readonly done: DriverContext['commandDone'];
  readonly readFailed: DriverContext['readFailed'];
  readonly forget: DriverContext['forget'];
  readonly late: DriverContext['late'];
  readonly answered: DriverContext['answered'];
  readonly exchanged: DriverContext['exchanged'];
  /** The text of a point; null if it has none now. */
  readonly says: (index: number, text: string | null) => void;
}

/** The only conversion between raw and engineering values. */
function contextOf(points: readonly SitePoint[], wiring: Wiring): DriverContext {
  const byIndex = new Map(points.map((point) => [point.index, point]));
  const writable = points.filter((point) => point.writable);
  const pointOf = (index: number): SitePoint => {
    const point = byIndex.get(index);
    if (point === undefined) throw new Error(`point ${index} is of another channel`);
    return point;
  };
  // Starts after the point that was served last, so that a busy point cannot starve the others of its channel.
  let next = 0;
  return {
    points,
    clock: wiring.clock,
    log: wiring.log,
    limits: wiring.limits,
    setOnline: wiring.setOnline,
    reconnected: wiring.reconnected,
    certified: wiring.certified,
    late: wiring.late,
    answered: wiring.answered,
    exchanged: wiring.exchanged,
    commandDone: wiring.done,
    readFailed: wiring.readFailed,
    forget: wiring.forget,
    publish(readings: readonly RawReading[]) {
      wiring.publish(
        readings.map((reading) => {
          const point = pointOf(reading.index);
          const value = engineeringValue(scaledBy(reading.raw, reading.exponent ?? 0), point);
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
        if (point !== undefined && command !== null) return { ...command, value: rawValue(command.value, point) };
      }
      return null;
    },
  };
}

/** A reading that means "not available", or lies outside its measurement point's range, is bad [points §2]. */
function judged(reading: RawReading, value: number, point: SitePoint): QualityCode {
  if (reading.quality !== quality.good && reading.quality !== quality.uncertain) return reading.quality;
  if (point.invalid.includes(reading.raw)) return quality.invalid;
  return point.kind === 'measurement' && !withinPoint(value, point) ? quality.outOfRange : reading.quality;
}
