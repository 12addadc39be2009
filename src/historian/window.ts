/**
 * A windowed read [data-processing §4.2]. If the labels fall on borders of rollups these are read, and each one that
 * may differ from its rows is replaced by the rows; on any other grid all rows are read. An engine only answers
 * queries, synchronously or asynchronously.
 */

import { createCells, type Span, type WindowAccumulator } from './cells.ts';
import type { SeriesRange, WindowAnswer, WindowRequest } from './historian.ts';
import { observationsMsMax, type RawRow } from './observations.ts';
import { equalsRows, rollupEndMs, rollupWidthsMs, widestRollupMs } from './rollup.ts';
import { placesIn, rowParts } from './row-parts.ts';
import { ordinalColumn, seriesAsked, unpackRollup, type WindowSource } from './window-queries.ts';

export interface ReadOptions {
  /** False reads every row: for comparison in the bench and the tests. */
  readonly useRollups: boolean;
  /** False reads rows one by one. Only files have blocks. */
  readonly useBlocks: boolean;
  /** How long the newest row may represent further observations: until the recorder would have written another one. */
  readonly standsMs: number;
}

type Row = readonly unknown[];

/** `turn` is awaited where the read may be interrupted; it throws to cancel. */
export async function readWindow(
  source: WindowSource,
  request: WindowRequest,
  options: ReadOptions,
  turn: () => Promise<void>,
): Promise<WindowAnswer> {
  check(request);
  const cells = createCells(request);
  const read = new WindowRead(source, request, cells, turn);
  for (const gap of await read.rollups(options.useRollups)) await read.rows(gap);
  const stood = standingSpan(request, options.standsMs);
  if (stood !== null) await read.standing(stood);
  return cells.answer();
}

/** Rows between two places where a read may be interrupted. */
const stepRows = 512;
/** No row of an instant comes after it. */
const largestOrdinal = 2_147_483_647;

class WindowRead {
  readonly #source: WindowSource;
  readonly #request: WindowRequest;
  readonly #cells: WindowAccumulator;
  readonly #turn: () => Promise<void>;
  readonly #series;
  readonly #known;

  constructor(source: WindowSource, request: WindowRequest, cells: WindowAccumulator, turn: () => Promise<void>) {
    this.#source = source;
    this.#request = request;
    this.#cells = cells;
    this.#turn = turn;
    this.#series = seriesAsked(request.series);
    // Ingestion times are whole milliseconds far below the greatest.
    this.#known = { known: request.knownAtMs ?? Number.MAX_SAFE_INTEGER };
  }

