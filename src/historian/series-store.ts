/**
 * Writes the history database (decisions §2.6): rows are only ever appended, each transaction brings the rollups of what
 * it touched up to date, and retention removes whole rollups with their rows. Writers are the recorder and imports; both
 * go through this file, each transaction under the database's write lock.
 */
import type { HistoryDatabase } from '../storage/history-database.ts';
import type { AppendReport, HistoryRow, SeriesId } from './historian.ts';
import {
  addRow,
  emptyRollup,
  mergeRollup,
  type Rollup,
  rollupEndMs,
  rollupWidthsMs,
  widestRollupMs,
} from './rollup.ts';

export interface SeriesStore {
  append(rows: readonly HistoryRow[]): AppendReport;
  prune(beforeMs: number, rowsMax: number): number;
}

export function createSeriesStore(database: HistoryDatabase): SeriesStore {
  const statements = prepare(database);
  return {
    append: (rows) => database.transaction(() => append(statements, rows)),
    prune: (beforeMs, rowsMax) => database.transaction(() => prune(statements, beforeMs, rowsMax)),
  };
}

type Statements = ReturnType<typeof prepare>;

function prepare(database: HistoryDatabase) {
  return {
    findSeries: database.statement(['instance', 'point'], (query, at) =>
      query
        .selectFrom('series')
        .select('id')
        .where('instance', '=', at.instance)
        .where('kind', '=', 'measurement')
        .where('point', '=', at.point),
    ),
    addSeries: database.statement(['instance', 'point'], (query, at) =>
      query.insertInto('series').values({ instance: at.instance, kind: 'measurement', point: at.point }),
    ),
    allSeries: database.statement([], (query) => query.selectFrom('series').select('id').orderBy('id')),
    newestMs: database.statement(['series'], (query, at) =>
      query
        .selectFrom('sample')
        .select('event_ms')
        .where('series', '=', at.series)
        .orderBy('event_ms', 'desc')
        .limit(1),
    ),
    lastOrdinal: database.statement(['series', 'event'], (query, at) =>
      query
        .selectFrom('sample')
        .select('ordinal')
        .where('series', '=', at.series)
        .where('event_ms', '=', at.event)
        .orderBy('ordinal', 'desc')
        .limit(1),
    ),
    addRow: database.statement(['series', 'event', 'ordinal', 'ingested', 'value', 'quality'], (query, at) =>
      query.insertInto('sample').values({
        series: at.series,
        event_ms: at.event,
        ordinal: at.ordinal,
        ingested_ms: at.ingested,
        value: at.value,
        quality: at.quality,
      }),
    ),
    findRollup: database.statement(['series', 'width', 'end'], (query, at) =>
      query
        .selectFrom('rollup')
        .select(rollupColumns)
        .where('series', '=', at.series)
        .where('width_ms', '=', at.width)
        .where('end_ms', '=', at.end),
    ),
    putRollup: database.statement(['series', 'width', 'end', ...rollupColumns], (query, at) => {
      const { series, width, end, ...columns } = at;
      return query.replaceInto('rollup').values({ series, width_ms: width, end_ms: end, ...columns });
    }),
    oldestMs: database.statement(['series', 'skip'], (query, at) =>
      query
        .selectFrom('sample')
        .select('event_ms')
        .where('series', '=', at.series)
        .orderBy('event_ms')
        .limit(1)
        .offset(at.skip),
    ),
    removeRows: database.statement(['series', 'through'], (query, at) =>
      query.deleteFrom('sample').where('series', '=', at.series).where('event_ms', '<=', at.through),
    ),
    removeRollups: database.statement(['series', 'width', 'through'], (query, at) =>
      query
        .deleteFrom('rollup')
        .where('series', '=', at.series)
        .where('width_ms', '=', at.width)
        .where('end_ms', '<=', at.through),
    ),
  };
}

/** In the order of `rollupOf`. */
const rollupColumns = [
  'row_count',
  'value_count',
  'sum',
  'sum_low',
  'min',
  'max',
  'last_value',
  'last_ms',
  'flags',
  'lead_ms',
  'ingested_ms',
] as const;

/** What one transaction knows of a series. */
interface Touched {
  readonly id: number;
  /** Before the transaction; -Infinity when there was nothing. */
  readonly newestBeforeMs: number;
  newestMs: number;
  /** By width, by end: what the transaction adds. */
  readonly added: readonly Map<number, Rollup>[];
}

