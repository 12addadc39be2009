/**
 * The cells of one window [data-processing §4.2]: raw rows and rollups in, in any combination, and one value per label
 * out. Independent of their source.
 */
import { quality } from '../site/quality.ts';
import type { InstantSpan, TrendCells, WindowAnswer, WindowRequest } from './historian.ts';
import { newestObservedMs, type ObservedRow, observedIn, type RawRow } from './observations.ts';
import { type RollupSummary, rollupFlags, roundingLoss, rowInRange } from './rollup.ts';
import type { RowBlock } from './row-block.ts';

/** Event times in (afterMs, throughMs]. */
export interface Span {
  readonly afterMs: number;
  readonly throughMs: number;
}

export interface WindowAccumulator {
  /** All rows of one instant in `span`, in the order in which they were appended. */
  addInstant(eventMs: number, rows: readonly RawRow[], span: Span): void;
  /** The rows of a block at the places [from, to), which lie in `span`, without those ingested after `knownAtMs`. */
  addBlock(block: RowBlock, from: number, to: number, knownAtMs: number, span: Span): void;
  /** Adds the part of a row after `span` that belongs to it. */
  addReach(eventMs: number, row: RawRow, span: Span): void;
  /** A rollup that lies within one cell and equals its rows. */
  addRollup(endMs: number, rollup: RollupSummary): void;
  /** The event time of a number that participated, if its rollup gave only a bound. */
  observed(eventMs: number): void;
  answer(): WindowAnswer;
}

export function createCells(request: WindowRequest): WindowAccumulator {
  return new WindowCells(request);
}

class WindowCells implements WindowAccumulator {
  readonly #asOfMs;
  readonly #cadenceMs;
  readonly #steps;
  readonly #range;
  readonly #maxSourceSkewMs;
  readonly #reduction;
  readonly #trend;
  readonly #sums;
  readonly #uncertainCells;
  #rowCount = 0;
  #skewedRows = 0;
  #skewedSpan: InstantSpan | null = null;
  #outOfRangeRows = 0;
  #outOfRangeSpan: InstantSpan | null = null;
  #watermarkMs = Number.NEGATIVE_INFINITY;
  #firstDuplicateMs = Number.POSITIVE_INFINITY;

  constructor(request: WindowRequest) {
    const { asOfMs, cadenceMs, steps, range, maxSourceSkewMs } = request;
    this.#asOfMs = asOfMs;
    this.#cadenceMs = cadenceMs;
    this.#steps = steps;
    this.#range = range;
    this.#maxSourceSkewMs = maxSourceSkewMs;
    this.#reduction = createReduction(request);
    this.#trend = request.aggregation === 'trend' ? new TrendReduction(steps) : null;
    this.#sums = request.aggregation === 'mean' || request.aggregation === 'sum';
    this.#uncertainCells = new Uint8Array(this.#steps);
  }

