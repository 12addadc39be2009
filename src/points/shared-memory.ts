/**
 * The only memory that threads share (ARCHITECTURE.md, "Four paths"): the live table, the ring of changes, the command
 * slots, channel states and the generation. Made once by the main thread; each table has one writing thread, named at
 * the head of the file that writes it.
 */
import { quality } from '../site/quality.ts';

type Int32 = Int32Array<SharedArrayBuffer>;
type Float64 = Float64Array<SharedArrayBuffer>;

/** Cells of `header`. */
export const header = { sequence: 0, generation: 1, ringHead: 2, ringTail: 3, ringLost: 4 } as const;
/** Cells of `doorbells`. */
export const doorbells = { changes: 0, commands: 1 } as const;
/**
 * States of a command slot. The engine passes through `writing`, the device layer through `taking`, so that neither sees
 * half a command of the other.
 */
export const slotState = { empty: 0, full: 1, writing: 2, taking: 3 } as const;

/** Codes of `outcome`: what the driver reported of a command that was accepted. */
export const commandOutcomes = { none: 0, written: 1, failed: 2, expired: 3 } as const;
/** Changes that may wait for the engine; more are sampled instead (power of two). */
export const ringSize = 8192;

export interface PointMemory {
  readonly header: Int32;
  readonly doorbells: Int32;
  /** Live table, by point index: engineering value, quality code, monotonic ms of the reading. */
  readonly values: Float64;
  readonly quality: Uint8Array<SharedArrayBuffer>;
  readonly observedMs: Float64;
  readonly runs: RunMemory;
  /** Ring of changes. */
  readonly ringIndex: Int32;
  readonly ringUsable: Int32;
  readonly ringValue: Float64;
  /** Command slots, by point index; a point that cannot be written has a slot that stays empty. */
  readonly slotState: Int32;
  readonly slotGeneration: Int32;
  readonly slotValue: Float64;
  readonly slotPriority: Float64;
  readonly slotIssuedMs: Float64;
  /** Number of the command that was accepted last; it grows with each one. */
  readonly slotSerial: Int32;
  /** Value and monotonic ms of the command that was accepted last. */
  readonly commandedValue: Float64;
  readonly commandedMs: Float64;
  /** The result of a command, written by the device layer: its number, then its `outcome`. */
  readonly outcomeSerial: Int32;
  readonly outcome: Int32;
  /** Safe values that the device layer wrote of itself. */
  readonly safeWrites: Int32;
  /** Bounds of whatever is written, by the engine: the safe value keeps them too. */
  readonly limitLow: Float64;
  readonly limitHigh: Float64;
  /** By point index: position of its channel, and whether commands may be sent to it. */
  readonly channelOf: Int32;
  readonly writable: Int32;
  /** By channel: 1 when it can take commands. */
  readonly online: Int32;
  /** By channel: 1 while the device answers and refuses what it is asked. */
  readonly refusing: Int32;
  /** By channel: wall ms between which the certificate that the other end showed last is valid; NaN without one. */
  readonly certificateBeginMs: Float64;
  readonly certificateEndMs: Float64;
  /** One cell: the monotonic millisecond until which this process may command. */
  readonly lease: BigInt64Array<SharedArrayBuffer>;
}

/**
 * Observations counted where they are polled, by point index: the recorder looks less often than some devices are read. A run is
 * what one value of one quality was observed for without a gap.
 */
export interface RunMemory {
  /** Usable readings so far. */
  readonly observations: Float64;
  /** Runs so far. */
  readonly runs: Float64;
  /** Number of the current run's first observation. */
  readonly first: Float64;
  /** When the observation before it was; NaN after a gap. Monotonic ms. */
  readonly beforeMs: Float64;
  /** When its newest one was. */
  readonly lastMs: Float64;
}

const noEnd = 2n ** 62n;

interface DescribedPoint {
  readonly channel: number;
  readonly writable: boolean;
}