function append(statements: Statements, rows: readonly HistoryRow[]): AppendReport {
  const touched = new Map<string, Touched>();
  let duplicates = 0;
  for (const given of rows) {
    const series = touchedOf(statements, touched, given.series);
    // -0 and +0 are one value: which of them a minimum shows must not depend on how it was reduced.
    const row = given.value === null ? given : { ...given, value: checked(given) + 0 };
    const ordinal = row.eventMs > series.newestMs ? 0 : nextOrdinal(statements, series.id, row.eventMs);
    if (ordinal > 0) duplicates++;
    series.newestMs = Math.max(series.newestMs, row.eventMs);
    statements.addRow.run({
      series: series.id,
      event: row.eventMs,
      ordinal,
      ingested: row.ingestedMs,
      value: row.value,
      quality: row.quality,
    });
    rollupWidthsMs.forEach((widthMs, index) => {
      const endMs = rollupEndMs(row.eventMs, widthMs);
      const rollups = series.added[index];
      const rollup = rollups?.get(endMs) ?? emptyRollup();
      rollups?.set(endMs, rollup);
      addRow(rollup, row, ordinal > 0);
    });
  }
  for (const series of touched.values()) storeRollups(statements, series);
  return { duplicates };
}

function checked(row: HistoryRow): number {
  if (row.value === null || !Number.isFinite(row.value)) throw new Error('a recorded value is finite, or null');
  return row.value;
}

function touchedOf(statements: Statements, touched: Map<string, Touched>, series: SeriesId): Touched {
  const key = `${series.instance}:${series.point}`;
  const known = touched.get(key);
  if (known !== undefined) return known;
  const place = { instance: series.instance, point: series.point };
  let id = statements.findSeries.all(place)[0]?.[0];
  if (id === undefined) {
    statements.addSeries.run(place);
    id = statements.findSeries.all(place)[0]?.[0];
  }
  const newest = statements.newestMs.all({ series: Number(id) })[0]?.[0];
  const newestMs = newest === undefined ? Number.NEGATIVE_INFINITY : Number(newest);
  const fresh: Touched = {
    id: Number(id),
    newestBeforeMs: newestMs,
    newestMs,
    added: rollupWidthsMs.map(() => new Map()),
  };
  touched.set(key, fresh);
  return fresh;
}

function nextOrdinal(statements: Statements, series: number, eventMs: number): number {
  const last = statements.lastOrdinal.all({ series, event: eventMs })[0]?.[0];
  return last === undefined ? 0 : Number(last) + 1;
}

function storeRollups(statements: Statements, series: Touched): void {
  rollupWidthsMs.forEach((width, index) => {
    for (const [end, added] of series.added[index] ?? []) {
      // A rollup that begins after everything that was there before is new.
      const stored =
        end - width >= series.newestBeforeMs
          ? undefined
          : statements.findRollup.all({ series: series.id, width, end })[0];
      const rollup = stored === undefined ? added : rollupOf(stored);
      if (rollup !== added) mergeRollup(rollup, added);
      statements.putRollup.run({ series: series.id, width, end, ...columnsOf(rollup) });
    }
  });
}

function columnsOf(rollup: Rollup): Record<(typeof rollupColumns)[number], number | null> {
  const some = rollup.valueCount > 0;
  return {
    row_count: rollup.rowCount,
    value_count: rollup.valueCount,
    sum: rollup.sum,
    sum_low: rollup.sumLow,
    min: some ? rollup.min : null,
    max: some ? rollup.max : null,
    last_value: some ? rollup.lastValue : null,
    last_ms: some ? rollup.lastMs : null,
    flags: rollup.flags,
    lead_ms: rollup.leadMs,
    ingested_ms: rollup.ingestedMs,
  };
}

/** From the columns `rollupColumns`. */
function rollupOf(row: readonly unknown[]): Rollup {
  const valueCount = Number(row[1]);
  const some = valueCount > 0;
  return {
    rowCount: Number(row[0]),
    valueCount,
    // A sum that overflowed is stored as NULL.
    sum: row[2] === null ? Number.NaN : Number(row[2]),
    sumLow: row[3] === null ? Number.NaN : Number(row[3]),
    min: some ? Number(row[4]) : Number.POSITIVE_INFINITY,
    max: some ? Number(row[5]) : Number.NEGATIVE_INFINITY,
    lastValue: some ? Number(row[6]) : Number.NaN,
    lastMs: some ? Number(row[7]) : Number.NEGATIVE_INFINITY,
    flags: Number(row[8]),
    leadMs: Number(row[9]),
    ingestedMs: Number(row[10]),
  };
}

function prune(statements: Statements, beforeMs: number, rowsMax: number): number {
  // Row by row would leave a rollup behind that speaks of rows which are gone.
  const limitMs = Math.floor(beforeMs / widestRollupMs) * widestRollupMs;
  let removed = 0;
  for (const [id] of statements.allSeries.all({})) {
    const series = Number(id);
    const oldest = statements.oldestMs.all({ series, skip: 0 })[0]?.[0];
    if (oldest === undefined || Number(oldest) > limitMs) continue;
    const portion = statements.oldestMs.all({ series, skip: rowsMax })[0]?.[0];
    const through =
      portion === undefined
        ? limitMs
        : Math.min(
            limitMs,
            Math.max(
              rollupEndMs(Number(oldest), widestRollupMs),
              Math.floor(Number(portion) / widestRollupMs) * widestRollupMs,
            ),
          );
    removed += statements.removeRows.run({ series, through });
    for (const width of rollupWidthsMs) statements.removeRollups.run({ series, width, through });
  }
  return removed;
}
