/**
 * A windowed read [data-processing §4.2]. Where the labels fall on borders of rollups these are read, and each one that
 * does not provably equal its rows is replaced by the rows; on any other grid all rows are read. Queries and what is made of
 * their rows are shared by both engines.
 */

import { sql } from 'kysely';
import type { Steps } from '../base/turns.ts';
import { createCells, type RawRow, type Span, type WindowAccumulator } from './cells.ts';
import type { SeriesId, SeriesRange, WindowAnswer, WindowRequest } from './historian.ts';
import { observationsMsMax } from './observations.ts';
import { cutFlag, equalsRows, type RollupSummary, rollupEndMs, rollupWidthsMs } from './rollup.ts';
import type { HistoryDatabase, HistoryQueries, HistoryQuery, Places } from './store/history-database.ts';

export interface WindowReader {
  window(request: WindowRequest): Steps<WindowAnswer>;
}

export interface ReadOptions {
  /** False reads every row: what the bench and the tests compare with. */
  readonly useRollups: boolean;
  /** How long the newest row stands for more observations than it says: until the recorder would have written another one. */
  readonly standsMs: number;
}

export function createWindowReader(database: HistoryDatabase, { useRollups, standsMs }: ReadOptions): WindowReader {
  const findSeries = seriesFinder(database);
  const rawRows = database.statement(['series', 'after', 'through', 'known'], rowsQuery);
  const names = ['series', 'width', 'after', 'through', 'skew', 'known'] as const;
  const rollups = perQuestion((...asked) => database.statement(names, rollupsQuery(...asked)));
  const newest = database.statement(['series', 'width', 'end'], newestQuery);
  const reaching = database.statement(['series', 'through', 'reach', 'known'], reachingQuery);
  const standing = database.statement(['series', 'known'], standingQuery);
  return {
    *window(request) {
      check(request);
      const cells = createCells(request);
      const series = findSeries(request.series);
      if (series === null) return cells.answer();
      const taker = rollupTaker(request, cells);
      for (const width of rollupLevels(request, useRollups)) {
        const asked = { series, ...rollupsAsked(request, width) };
        for (const gap of taker.nextLevel(width)) {
          // All rows of a portion at once: one by one they cost twice as much.
          const end = rollupEndMs(gap.throughMs, width);
          for (let after = gap.afterMs; after < end; after += width * portionRollups) {
            const through = Math.min(end, after + width * portionRollups);
            yield* taker.take(rollups(request).all({ ...asked, after, through }), gap);
            yield;
          }
        }
      }
      const last = taker.newest();
      if (last !== null) cells.observed(Number(newest.all({ series, ...last })[0]?.[0]));
      const rows = rowTaker(cells);
      for (const gap of taker.gaps()) {
        yield* rows.take(rawRows.iterate({ series, ...rowsAsked(request, gap) }), gap);
        rows.reach(reaching.all({ series, ...reachAsked(request, gap) }), gap);
      }
      const stood = standingSpan(request, standsMs);
      if (stood !== null) rows.stand(standing.all({ series, known: knownMs(request) }), stood);
      return cells.answer();
    },
  };
}

type RowsName = 'series' | 'after' | 'through' | 'known';

/** What a read takes of a row, in this order. */
export const rowColumns = ['event_ms', 'ingested_ms', 'value', 'quality', 'observations', 'since_ms'] as const;

const rowsQuery: HistoryQuery<RowsName> = (query, at) =>
  query
    .selectFrom('sample')
    .select(rowColumns)
    .where('series', '=', at.series)
    .where('event_ms', '>', at.after)
    .where('event_ms', '<=', at.through)
    .where('ingested_ms', '<=', at.known)
    .orderBy('event_ms')
    .orderBy('ordinal');

/** The first row after a span that stands for observations in it. */
export const reachingQuery: HistoryQuery<'series' | 'through' | 'reach' | 'known'> = (query, at) =>
  query
    .selectFrom('sample')
    .select(rowColumns)
    .where('series', '=', at.series)
    .where('event_ms', '>', at.through)
    .where('event_ms', '<=', at.reach)
    .where('since_ms', '<', at.through)
    .where('ingested_ms', '<=', at.known)
    .orderBy('event_ms')
    .orderBy('ordinal', 'desc')
    .limit(1);