/** `room`: places for points and channels in all, where some may be added later. */
export function createPointMemory(
  points: readonly DescribedPoint[],
  channels: number,
  room = { points: points.length, channels },
): PointMemory {
  const int32 = (length: number): Int32 => new Int32Array(new SharedArrayBuffer(Math.max(1, length) * 4));
  const float64 = (length: number): Float64 => new Float64Array(new SharedArrayBuffer(Math.max(1, length) * 8));
  const count = room.points;
  const memory: PointMemory = {
    header: int32(Object.keys(header).length),
    doorbells: int32(Object.keys(doorbells).length),
    values: float64(count),
    quality: new Uint8Array(new SharedArrayBuffer(Math.max(1, count))),
    observedMs: float64(count),
    runs: {
      observations: float64(count),
      runs: float64(count),
      first: float64(count),
      beforeMs: float64(count),
      lastMs: float64(count),
    },
    ringIndex: int32(ringSize),
    ringUsable: int32(ringSize),
    ringValue: float64(ringSize),
    slotState: int32(count),
    slotGeneration: int32(count),
    slotValue: float64(count),
    slotPriority: float64(count),
    slotIssuedMs: float64(count),
    slotSerial: int32(count),
    commandedValue: float64(count),
    commandedMs: float64(count),
    outcomeSerial: int32(count),
    outcome: int32(count),
    safeWrites: int32(count),
    limitLow: float64(count),
    limitHigh: float64(count),
    channelOf: int32(count),
    writable: int32(count),
    online: int32(room.channels),
    refusing: int32(room.channels),
    certificateBeginMs: float64(room.channels),
    certificateEndMs: float64(room.channels),
    lease: new BigInt64Array(new SharedArrayBuffer(8)),
  };
  // A process that nobody shares the site with may always command.
  memory.lease[0] = noEnd;
  memory.values.fill(Number.NaN);
  memory.commandedValue.fill(Number.NaN);
  memory.certificateBeginMs.fill(Number.NaN);
  memory.certificateEndMs.fill(Number.NaN);
  memory.limitLow.fill(Number.NEGATIVE_INFINITY);
  memory.limitHigh.fill(Number.POSITIVE_INFINITY);
  describePoints(memory, points);
  return memory;
}

/** What another thread is changing mostly takes microseconds: to look again is quicker than to wait. */
const looksAtOnce = 200;
/** Looks until a reader or writer gives up; the later ones wait. */
export const looksMax = 300;
const waitMs = 0.1;

export type Wait = (cells: Int32, index: number, seen: number) => unknown;

const waitBriefly: Wait = (cells, index, seen) => Atomics.wait(cells, index, seen, waitMs);

/**
 * Between two looks at a cell: gives the processor away if the other thread takes long, because its batch is large or it has lost its own
 * processor. All looks together take some 20 ms at the most.
 */
export function betweenLooks(look: number, cells: Int32, index: number, seen: number, wait = waitBriefly): void {
  if (look >= looksAtOnce) wait(cells, index, seen);
}

/** Whether the channel of a point is online. */
export function isOnline(memory: PointMemory, index: number): boolean {
  return Atomics.load(memory.online, memory.channelOf[index] ?? 0) === 1;
}

/** Says of all points where they lead to; while a service runs, only when no engine does. */
export function describePoints(memory: PointMemory, points: readonly DescribedPoint[]): void {
  points.forEach((point, index) => {
    memory.channelOf[index] = point.channel;
    memory.writable[index] = point.writable ? 1 : 0;
  });
}

/**
 * Begins a new generation, after the device layer that wrote the tables is gone: first the number grows, so that no
 * decision of the old one is accepted, then values become unavailable and commands in flight are dropped [points §4.2].
 */
export function beginGeneration(memory: PointMemory): number {
  const generation = Atomics.add(memory.header, header.generation, 1) + 1;
  // A writer that was ended in the middle of a batch left an odd sequence behind.
  const sequence = Atomics.load(memory.header, header.sequence);
  Atomics.store(memory.header, header.sequence, sequence | 1);
  memory.values.fill(Number.NaN);
  memory.quality.fill(quality.missing);
  for (let slot = 0; slot < memory.slotState.length; slot++) dropCommand(memory, slot);
  for (let channel = 0; channel < memory.online.length; channel++) {
    Atomics.store(memory.online, channel, 0);
    Atomics.store(memory.refusing, channel, 0);
  }
  Atomics.store(memory.header, header.sequence, (sequence | 1) + 1);
  // Everything changed at once: the reader samples all points.
  Atomics.store(memory.header, header.ringLost, 1);
  return generation;
}

/** Empties a slot; a command that was in it has expired. True when there was one. */
export function dropCommand(memory: PointMemory, slot: number): boolean {
  if (Atomics.exchange(memory.slotState, slot, slotState.empty) !== slotState.full) return false;
  Atomics.store(memory.outcome, slot, commandOutcomes.expired);
  Atomics.store(memory.outcomeSerial, slot, Atomics.load(memory.slotSerial, slot));
  return true;
}

/** The lease of a process that shares its site with others; without any it ends at once. */
export function setLease(memory: PointMemory, untilMs: number): void {
  Atomics.store(memory.lease, 0, BigInt(Math.floor(untilMs)));
}

/** Whether commands may be sent now, by the clock that never jumps: a lease ends by itself. */
export function mayCommand(memory: PointMemory, monotonicMs: number): boolean {
  return BigInt(Math.ceil(monotonicMs)) < Atomics.load(memory.lease, 0);
}

export function currentGeneration(memory: PointMemory): number {
  return Atomics.load(memory.header, header.generation);
}