  addInstant(eventMs: number, rows: readonly RawRow[], span: Span): void {
    this.#rowCount += rows.length;
    let newest: RawRow | undefined;
    let standing = 0;
    for (const row of rows) {
      if (this.#isSkewed(eventMs, row.ingestedMs)) continue;
      standing++;
      if (newest === undefined || row.ingestedMs >= newest.ingestedMs) newest = row;
    }
    if (standing > 1) this.#firstDuplicateMs = Math.min(this.#firstDuplicateMs, eventMs);
    if (newest === undefined || newest.value === null || this.#isOutOfRange(eventMs, newest.value)) return;
    this.#addObservations(eventMs, newest, newest.value, span);
  }

  addBlock(block: RowBlock, from: number, to: number, knownAtMs: number, span: Span): void {
    const { eventMs } = block;
    const [values, codes, sinceMs] = [block.values(), block.quality(), block.sinceMs()];
    const ingestedMs = this.#isIngestionAsked(block, knownAtMs) ? block.ingestedMs() : null;
    let index = -1;
    let cellEndMs = Number.NEGATIVE_INFINITY;
    for (let place = from, end = from; place < to; place = end) {
      const atMs = eventMs[place] as number;
      do end++;
      while (end < to && eventMs[end] === atMs);
      if (end === place + 1 && (sinceMs === null || Number.isNaN(sinceMs[place]))) {
        if (atMs > cellEndMs) {
          index = this.#indexOf(atMs);
          cellEndMs = this.#endOf(index);
        }
        const ingested = ingestedMs === null ? atMs : (ingestedMs[place] as number);
        if (ingested <= knownAtMs)
          this.#addSingle(index, atMs, values[place] as number, ingested, codes[place] as number);
        continue;
      }
      const rows: RawRow[] = [];
      for (; place < end; place++)
        if (ingestedMs === null || (ingestedMs[place] as number) <= knownAtMs) rows.push(block.row(place));
      if (rows.length > 0) this.addInstant(atMs, rows, span);
    }
  }

  /** Whether ingestion times must be checked row by row: not if all rows have one delay that is acceptable. */
  #isIngestionAsked({ sameDelayMs }: RowBlock, knownAtMs: number): boolean {
    return sameDelayMs === null || -sameDelayMs > this.#maxSourceSkewMs || knownAtMs < Number.MAX_SAFE_INTEGER;
  }

  /** The only row at an event time, with one observation, as most rows are; avoids an object. `value`: NaN for no value. */
  #addSingle(index: number, eventMs: number, value: number, ingestedMs: number, code: number): void {
    this.#rowCount++;
    if (this.#isSkewed(eventMs, ingestedMs) || Number.isNaN(value) || this.#isOutOfRange(eventMs, value)) return;
    this.#add(index, eventMs, value, 1, code);
  }

  /** Counts a row from the future, which does not participate. */
  #isSkewed(eventMs: number, ingestedMs: number): boolean {
    if (eventMs - ingestedMs <= this.#maxSourceSkewMs) return false;
    this.#skewedRows++;
    this.#skewedSpan = widened(this.#skewedSpan, eventMs);
    return true;
  }

  /** Counts a value outside the range, which does not participate. */
  #isOutOfRange(eventMs: number, value: number): boolean {
    if (this.#range === undefined || rowInRange(value, this.#range)) return false;
    this.#outOfRangeRows++;
    this.#outOfRangeSpan = widened(this.#outOfRangeSpan, eventMs);
    return true;
  }

  addReach(eventMs: number, row: RawRow, span: Span): void {
    if (row.value === null || eventMs - row.ingestedMs > this.#maxSourceSkewMs) return;
    if (this.#range !== undefined && !rowInRange(row.value, this.#range)) return;
    this.#addObservations(eventMs, row, row.value, span);
  }

  #addObservations(eventMs: number, row: RawRow, value: number, span: Span): void {
    const observed: ObservedRow = { eventMs, ...(row.observations && { observations: row.observations }) };
    const firstMs = row.observations === undefined ? eventMs : row.observations.sinceMs + 1;
    const lastMs = Math.min(eventMs, span.throughMs);
    for (let index = this.#indexOf(Math.max(firstMs, span.afterMs + 1)); index <= this.#indexOf(lastMs); index++) {
      const endMs = this.#endOf(index);
      const throughMs = Math.min(endMs, lastMs);
      const count = observedIn(observed, Math.max(endMs - this.#cadenceMs, span.afterMs), throughMs);
      if (count === 0) continue;
      this.#add(index, newestObservedMs(observed, throughMs), value, count, row.quality);
    }
  }

  /** `count` observations of a value in one cell, the newest at `atMs`. */
  #add(index: number, atMs: number, value: number, count: number, code: number): void {
    this.#reduction.add(index, atMs, this.#sums || this.#trend !== null ? value * count : value, count);
    this.#trend?.add(index, { lastMs: atMs, lastValue: value, min: value, max: value, weight: count });
    if (code === quality.uncertain) this.#uncertainCells[index] = 1;
    this.#watermarkMs = Math.max(this.#watermarkMs, atMs);
  }

  addRollup(endMs: number, rollup: RollupSummary): void {
    this.#rowCount += rollup.rowCount;
    if (rollup.weight === 0) return;
    const index = this.#indexOf(endMs);
    this.#reduction.add(index, rollup.lastMs, rollup.value, rollup.weight);
    this.#trend?.add(index, rollup);
    if ((rollup.flags & rollupFlags.uncertain) !== 0) this.#uncertainCells[index] = 1;
    this.#watermarkMs = Math.max(this.#watermarkMs, rollup.lastMs);
  }

  observed(eventMs: number): void {
    this.#watermarkMs = Math.max(this.#watermarkMs, eventMs);
  }

  answer(): WindowAnswer {
    return {
      cells: this.#reduction.values(),
      watermarkMs: this.#watermarkMs === Number.NEGATIVE_INFINITY ? null : this.#watermarkMs,
      rows: this.#rowCount,
      skewedRows: this.#skewedRows,
      skewedSpan: this.#skewedSpan,
      outOfRangeRows: this.#outOfRangeRows,
      outOfRangeSpan: this.#outOfRangeSpan,
      uncertainCells: this.#uncertainCells,
      firstDuplicateMs: this.#firstDuplicateMs === Number.POSITIVE_INFINITY ? null : this.#firstDuplicateMs,
      trend: this.#trend?.cells() ?? null,
    };
  }

  #endOf(index: number): number {
    return this.#asOfMs - (this.#steps - 1 - index) * this.#cadenceMs;
  }

  #indexOf(eventMs: number): number {
    const index = this.#steps - 1 - Math.floor((this.#asOfMs - eventMs) / this.#cadenceMs);
    if (!(index >= 0 && index < this.#steps)) throw new Error('a row outside the window');
    return index;
  }
}

/** Spans of rows may be read newest part first. */
function widened(span: InstantSpan | null, eventMs: number): InstantSpan {
  if (span === null) return { firstMs: eventMs, lastMs: eventMs };
  return { firstMs: Math.min(span.firstMs, eventMs), lastMs: Math.max(span.lastMs, eventMs) };
}

/** The values of a trend beside the mean. */
class TrendReduction {
  readonly #min: Reduction;
  readonly #max: Reduction;
  readonly #last: Reduction;
  readonly #observations: Float64Array;

  constructor(steps: number) {
    const empty = (): Float64Array => new Float64Array(steps).fill(Number.NaN);
    this.#min = choosing(empty(), (value, chosen) => value < chosen);
    this.#max = choosing(empty(), (value, chosen) => value > chosen);
    this.#last = newest(empty());
    this.#observations = new Float64Array(steps);
  }

  add(index: number, part: Pick<RollupSummary, 'lastMs' | 'lastValue' | 'min' | 'max' | 'weight'>): void {
    const { lastMs, lastValue, min, max, weight } = part;
    this.#min.add(index, lastMs, min, weight);
    this.#max.add(index, lastMs, max, weight);
    this.#last.add(index, lastMs, lastValue, weight);
    this.#observations[index] = (this.#observations[index] ?? 0) + weight;
  }

  cells(): TrendCells {
    const [min, max, last] = [this.#min.values(), this.#max.values(), this.#last.values()];
    return { min, max, last, observations: this.#observations };
  }
}

interface Reduction {
  /** One value, or the requested aggregate of `count` values, with the time that orders it among the others. */
  add(index: number, atMs: number, value: number, count: number): void;
  /** One value per label; NaN if nothing participated or a sum overflowed. */
  values(): Float64Array;
}

/** Parallel arrays instead of an object per cell: a window has thousands of cells. */
function createReduction({ aggregation, steps }: WindowRequest): Reduction {
  const values = new Float64Array(steps);
  switch (aggregation) {
    case 'mean':
    case 'trend':
    case 'sum':
      return summing(values, aggregation !== 'sum');
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
