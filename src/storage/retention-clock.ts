/**
 * The time by which stored data is old enough to be removed [platform §1.4]. It follows the wall clock at no more than 24 times the speed of time:
 * a clock that is years ahead for an hour then costs a day of the oldest data, and not all of it.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { readIfThere, replaceDurably } from '../base/own-file.ts';
import { dayMs, parseTimestamp, timeLabel } from '../base/timestamp.ts';

export interface RetentionTime {
  /** Milliseconds since the epoch. */
  nowMs(): number;
}

/** Milliseconds since the epoch, in memory that threads share. */
export type RetentionCell = BigInt64Array<SharedArrayBuffer>;

/** After a stop of a year, retention has caught up in 16 days. */
const speedMax = 24;
/** Where it begins without a file while the wall clock is not set yet. From 1970, catching up would take years. */
const earliestMs = Date.UTC(2026, 0, 1);
/** Interval of its steps; a killed process loses at most one. */
export const retentionStepMs = 600_000;

/** The followed time `passedMs` after `beforeMs`: the wall clock, or as near to it as the speed allows, in either direction. */
export function followed(beforeMs: number, passedMs: number, wallMs: number): number {
  const reachMs = passedMs * speedMax;
  return Math.max(beforeMs - reachMs, Math.min(wallMs, beforeMs + reachMs));
}

export function retentionCell(ms: number): RetentionCell {
  const cell = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  Atomics.store(cell, 0, BigInt(Math.floor(ms)));
  return cell;
}

export function retentionOf(cell: RetentionCell): RetentionTime {
  return { nowMs: () => Number(Atomics.load(cell, 0)) };
}

export class RetentionClock implements RetentionTime {
  /** For other threads: the followed time, or the wall clock where that is behind it. */
  readonly cell: RetentionCell;
  readonly #file: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #followedMs: number;
  #monotonicMs: number;
  #isBehind = false;
  #isUnwritten = false;
  #timer: Timer | undefined;

  constructor(file: string, clock: Clock, log: Log) {
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
    this.#monotonicMs = clock.monotonicMs();
    const wallMs = clock.wallMs();
    this.#followedMs = this.#stored() ?? Math.max(wallMs, earliestMs);
    this.cell = retentionCell(Math.min(this.#followedMs, wallMs));
    this.#step();
    this.#wait();
  }

  nowMs(): number {
    return retentionOf(this.cell).nowMs();
  }

  close(): void {
    this.#timer?.cancel();
    this.#step();
  }

  /** Null without a file: in a new installation, or one of an earlier version. */
  #stored(): number | null {
    try {
      const text = readIfThere(this.#file);
      const storedMs = text === null ? null : parseTimestamp(text.trim());
      if (text !== null && storedMs === null) throw new Error('not a time');
      return storedMs;
    } catch (error) {
      const why = { file: this.#file, error: String(error) };
      this.#log.error('the retention time cannot be read; using the wall clock', why);
      return null;
    }
  }

  #wait(): void {
    this.#timer = this.#clock.after(retentionStepMs, () => {
      this.#step();
      this.#wait();
    });
  }

  #step(): void {
    const [monotonicMs, wallMs] = [this.#clock.monotonicMs(), this.#clock.wallMs()];
    this.#followedMs = followed(this.#followedMs, monotonicMs - this.#monotonicMs, wallMs);
    this.#monotonicMs = monotonicMs;
    Atomics.store(this.cell, 0, BigInt(Math.floor(Math.min(this.#followedMs, wallMs))));
    this.#tell(wallMs - this.#followedMs);
    this.#write();
  }

  /** A full disk stops nothing: the next step writes again. */
  #write(): void {
    try {
      replaceDurably(this.#file, `${timeLabel(this.#followedMs)}\n`);
      this.#isUnwritten = false;
    } catch (error) {
      if (!this.#isUnwritten) this.#log.warn('cannot write the retention time', { error: String(error) });
      this.#isUnwritten = true;
    }
  }

  #tell(behindMs: number): void {
    if (behindMs > dayMs && !this.#isBehind)
      this.#log.warn('the clock is far ahead of the last run, or was set: old data is removed later than usual', {
        days: Math.round(behindMs / dayMs),
      });
    this.#isBehind = behindMs > dayMs;
  }
}