export function reachAsked(
  request: WindowRequest,
  { throughMs }: Span,
): Readonly<Record<'through' | 'reach' | 'known', number>> {
  return { through: throughMs, reach: throughMs + observationsMsMax, known: knownMs(request) };
}

/** The newest row of a series. */
export const standingQuery: HistoryQuery<'series' | 'known'> = (query, at) =>
  query
    .selectFrom('sample')
    .select(rowColumns)
    .where('series', '=', at.series)
    .where('ingested_ms', '<=', at.known)
    .orderBy('event_ms', 'desc')
    .orderBy('ordinal', 'desc')
    .limit(1);

/** Where a row that is the newest of its series may stand for more than it says; null where none does. */
export function standingSpan({ asOfMs, cadenceMs, steps }: WindowRequest, standsMs: number): Span | null {
  return standsMs > 0 ? { afterMs: Math.max(asOfMs - steps * cadenceMs, asOfMs - standsMs), throughMs: asOfMs } : null;
}

/** What names a series in a query; a kind is a number there, as all values of queries are. */
export const seriesNames = ['instance', 'kind', 'point'] as const;
export type SeriesName = (typeof seriesNames)[number];

export function seriesAsked({ instance, point, kind }: SeriesId): Readonly<Record<SeriesName, number>> {
  return { instance, kind: kind === 'action' ? 1 : 0, point };
}

export function seriesKind(kind: Places<'kind'>['kind']) {
  return sql<'measurement' | 'action'>`CASE CAST(${kind} AS integer) WHEN 1 THEN 'action' ELSE 'measurement' END`;
}

export function seriesQuery(query: HistoryQueries, at: Places<SeriesName>) {
  return query
    .selectFrom('series')
    .select('id')
    .where('instance', '=', at.instance)
    .where('kind', '=', seriesKind(at.kind))
    .where('point', '=', at.point);
}

/** The row of a series, or null when nothing was ever recorded for it. */
export function seriesFinder(database: HistoryDatabase): (series: SeriesId) => number | null {
  const find = database.statement(seriesNames, seriesQuery);
  return (series) => {
    const id = find.all(seriesAsked(series))[0]?.[0];
    return id === undefined ? null : Number(id);
  };
}

export function check({ asOfMs, cadenceMs, steps, maxSourceSkewMs }: WindowRequest): void {
  const whole = Number.isSafeInteger(asOfMs) && Number.isSafeInteger(cadenceMs) && Number.isSafeInteger(steps);
  if (!whole || cadenceMs < 1 || steps < 1 || !(maxSourceSkewMs >= 0)) throw new Error('not a window');
}

function spanOf({ asOfMs, cadenceMs, steps }: WindowRequest): Span {
  return { afterMs: asOfMs - steps * cadenceMs, throughMs: asOfMs };
}

/** Cells that labels cut out of rollups must be this much wider than these: else most of their rows are read anyway. */
const cutCellRollups = 8;

/**
 * Rollup widths to read, widest first; empty to read rows only. Where labels cut rollups, the next narrower width fills the gaps,
 * until a width that no label cuts.
 */
export function rollupLevels({ asOfMs, cadenceMs }: WindowRequest, useRollups: boolean): readonly number[] {
  if (!useRollups) return [];
  const isWhole = (width: number): boolean => asOfMs % width === 0 && cadenceMs % width === 0;
  const whole = rollupWidthsMs.findIndex(isWhole);
  const levels = whole === -1 ? rollupWidthsMs : rollupWidthsMs.slice(0, whole + 1);
  return levels.filter((width) => isWhole(width) || cadenceMs >= width * cutCellRollups);
}

type RollupName = RowsName | 'width' | 'skew';

