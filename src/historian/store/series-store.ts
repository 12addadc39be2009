/**
 * Writes the history file [points §6.1]: rows are only ever appended, each transaction brings the rollups of what
 * it touched up to date, and retention removes whole rollups with their rows. Writers are the recorder and imports; both
 * go through this file, each transaction under the database's write lock.
 */

import { planAppend, type Stored } from '../append.ts';
import type { AppendOptions, AppendReport, HistoryRow } from '../historian.ts';
import { pruneLimitMs, pruneThroughMs } from '../retention.ts';
import { rollupWidthsMs } from '../rollup.ts';
import { columnsOf, rollupColumns, rollupOf } from '../rollup-row.ts';
import type { HistoryDatabase } from './history-database.ts';

export interface SeriesStore {
  append(rows: readonly HistoryRow[], options: AppendOptions): AppendReport;
  prune(beforeMs: number, rowsMax: number): number;
}

export function createSeriesStore(database: HistoryDatabase): SeriesStore {
  const statements = prepare(database);
  return {
    append: (rows, options) => database.transaction(() => append(statements, rows, options)),
    prune: (beforeMs, rowsMax) => database.transaction(() => prune(statements, beforeMs, rowsMax)),
  };
}

const addedNames = ['series', 'event', 'ordinal', 'ingested', 'value', 'quality', 'observations', 'since'] as const;

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
    instant: database.statement(['series', 'event'], (query, at) =>
      query
        .selectFrom('sample')
        .select(['ordinal', 'value', 'quality'])
        .where('series', '=', at.series)
        .where('event_ms', '=', at.event),
    ),
    addRow: database.statement(addedNames, (query, at) =>
      query.insertInto('sample').values({
        series: at.series,
        event_ms: at.event,
        ordinal: at.ordinal,
        ingested_ms: at.ingested,
        value: at.value,
        quality: at.quality,
        observations: at.observations,
        since_ms: at.since,
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

function append(statements: Statements, rows: readonly HistoryRow[], options: AppendOptions): AppendReport {
  const { samples, rollups, duplicates } = planAppend(rows, storedIn(statements), options);
  for (const { series, ordinal, row } of samples)
    statements.addRow.run({
      series,
      event: row.eventMs,
      ordinal,
      ingested: row.ingestedMs,
      value: row.value,
      quality: row.quality,
      observations: row.observations?.count ?? 1,
      since: row.observations?.sinceMs ?? null,
    });
  for (const { series, widthMs, endMs, rollup } of rollups)
    statements.putRollup.run({ series, width: widthMs, end: endMs, ...columnsOf(rollup) });
  return { duplicates };
}

function storedIn(statements: Statements): Stored {
  return {
    series({ instance, point }) {
      let id = statements.findSeries.all({ instance, point })[0]?.[0];
      if (id === undefined) {
        statements.addSeries.run({ instance, point });
        id = statements.findSeries.all({ instance, point })[0]?.[0];
      }
      const newest = statements.newestMs.all({ series: Number(id) })[0]?.[0];
      return { id: Number(id), newestMs: newest === undefined ? Number.NEGATIVE_INFINITY : Number(newest) };
    },
    instant: (series, event) =>
      statements.instant.all({ series, event }).map(([ordinal, value, quality]) => ({
        ordinal: Number(ordinal),
        value: typeof value === 'number' ? value : null,
        quality: Number(quality),
      })),
    rollup(series, width, end) {
      const row = statements.findRollup.all({ series, width, end })[0];
      return row === undefined ? null : rollupOf(row);
    },
  };
}

function prune(statements: Statements, beforeMs: number, rowsMax: number): number {
  const limitMs = pruneLimitMs(beforeMs);
  let removed = 0;
  for (const [id] of statements.allSeries.all({})) {
    const series = Number(id);
    const oldest = statements.oldestMs.all({ series, skip: 0 })[0]?.[0];
    if (oldest === undefined || Number(oldest) > limitMs) continue;
    const portion = statements.oldestMs.all({ series, skip: rowsMax })[0]?.[0];
    const through = pruneThroughMs(Number(oldest), portion === undefined ? null : Number(portion), limitMs);
    removed += statements.removeRows.run({ series, through });
    for (const width of rollupWidthsMs) statements.removeRollups.run({ series, width, through });
  }
  return removed;
}
