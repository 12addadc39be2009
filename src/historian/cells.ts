/**
 * The cells of one window (§4.3 "History reads"): raw rows and rollups go in, in any mixture, and one value a label
 * comes out. Knows nothing of where they came from.
 */
import { quality } from '../rules/snapshot.ts';
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
  answer(): WindowAnswer;
}

export function createCells(request: WindowRequest): Cells {
  const { asOfMs, cadenceMs, steps, range, maxSourceSkewMs } = request;
  const cells = Array.from({ length: steps }, emptyCell);
  const uncertainCells = new Uint8Array(steps);
  let rowCount = 0;
  let skewedRows = 0;
  let skewedSpan: InstantSpan | null = null;
  let outOfRangeRows = 0;
  let outOfRangeSpan: InstantSpan | null = null;
  let watermarkMs = Number.NEGATIVE_INFINITY;
  let firstDuplicateMs = Number.POSITIVE_INFINITY;

  const indexOf = (eventMs: number): number => steps - 1 - Math.floor((asOfMs - eventMs) / cadenceMs);
  const cellAt = (index: number): Cell => {
    const cell = cells[index];
    if (cell === undefined) throw new Error('a row outside the window');
    return cell;
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
      addValue(cellAt(index), eventMs, newest.value);
      if (newest.quality === quality.uncertain) uncertainCells[index] = 1;
      watermarkMs = Math.max(watermarkMs, eventMs);
    },
    addRollup(endMs, rollup) {
      rowCount += rollup.rowCount;
      if (rollup.valueCount === 0) return;
      const index = indexOf(endMs);
      addValue(cellAt(index), rollup.lastMs, rollup.value, rollup.valueCount);
      if ((rollup.flags & rollupFlags.uncertain) !== 0) uncertainCells[index] = 1;
      watermarkMs = Math.max(watermarkMs, rollup.lastMs);
    },
    answer: () => ({
      cells: Float64Array.from(cells, (cell) => finiteOrMissing(valueOf(cell, request))),
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

interface Cell {
  count: number;
  sum: number;
  sumLow: number;
  min: number;
  max: number;
  last: number;
  lastMs: number;
}

function emptyCell(): Cell {
  return {
    count: 0,
    sum: 0,
    sumLow: 0,
    min: Number.POSITIVE_INFINITY,
    max: Number.NEGATIVE_INFINITY,
    last: Number.NaN,
    lastMs: Number.NEGATIVE_INFINITY,
  };
}

/** One value, or that of the asked aggregation over `count` values: only that aggregation is read afterwards. */
function addValue(cell: Cell, eventMs: number, value: number, count = 1): void {
  cell.count += count;
  cell.sumLow += roundingLoss(cell.sum, value);
  cell.sum += value;
  if (value < cell.min) cell.min = value;
  if (value > cell.max) cell.max = value;
  if (eventMs > cell.lastMs) {
    cell.lastMs = eventMs;
    cell.last = value;
  }
}

/** NaN when nothing participated: an empty bucket stays missing. */
function valueOf(cell: Cell, request: WindowRequest): number {
  if (cell.count === 0) return Number.NaN;
  switch (request.aggregation) {
    case 'mean':
      return (cell.sum + cell.sumLow) / cell.count;
    case 'sum':
      return cell.sum + cell.sumLow;
    case 'min':
      return cell.min;
    case 'max':
      return cell.max;
    case 'last':
      return cell.last;
  }
}

/** A sum that overflowed has no value. */
function finiteOrMissing(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN;
}