/** Of each rollup what `aggregation` needs, in as few columns as it fits: a column less is a tenth of the time. */
export function rollupsQuery(aggregation: WindowRequest['aggregation'], ranged: boolean): HistoryQuery<RollupName> {
  return (query, at) =>
    query
      .selectFrom('rollup')
      .select((column) => {
        const flags = column(
          'flags',
          '+',
          column
            .case()
            .when(column.or([column('lead_ms', '>', at.skew), column('ingested_ms', '>', at.known)]))
            .then(column.lit(cutFlag))
            .else(column.lit(0))
            .end(),
        );
        const rows = column('row_count', '*', column.lit(rowsPlace));
        const weight = column(column.parens('value_count', '+', column.ref('repeats')), '*', column.lit(weightPlace));
        const packed = column(column(rows, '+', weight), '+', flags);
        return [
          'end_ms',
          packed.as('packed'),
          aggregation === 'mean' || aggregation === 'sum' || aggregation === 'trend'
            ? column('sum', '+', column.ref('sum_low')).as('value')
            : column.ref(aggregation === 'last' ? 'last_value' : aggregation).as('value'),
        ];
      })
      .$if(ranged || aggregation === 'trend', (more) => more.select(['min', 'max']))
      .$if(aggregation === 'trend', (more) => more.select(['last_value', 'last_ms']))
      .where('series', '=', at.series)
      .where('width_ms', '=', at.width)
      .where('end_ms', '>', at.after)
      .where('end_ms', '<=', at.through)
      .orderBy('end_ms');
}

/** The event time of the newest number of one rollup. */
export const newestQuery: HistoryQuery<'series' | 'width' | 'end'> = (query, at) =>
  query
    .selectFrom('rollup')
    .select('last_ms')
    .where('series', '=', at.series)
    .where('width_ms', '=', at.width)
    .where('end_ms', '=', at.end);

/** One statement for each kind of question, compiled when it is first asked. */
export function perQuestion<S>(
  compile: (aggregation: WindowRequest['aggregation'], ranged: boolean) => S,
): (request: WindowRequest) => S {
  const compiled = new Map<string, S>();
  return ({ aggregation, range }) => {
    const ranged = range !== undefined && isBounded(range);
    const key = `${aggregation} ${ranged}`;
    const known = compiled.get(key) ?? compile(aggregation, ranged);
    compiled.set(key, known);
    return known;
  };
}

/** False where every number is in the range. */
function isBounded(range: SeriesRange): boolean {
  return Object.values(range).some((bound) => bound !== undefined);
}

export function rollupsAsked(
  request: WindowRequest,
  width: number,
): Readonly<Record<Exclude<RollupName, 'series'>, number>> {
  // Leads are whole milliseconds, and no limit at all is one that no lead reaches.
  const skew = Math.min(Math.floor(request.maxSourceSkewMs), Number.MAX_SAFE_INTEGER);
  return { width, skew, ...rowsAsked(request, spanOf(request)) };
}

export function rowsAsked(request: WindowRequest, span: Span): Readonly<Record<Exclude<RowsName, 'series'>, number>> {
  return { after: span.afterMs, through: span.throughMs, known: knownMs(request) };
}

/**
 * How a rollup's flags, its observations and its rows share one number: a rollup that equals its rows has at most one of
 * them a millisecond of 15 minutes, and where one has more, only the flags are read.
 */
const weightPlace = 16;
const rowsPlace = weightPlace * 2 ** 24;

/** Rollups of one query of a file. */
const portionRollups = 4096;
/** Rows between two places where a read may be interrupted. */
const stepRows = 512;

interface RollupTaker {
  /** Begins with rollups of this width: the spans that are left to be read. */
  nextLevel(width: number): readonly Span[];
  /** Takes the rollups that lie in one cell of `span` and equal their rows, in the order of `rollupsQuery`. */
  take(rows: readonly (readonly unknown[])[], span: Span): Steps<void>;
  /** Spans not covered by a rollup, adjacent ones joined. */
  gaps(): readonly Span[];
  /** The newest rollup with a number: `newestQuery` tells when exactly that one was. */
  newest(): { readonly width: number; readonly end: number } | null;
}

export function rollupTaker(request: WindowRequest, cells: WindowAccumulator): RollupTaker {
  return new LevelledTaker(request, cells);
}

class LevelledTaker implements RollupTaker {
  readonly #request: WindowRequest;
  readonly #cells: WindowAccumulator;
  // One for all of them, because there are thousands; it is read before the next one is unpacked.
  readonly #rollup = { rowCount: 0, weight: 0, lastMs: 0, flags: 0, value: 0, min: 0, max: 0, lastValue: 0 };
  #gaps: Span[];
  #width = 0;
  #newest: { readonly width: number; readonly end: number } | null = null;

