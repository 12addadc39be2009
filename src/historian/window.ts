/**
 * A windowed read (§4.3 "History reads"). Where the labels fall on borders of rollups these are read, and each one that
 * does not provably equal its rows is replaced by the rows; on any other grid all rows are read.
 */
import type { Cell, HistoryDatabase, Statement } from '../storage/history-database.ts';
import { type Cells, createCells, type RawRow } from './cells.ts';
import type { Aggregation, SeriesId, WindowAnswer, WindowRequest } from './historian.ts';
import { cutFlag, equalsRows, type RollupSummary, rollupWidthsMs } from './rollup.ts';

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
  const rollups = rollupReader(database);
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
      else for (const gap of readRollups(rollups(request), read, afterMs, width)) readRows(rawRows, read, gap);
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

type RollupStatement = Statement<'series' | 'width' | 'after' | 'through' | 'skew' | 'known'>;

/** Of each rollup what `aggregation` needs; a column less is a tenth of the time. */
function prepareRollups(database: HistoryDatabase, aggregation: Aggregation, ranged: boolean): RollupStatement {
  return database.statement(['series', 'width', 'after', 'through', 'skew', 'known'], (query, at) =>
    query
      .selectFrom('rollup')
      .select((column) => [
        'end_ms',
        'row_count',
        'value_count',
        'last_ms',
        column(
          'flags',
          '|',
          column
            .case()
            .when(column.or([column('lead_ms', '>', at.skew), column('ingested_ms', '>', at.known)]))
            .then(column.lit(cutFlag))
            .else(column.lit(0))
            .end(),
        ).as('flags'),
        aggregation === 'mean' || aggregation === 'sum'
          ? column('sum', '+', column.ref('sum_low')).as('value')
          : column.ref(aggregation === 'last' ? 'last_value' : aggregation).as('value'),
      ])
      .$if(ranged, (narrow) => narrow.select(['min', 'max']))
      .where('series', '=', at.series)
      .where('width_ms', '=', at.width)
      .where('end_ms', '>', at.after)
      .where('end_ms', '<=', at.through)
      .orderBy('end_ms'),
  );
}

/** One statement for each kind of question, compiled when it is first asked. */
function rollupReader(database: HistoryDatabase): (request: WindowRequest) => RollupStatement {
  const prepared = new Map<string, RollupStatement>();
  return ({ aggregation, range }) => {
    const ranged = range !== undefined;
    const key = `${aggregation} ${ranged}`;
    const known = prepared.get(key) ?? prepareRollups(database, aggregation, ranged);
    prepared.set(key, known);
    return known;
  };
}

function summaryOf(row: readonly Cell[]): RollupSummary {
  const some = row[3] !== null;
  return {
    rowCount: Number(row[1]),
    valueCount: Number(row[2]),
    lastMs: some ? Number(row[3]) : Number.NEGATIVE_INFINITY,
    flags: Number(row[4]),
    // A sum that overflowed is stored as NULL.
    value: row[5] === null ? Number.NaN : Number(row[5]),
    min: Number(row[6]),
    max: Number(row[7]),
  };
}

/** Takes the rollups that equal their rows; returns the spans of the others, joined where they touch. */
function readRollups(
  rollups: RollupStatement,
  { series, request, cells }: Read,
  afterMs: number,
  width: number,
): Span[] {
  const gaps: Span[] = [];
  const span = { series, width, after: afterMs, through: request.asOfMs };
  for (const row of rollups.all({ ...span, skew: request.maxSourceSkewMs, known: knownMs(request) })) {
    const endMs = Number(row[0]);
    const rollup = summaryOf(row);
    if (equalsRows(rollup, request.range)) {
      cells.addRollup(endMs, rollup);
      continue;
    }
    const before = gaps.at(-1);
    if (before?.throughMs === endMs - width) gaps[gaps.length - 1] = { ...before, throughMs: endMs };
    else gaps.push({ afterMs: endMs - width, throughMs: endMs });
  }
  return gaps;
}

/** Ingestion times are whole milliseconds far below the greatest. */
function knownMs({ knownAtMs }: WindowRequest): number {
  return knownAtMs ?? Number.MAX_SAFE_INTEGER;
}

function readRows(
  rawRows: Statement<'series' | 'after' | 'through' | 'known'>,
  { series, request, cells }: Read,
  { afterMs, throughMs }: Span,
): void {
  const known = knownMs(request);
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
