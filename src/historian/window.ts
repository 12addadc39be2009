/**
 * A windowed read (§4.3 "History reads"). Where the labels fall on borders of rollups these are read, and each one that
 * does not provably equal its rows is replaced by the rows; on any other grid all rows are read.
 */
import type { HistoryDatabase, Statement } from '../storage/history-database.ts';
import { type Cells, createCells, type RawRow } from './cells.ts';
import type { SeriesId, WindowAnswer, WindowRequest } from './historian.ts';
import { equalsRows, rollupWidthsMs } from './rollup.ts';
import { rollupColumns, rollupOf } from './series-store.ts';

export interface WindowReader {
  window(request: WindowRequest): WindowAnswer;
}

/** `useRollups: false` reads every row: what the bench and the tests compare with. */
export function createWindowReader(database: HistoryDatabase, useRollups = true): WindowReader {
  const findSeries = seriesFinder(database);
  const rawRows = database.statement(['series', 'after', 'through', 'known'], (query, at) =>
    query
      .selectFrom('sample')
      .select(['event_ms', 'ingested_ms', 'value', 'quality'])
      .where('series', '=', at.series)
      .where('event_ms', '>', at.after)
      .where('event_ms', '<=', at.through)
      .where('ingested_ms', '<=', at.known)
      .orderBy('event_ms')
      .orderBy('ordinal'),
  );
  const rollups = database.statement(['series', 'width', 'after', 'through'], (query, at) =>
    query
      .selectFrom('rollup')
      .select(['end_ms', ...rollupColumns])
      .where('series', '=', at.series)
      .where('width_ms', '=', at.width)
      .where('end_ms', '>', at.after)
      .where('end_ms', '<=', at.through)
      .orderBy('end_ms'),
  );
  return {
    window(request) {
      check(request);
      const cells = createCells(request);
      const series = findSeries(request.series);
      if (series === null) return cells.answer();
      const read: Read = { series, request, cells };
      const afterMs = request.asOfMs - request.steps * request.cadenceMs;
      const width = useRollups ? usableWidthMs(request) : null;
      if (width === null) readRows(rawRows, read, { afterMs, throughMs: request.asOfMs });
      else for (const gap of readRollups(rollups, read, afterMs, width)) readRows(rawRows, read, gap);
      return cells.answer();
    },
  };
}

/** The row of a series, or null when nothing was ever recorded for it. */
export function seriesFinder(database: HistoryDatabase): (series: SeriesId) => number | null {
  const find = database.statement(['instance', 'point'], (query, at) =>
    query
      .selectFrom('series')
      .select('id')
      .where('instance', '=', at.instance)
      .where('kind', '=', 'measurement')
      .where('point', '=', at.point),
  );
  return ({ instance, point }) => {
    const id = find.all({ instance, point })[0]?.[0];
    return id === undefined ? null : Number(id);
  };
}

interface Read {
  readonly series: number;
  readonly request: WindowRequest;
  readonly cells: Cells;
}

/** Event times in (afterMs, throughMs]. */
interface Span {
  readonly afterMs: number;
  readonly throughMs: number;
}

function check({ asOfMs, cadenceMs, steps, maxSourceSkewMs }: WindowRequest): void {
  const whole = Number.isSafeInteger(asOfMs) && Number.isSafeInteger(cadenceMs) && Number.isSafeInteger(steps);
  if (!whole || cadenceMs < 1 || steps < 1 || !(maxSourceSkewMs >= 0)) throw new Error('not a window');
}

/** The widest rollup none of which is cut by a label. */
function usableWidthMs({ asOfMs, cadenceMs }: WindowRequest): number | null {
  return rollupWidthsMs.find((width) => asOfMs % width === 0 && cadenceMs % width === 0) ?? null;
}

/** Takes the rollups that equal their rows; returns the spans of the others, joined where they touch. */
function readRollups(
  rollups: Statement<'series' | 'width' | 'after' | 'through'>,
  { series, request, cells }: Read,
  afterMs: number,
  width: number,
): Span[] {
  const gaps: Span[] = [];
  for (const row of rollups.all({ series, width, after: afterMs, through: request.asOfMs })) {
    const endMs = Number(row[0]);
    const rollup = rollupOf(row, 1);
    if (equalsRows(rollup, request)) {
      cells.addRollup(endMs, rollup);
      continue;
    }
    const before = gaps.at(-1);
    if (before?.throughMs === endMs - width) gaps[gaps.length - 1] = { ...before, throughMs: endMs };
    else gaps.push({ afterMs: endMs - width, throughMs: endMs });
  }
  return gaps;
}

function readRows(
  rawRows: Statement<'series' | 'after' | 'through' | 'known'>,
  { series, request, cells }: Read,
  { afterMs, throughMs }: Span,
): void {
  // Ingestion times are whole milliseconds far below this.
  const known = request.knownAtMs ?? Number.MAX_SAFE_INTEGER;
  let instant: RawRow[] = [];
  let instantMs = Number.NaN;
  for (const row of rawRows.iterate({ series, after: afterMs, through: throughMs, known })) {
    const eventMs = Number(row[0]);
    if (eventMs !== instantMs) {
      if (instant.length > 0) cells.addInstant(instantMs, instant);
      instant = [];
      instantMs = eventMs;
    }
    const value = row[2];
    instant.push({
      ingestedMs: Number(row[1]),
      value: typeof value === 'number' ? value : null,
      quality: Number(row[3]),
    });
  }
  if (instant.length > 0) cells.addInstant(instantMs, instant);
}