  constructor(request: WindowRequest, cells: WindowAccumulator) {
    this.#request = request;
    this.#cells = cells;
    this.#gaps = [spanOf(request)];
  }

  nextLevel(width: number): readonly Span[] {
    const left = this.#gaps;
    this.#width = width;
    this.#gaps = [];
    return left;
  }

  *take(rows: readonly (readonly unknown[])[], span: Span): Steps<void> {
    let taken = 0;
    for (const row of rows) {
      this.#takeOne(row, span);
      taken++;
      if (taken % stepRows === 0) yield;
    }
  }

  gaps(): readonly Span[] {
    return this.#gaps;
  }

  newest() {
    return this.#newest;
  }

  #takeOne(row: readonly unknown[], span: Span): void {
    const endMs = Number(row[0]);
    const beginMs = endMs - this.#width;
    const rollup = this.#rollup;
    unpack(row, rollup);
    // Within its interval, which orders it among the others, where the moment itself was not read.
    if (row[6] === undefined) rollup.lastMs = beginMs;
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

  #isInOneCell(beginMs: number, endMs: number, { afterMs, throughMs }: Span): boolean {
    const { asOfMs, cadenceMs } = this.#request;
    if (beginMs < afterMs || endMs > throughMs) return false;
    return Math.floor((asOfMs - endMs) / cadenceMs) === Math.floor((asOfMs - beginMs - 1) / cadenceMs);
  }
}

function unpack(row: readonly unknown[], into: { -readonly [K in keyof RollupSummary]: RollupSummary[K] }): void {
  const packed = Number(row[1]);
  into.flags = packed % weightPlace;
  into.weight = Math.floor((packed % rowsPlace) / weightPlace);
  into.rowCount = Math.floor(packed / rowsPlace);
  // A sum that overflowed is stored as NULL.
  into.value = row[2] === null ? Number.NaN : Number(row[2]);
  into.min = Number(row[3]);
  into.max = Number(row[4]);
  into.lastValue = Number(row[5]);
  into.lastMs = Number(row[6]);
}

/** Ingestion times are whole milliseconds far below the greatest. */
export function knownMs({ knownAtMs }: WindowRequest): number {
  return knownAtMs ?? Number.MAX_SAFE_INTEGER;
}

interface RowTaker {
  /** Rows of `span` in the order of `rowsQuery`; those of an instant may come in two goes. */
  take(rows: Iterable<readonly unknown[]>, span: Span): Steps<void>;
  /** The row of `reachingQuery`, after the rows of its span. */
  reach(rows: readonly (readonly unknown[])[], span: Span): void;
  /** The row of `standingQuery`, at last. */
  stand(rows: readonly (readonly unknown[])[], span: Span): void;
}

/** Gives rows to the cells, whole instants at a time. */
export function rowTaker(cells: WindowAccumulator): RowTaker {
  let instant: RawRow[] = [];
  let instantMs = Number.NaN;
  const flush = (span: Span): void => {
    if (instant.length > 0) cells.addInstant(instantMs, instant, span);
    instant = [];
  };
  return {
    *take(rows, span) {
      let taken = 0;
      for (const row of rows) {
        taken++;
        if (taken % stepRows === 0) yield;
        const eventMs = Number(row[0]);
        if (eventMs !== instantMs) {
          flush(span);
          instantMs = eventMs;
        }
        instant.push(rawRow(row));
      }
    },
    reach([row], span) {
      flush(span);
      if (row !== undefined) cells.addReach(Number(row[0]), rawRow(row), span);
    },
    stand([row], span) {
      if (row === undefined) return;
      const eventMs = Number(row[0]);
      const stood = standingRow(eventMs, rawRow(row), span);
      if (stood !== null) cells.addReach(stood.eventMs, stood.row, { ...span, afterMs: eventMs });
    },
  };
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
  // Nothing that was ingested: it comes from the future of no clock.
  return {
    eventMs: Math.floor(eventMs + count * spacingMs),
    row: { ...row, ingestedMs: Number.POSITIVE_INFINITY, observations: { count, sinceMs: eventMs } },
  };
}
