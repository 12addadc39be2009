/**
 * Accepted commands as series [points §6.1]: one row when the value of an actuator changes, and periodic rows while the command
 * repeats. A row represents the commands since the previous row. Of several commands to one point within one read, the last is
 * recorded.
 */
import type { PointMemory } from '../points/shared-memory.ts';
import { quality } from '../site/quality.ts';
import type { SitePoint } from '../site/site.ts';
import { seriesKey } from './append.ts';
import type { HistoryRow, SeriesId } from './historian.ts';

export type CommandedPoint = Pick<SitePoint, 'index' | 'instance' | 'id'>;

/** Action points: their commands are always recorded. */
export function commandedPoints(points: readonly SitePoint[]): CommandedPoint[] {
  return points.filter(({ kind }) => kind === 'action').map(({ index, instance, id }) => ({ index, instance, id }));
}

export interface CommandIntervals {
  /** Repeated commands share a row if none comes later than twice this time after the one before. */
  readonly recordIntervalMs: number;
  /** Longest time without a row while commands repeat. */
  readonly repeatMs: number;
}

interface Moments {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

interface Commanded {
  readonly series: SeriesId;
  readonly index: number;
  value: number;
  latest: Moments;
  /** Of the newest row. */
  recorded: Moments;
  /** Commands after it, up to the latest. */
  count: number;
}

const never: Moments = { monotonicMs: 0, wallMs: 0 };

export class CommandObserver {
  readonly #memory: Pick<PointMemory, 'commandedMs' | 'commandedValue'>;
  readonly #intervals: CommandIntervals;
  readonly #points: readonly Commanded[];

  constructor(
    points: readonly CommandedPoint[],
    memory: Pick<PointMemory, 'commandedMs' | 'commandedValue'>,
    intervals: CommandIntervals,
  ) {
    this.#memory = memory;
    this.#intervals = intervals;
    this.#points = points.map(({ index, instance, id }) => ({
      series: { instance, point: id, kind: 'action' },
      index,
      value: Number.NaN,
      latest: never,
      recorded: never,
      count: 0,
    }));
  }

  look(now: Moments): HistoryRow[] {
    return this.#points.flatMap((point) => this.#lookAt(point, now));
  }

  /** Rows for the commands without one; of these series, or of all. */
  pending(wallMs: number, series?: readonly SeriesId[]): HistoryRow[] {
    const asked = series === undefined ? null : new Set(series.map(seriesKey));
    const points = this.#points.filter((point) => asked === null || asked.has(seriesKey(point.series)));
    return points.flatMap((point) => repeatedRow(point, wallMs));
  }

  #lookAt(point: Commanded, now: Moments): HistoryRow[] {
    const atMs = this.#memory.commandedMs[point.index] ?? 0;
    const value = this.#memory.commandedValue[point.index] ?? Number.NaN;
    const gapMs = atMs - point.latest.monotonicMs;
    if (gapMs <= 0 || !Number.isFinite(value)) return [];
    const at = { monotonicMs: atMs, wallMs: Math.floor(now.wallMs - (now.monotonicMs - atMs)) };
    if (value === point.value && gapMs <= 2 * this.#intervals.recordIntervalMs) {
      point.latest = at;
      point.count++;
      const isLong = atMs - point.recorded.monotonicMs >= this.#intervals.repeatMs;
      return isLong ? repeatedRow(point, now.wallMs) : [];
    }
    // Rows of one millisecond would be duplicates.
    const before = repeatedRow(point, now.wallMs).filter(({ eventMs }) => eventMs !== at.wallMs);
    Object.assign(point, { value, latest: at, recorded: at, count: 0 } satisfies Partial<Commanded>);
    return [...before, rowOf(point, now.wallMs)];
  }
}

/** None if a wall clock that was set back would place it before the previous row. */
function repeatedRow(point: Commanded, ingestedMs: number): HistoryRow[] {
  const { count, latest, recorded } = point;
  point.count = 0;
  point.recorded = latest;
  if (count === 0 || latest.wallMs <= recorded.wallMs) return [];
  return [{ ...rowOf(point, ingestedMs), ...(count > 1 && { observations: { count, sinceMs: recorded.wallMs } }) }];
}

function rowOf({ series, value, latest }: Commanded, ingestedMs: number): HistoryRow {
  return { series, eventMs: latest.wallMs, ingestedMs, value, quality: quality.good };
}