  /** Reads the rollups of the window; returns the spans that must be read row by row. */
  async rollups(useRollups: boolean): Promise<readonly Span[]> {
    const { aggregation, range, maxSourceSkewMs } = this.#request;
    const { queries } = this.#source;
    const query = queries.rollups(aggregation, range !== undefined && isBounded(range));
    // Leads are whole milliseconds, and without a limit it is one that no lead reaches.
    const skew = Math.min(Math.floor(maxSourceSkewMs), Number.MAX_SAFE_INTEGER);
    const taker = new RollupTaker(this.#request, this.#cells);
    for (const width of rollupLevels(this.#request, useRollups)) {
      const portionMs = width * queries.portion;
      for (const gap of taker.nextLevel(width)) {
        const endMs = rollupEndMs(gap.throughMs, width);
        for (let after = gap.afterMs; after < endMs; after += portionMs) {
          const span = { after, through: Math.min(endMs, after + portionMs) };
          const rollups = await this.#source.ask(query, { ...this.#series, ...this.#known, ...span, width, skew });
          await this.#each(rollups, (row) => taker.take(row, gap));
        }
      }
    }
    const last = taker.newest();
    if (last !== null) {
      const [newest] = await this.#source.ask(queries.newest, { ...this.#series, ...last });
      this.#cells.observed(Number(newest?.[0]));
    }
    return taker.gaps();
  }

  /** Reads the rows of a span, and the row after it that represents observations in it. */
  async rows(gap: Span): Promise<void> {
    if (gap.throughMs - gap.afterMs < widestRollupMs) await this.#oneByOne(gap, gap);
    else
      for await (const { span, block } of rowParts(this.#source, this.#series, gap)) {
        if (block === null) await this.#oneByOne(span, gap);
        else {
          const [from, to] = placesIn(block, span);
          this.#cells.addBlock(block, from, to, this.#known.known, gap);
          block.release();
          await this.#turn();
        }
      }
    const asked = { ...this.#series, ...this.#known, through: gap.throughMs };
    const [row] = await this.#source.ask(this.#source.queries.reaching, {
      ...asked,
      reach: gap.throughMs + observationsMsMax,
    });
    if (row !== undefined) this.#cells.addReach(Number(row[0]), rawRow(row), gap);
  }

  /** Rows of a part of `gap` outside blocks. */
  async #oneByOne(span: Span, gap: Span): Promise<void> {
    const { rows, portion } = this.#source.queries;
    const asked = { ...this.#series, ...this.#known, through: span.throughMs };
    const instants = new InstantTaker(this.#cells, gap);
    // Nothing of the instant right before the span.
    for (let behind = { after: span.afterMs, ordinal: largestOrdinal }; ; ) {
      const answer = await this.#source.ask(rows, { ...asked, ...behind });
      await this.#each(answer, (row) => instants.take(row));
      const last = answer.at(-1);
      if (last === undefined || answer.length < portion) break;
      behind = { after: Number(last[0]), ordinal: Number(last[ordinalColumn]) };
    }
    instants.end();
  }

  /** Reads the observations in a span that the newest row of the series represents. */
  async standing(span: Span): Promise<void> {
    const [row] = await this.#source.ask(this.#source.queries.standing, { ...this.#series, ...this.#known });
    if (row === undefined) return;
    const eventMs = Number(row[0]);
    const stood = standingRow(eventMs, rawRow(row), span);
    if (stood !== null) this.#cells.addReach(stood.eventMs, stood.row, { ...span, afterMs: eventMs });
  }

  async #each(rows: readonly Row[], take: (row: Row) => void): Promise<void> {
    let taken = 0;
    for (const row of rows) {
      take(row);
      taken++;
      if (taken % stepRows === 0) await this.#turn();
    }
    await this.#turn();
  }
}

/** The time of the newest row of its series, if it may represent further observations; otherwise null. */
function standingSpan({ asOfMs, cadenceMs, steps }: WindowRequest, standsMs: number): Span | null {
  return standsMs > 0 ? { afterMs: Math.max(asOfMs - steps * cadenceMs, asOfMs - standsMs), throughMs: asOfMs } : null;
}

function check({ asOfMs, cadenceMs, steps, maxSourceSkewMs }: WindowRequest): void {
  const whole = Number.isSafeInteger(asOfMs) && Number.isSafeInteger(cadenceMs) && Number.isSafeInteger(steps);
  if (!whole || cadenceMs < 1 || steps < 1 || !(maxSourceSkewMs >= 0)) throw new Error('not a window');
}

/** Cells whose labels cut rollups must be this much wider than the rollups: otherwise most of their rows are read anyway. */
const cutCellRollups = 8;

/**
 * Rollup widths to read, widest first; empty to read rows only. Where labels cut rollups, the next narrower width fills the gaps,
 * until a width that no label cuts.
 */
function rollupLevels({ asOfMs, cadenceMs }: WindowRequest, useRollups: boolean): readonly number[] {
  if (!useRollups) return [];
  const isWhole = (width: number): boolean => asOfMs % width === 0 && cadenceMs % width === 0;
  const whole = rollupWidthsMs.findIndex(isWhole);
  const levels = whole === -1 ? rollupWidthsMs : rollupWidthsMs.slice(0, whole + 1);
  return levels.filter((width) => isWhole(width) || cadenceMs >= width * cutCellRollups);
}

/** False if every number is in the range. */
function isBounded(range: SeriesRange): boolean {
  return Object.values(range).some((bound) => bound !== undefined);
}

/** Adds rollups to the cells, and collects the remaining spans. */
class RollupTaker {
  readonly #request: WindowRequest;
  readonly #cells: WindowAccumulator;
  // One object for all of them, because there are thousands; it is read before the next one is unpacked.
  readonly #rollup = { rowCount: 0, weight: 0, lastMs: 0, flags: 0, value: 0, min: 0, max: 0, lastValue: 0 };
  #gaps: Span[];
  #width = 0;
  #newest: { readonly width: number; readonly end: number } | null = null;

  constructor(request: WindowRequest, cells: WindowAccumulator) {
    const { asOfMs, cadenceMs, steps } = request;
    this.#request = request;
    this.#cells = cells;
    this.#gaps = [{ afterMs: asOfMs - steps * cadenceMs, throughMs: asOfMs }];
  }

  /** Starts with rollups of this width: the spans to be read. */
  nextLevel(width: number): readonly Span[] {
    const left = this.#gaps;
    this.#width = width;
    this.#gaps = [];
    return left;
  }

  /** Takes the next rollup of `span`, in the order of the query, if it lies in one cell and equals its rows. */
  take(row: Row, span: Span): void {
    const endMs = Number(row[0]);
    const beginMs = endMs - this.#width;
    const rollup = this.#rollup;
    unpackRollup(row, rollup);
    // Within its interval, which orders it among the others, if the time itself was not read.
    if (Number.isNaN(rollup.lastMs)) rollup.lastMs = beginMs;
    if (this.#isInOneCell(beginMs, endMs, span) && equalsRows(rollup, this.#request.range)) {
      this.#cells.addRollup(endMs, rollup);
      if (rollup.weight > 0 && endMs > (this.#newest?.end ?? Number.NEGATIVE_INFINITY))
        this.#newest = { width: this.#width, end: endMs };
      return;
    }
    const gap = { afterMs: Math.max(beginMs, span.afterMs), throughMs: Math.min(endMs, span.throughMs) };
    const before = this.#gaps.at(-1);
    if (before?.throughMs === gap.afterMs) this.#gaps[this.#gaps.length - 1] = { ...before, throughMs: gap.throughMs };
    else this.#gaps.push(gap);
  }

  /** Spans not covered by a rollup, adjacent ones joined. */
  gaps(): readonly Span[] {
    return this.#gaps;
  }

  /** The newest rollup with a number: the `newest` query tells when exactly that one was. */
  newest(): { readonly width: number; readonly end: number } | null {
    return this.#newest;
  }

  #isInOneCell(beginMs: number, endMs: number, { afterMs, throughMs }: Span): boolean {
    const { asOfMs, cadenceMs } = this.#request;
    if (beginMs < afterMs || endMs > throughMs) return false;
    return Math.floor((asOfMs - endMs) / cadenceMs) === Math.floor((asOfMs - beginMs - 1) / cadenceMs);
  }
}

/** Adds the rows of a span to the cells, complete event times at a time. */
class InstantTaker {
  readonly #cells: WindowAccumulator;
  readonly #span: Span;
  #instantMs = Number.NaN;
  #instant: RawRow[] = [];

  constructor(cells: WindowAccumulator, span: Span) {
    this.#cells = cells;
    this.#span = span;
  }

  take(row: Row): void {
    const eventMs = Number(row[0]);
    if (eventMs !== this.#instantMs) {
      this.end();
      this.#instantMs = eventMs;
    }
    this.#instant.push(rawRow(row));
  }

  end(): void {
    if (this.#instant.length > 0) this.#cells.addInstant(this.#instantMs, this.#instant, this.#span);
    this.#instant = [];
  }
}

function rawRow([, ingestedMs, value, quality, count, sinceMs]: readonly unknown[]): RawRow {
  return {
    ingestedMs: Number(ingestedMs),
    value: typeof value === 'number' ? value : null,
    quality: Number(quality),
    ...(sinceMs !== null && { observations: { count: Number(count), sinceMs: Number(sinceMs) } }),
  };
}

/** The observations that follow the newest row, at its spacing; null when there are none in the span. */
function standingRow(
  eventMs: number,
  row: RawRow,
  { afterMs, throughMs }: Span,
): { readonly eventMs: number; readonly row: RawRow } | null {
  if (row.observations === undefined || eventMs <= afterMs || eventMs >= throughMs) return null;
  const spacingMs = (eventMs - row.observations.sinceMs) / row.observations.count;
  const count = Math.floor((throughMs - eventMs) / spacingMs);
  if (count < 1) return null;
  // Never ingested, so never from the future.
  return {
    eventMs: Math.floor(eventMs + count * spacingMs),
    row: { ...row, ingestedMs: Number.POSITIVE_INFINITY, observations: { count, sinceMs: eventMs } },
  };
}
