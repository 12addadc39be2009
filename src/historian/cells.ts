/**
 * The cells of one window [data-processing §4.2]: raw rows and rollups go in, in any mixture, and one value a label
 * comes out. Knows nothing of where they came from.
 */
import { quality } from '../site/quality.ts';
import type { InstantSpan, WindowAnswer, WindowRequest } from './historian.ts';
import { inRange, type RollupSummary, rollupFlags, roundingLoss } from './rollup.ts';

/** One raw row of an instant. */
export interface RawRow {
  readonly ingestedMs: number;
  readonly value: number | null;
  readonly quality: number;
}

export interface Cells {
  /** All rows of one instant, in the order in which they were appended. */
  addInstant(eventMs: number, rows: readonly RawRow[]): void;
  /** A rollup that lies within one cell and equals its rows. */
  addRollup(endMs: number, rollup: RollupSummary): void;
  /** The event time of a number that participated, where its rollup gave only a bound of it. */
  observed(eventMs: number): void;
  answer(): WindowAnswer;
}

export function createCells(request: WindowRequest): Cells {
  const { asOfMs, cadenceMs, steps, range, maxSourceSkewMs } = request;
  const reduction = createReduction(request);
  const uncertainCells = new Uint8Array(steps);
  let rowCount = 0;
  let skewedRows = 0;
  let skewedSpan: InstantSpan | null = null;
  let outOfRangeRows = 0;
  let outOfRangeSpan: InstantSpan | null = null;
  let watermarkMs = Number.NEGATIVE_INFINITY;
  let firstDuplicateMs = Number.POSITIVE_INFINITY;

  const indexOf = (eventMs: number): number => {
    const index = steps - 1 - Math.floor((asOfMs - eventMs) / cadenceMs);
    if (!(index >= 0 && index < steps)) throw new Error('a row outside the window');
    return index;
  };

  return {
    addInstant(eventMs, rows) {
      rowCount += rows.length;
      let newest: RawRow | undefined;
      let standing = 0;
      for (const row of rows) {
        if (eventMs - row.ingestedMs > maxSourceSkewMs) {
          skewedRows++;
          skewedSpan = widened(skewedSpan, eventMs);
          continue;
        }
        standing++;
        if (newest === undefined || row.ingestedMs >= newest.ingestedMs) newest = row;
      }
      if (standing > 1) firstDuplicateMs = Math.min(firstDuplicateMs, eventMs);
      if (newest === undefined || newest.value === null) return;
      if (range !== undefined && !inRange(newest.value, range)) {
        outOfRangeRows++;
        outOfRangeSpan = widened(outOfRangeSpan, eventMs);
        return;
      }
      const index = indexOf(eventMs);
      reduction.add(index, eventMs, newest.value, 1);
      if (newest.quality === quality.uncertain) uncertainCells[index] = 1;
      watermarkMs = Math.max(watermarkMs, eventMs);
    },
    addRollup(endMs, rollup) {
      rowCount += rollup.rowCount;
      if (rollup.valueCount === 0) return;
      const index = indexOf(endMs);
      reduction.add(index, rollup.lastMs, rollup.value, rollup.valueCount);
      if ((rollup.flags & rollupFlags.uncertain) !== 0) uncertainCells[index] = 1;
      watermarkMs = Math.max(watermarkMs, rollup.lastMs);
    },
    observed(eventMs) {
      watermarkMs = Math.max(watermarkMs, eventMs);
    },
    answer: () => ({
      cells: reduction.values(),
      watermarkMs: watermarkMs === Number.NEGATIVE_INFINITY ? null : watermarkMs,
      rows: rowCount,
      skewedRows,
      skewedSpan,
      outOfRangeRows,
      outOfRangeSpan,
      uncertainCells,
      firstDuplicateMs: firstDuplicateMs === Number.POSITIVE_INFINITY ? null : firstDuplicateMs,
    }),
  };
}

/** Spans of rows may be read newest part first. */
function widened(span: InstantSpan | null, eventMs: number): InstantSpan {
  if (span === null) return { firstMs: eventMs, lastMs: eventMs };
  return { firstMs: Math.min(span.firstMs, eventMs), lastMs: Math.max(span.lastMs, eventMs) };
}

interface Reduction {
  /** One value, or that of the asked aggregation over `count` values, at a moment that orders it among the others. */
  add(index: number, atMs: number, value: number, count: number): void;
  /** One value a label; NaN where nothing participated, or where a sum overflowed. */
  values(): Float64Array;
}

/** Numbers side by side instead of an object a cell: a window has thousands of cells. */
function createReduction({ aggregation, steps }: WindowRequest): Reduction {
  const values = new Float64Array(steps);
  switch (aggregation) {
    case 'mean':
    case 'sum':
      return summing(values, aggregation === 'mean');
    case 'min':
      return choosing(values.fill(Number.NaN), (value, chosen) => value < chosen);
    case 'max':
      return choosing(values.fill(Number.NaN), (value, chosen) => value > chosen);
    case 'last':
      return newest(values.fill(Number.NaN));
  }
}

function summing(sums: Float64Array, mean: boolean): Reduction {
  const lost = new Float64Array(sums.length);
  const counts = new Float64Array(sums.length);
  return {
    add(index, _atMs, value, count) {
      const sum = sums[index] ?? 0;
      lost[index] = (lost[index] ?? 0) + roundingLoss(sum, value);
      sums[index] = sum + value;
      counts[index] = (counts[index] ?? 0) + count;
    },
    values() {
      const reduced = new Float64Array(sums.length);
      for (let index = 0; index < reduced.length; index++) {
        const count = counts[index] ?? 0;
        const sum = (sums[index] ?? 0) + (lost[index] ?? 0);
        reduced[index] = count > 0 && Number.isFinite(sum) ? (mean ? sum / count : sum) : Number.NaN;
      }
      return reduced;
    },
  };
}

function choosing(chosen: Float64Array, better: (value: number, than: number) => boolean): Reduction {
  return {
    add(index, _atMs, value) {
      const before = chosen[index] ?? Number.NaN;
      if (Number.isNaN(before) || better(value, before)) chosen[index] = value;
    },
    values: () => chosen,
  };
}

function newest(last: Float64Array): Reduction {
  const lastMs = new Float64Array(last.length).fill(Number.NEGATIVE_INFINITY);
  return {
    add(index, atMs, value) {
      if (!(atMs > (lastMs[index] ?? 0))) return;
      lastMs[index] = atMs;
      last[index] = value;
    },
    values: () => last,
  };
}
