/**
 * Writes the history file [points §6.1]: rows are only appended, each transaction updates the rollups of the
 * changed spans, and retention removes whole rollups with their rows. Writers are the recorder and imports; both
 * use this file, each transaction under the database's write lock.
 */

import { type Addition, type ChangedRollup, planAppend, type Stored } from '../append.ts';
import { deletePortionMs, type KeptRow, keptRow, rollupsOf, touchedSpan, withoutReach } from '../delete.ts';
import type { AppendOptions, AppendReport, DeletedPortion, DeleteRequest, HistoryRow } from '../historian.ts';
import { observationsMsMax } from '../observations.ts';
import { pruneLimitMs, pruneThroughMs } from '../retention.ts';
import { rollupEndMs, rollupWidthsMs, widestRollupMs } from '../rollup.ts';
import { columnsOf, rollupColumns, rollupOf } from '../rollup-row.ts';
import { rowColumns, seriesAsked, seriesKind, seriesNames, seriesQuery } from '../window-queries.ts';
import type { HistoryDatabase } from './history-database.ts';
import { type AddedRows, blockLimits, SampleBlocks } from './sample-blocks.ts';

export interface SeriesStore {
  append(rows: readonly HistoryRow[], options: AppendOptions): AppendReport;
  delete(request: DeleteRequest): DeletedPortion;
  prune(beforeMs: number, rowsMax: number): number;
}

export function createSeriesStore(database: HistoryDatabase, limits = blockLimits): SeriesStore {
  const parts = { statements: prepare(database), blocks: new SampleBlocks(database, limits) };
  return {
    append: (rows, options) => database.transaction(() => append(parts, rows, options)),
    delete: (request) => database.transaction(() => deletePortion(parts, request)),
    prune: (beforeMs, rowsMax) => database.transaction(() => prune(parts, beforeMs, rowsMax)),
  };
}

interface StoreParts {
  readonly statements: Statements;
  readonly blocks: SampleBlocks;
}

const addedNames = ['series', 'event', 'ordinal', 'ingested', 'value', 'quality', 'observations', 'since'] as const;

type Statements = ReturnType<typeof prepare>;

function prepare(database: HistoryDatabase) {
  return {
    findSeries: database.statement(seriesNames, seriesQuery),
    addSeries: database.statement(seriesNames, (query, at) =>
      query.insertInto('series').values({ instance: at.instance, kind: seriesKind(at.kind), point: at.point }),
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
    firstIn: database.statement(['series', 'from', 'to'], (query, at) =>
      query
        .selectFrom('sample')
        .select('event_ms')
        .where('series', '=', at.series)
        .where('event_ms', '>=', at.from)
        .where('event_ms', '<', at.to)
        .orderBy('event_ms')
        .limit(1),
    ),
    leastSince: database.statement(['series', 'from', 'to'], (query, at) =>
      query
        .selectFrom('sample')
        .select((column) => column.fn.min('since_ms').as('since'))
        .where('series', '=', at.series)
        .where('event_ms', '>=', at.from)
        .where('event_ms', '<', at.to),
    ),
    deleteRows: database.statement(['series', 'from', 'to'], (query, at) =>
      query
        .deleteFrom('sample')
        .where('series', '=', at.series)
        .where('event_ms', '>=', at.from)
        .where('event_ms', '<', at.to),
    ),
    /** Rows of a span, and those after it that represent observations in it. */
    keptRows: database.statement(['series', 'after', 'through', 'reach'], (query, at) =>
      query
        .selectFrom('sample')
        .select([...rowColumns, 'ordinal'])
        .where('series', '=', at.series)
        .where('event_ms', '>', at.after)
        .where('event_ms', '<=', at.reach)
        .where((column) => column.or([column('event_ms', '<=', at.through), column('since_ms', '<', at.through)]))
        .orderBy('event_ms')
        .orderBy('ordinal'),
    ),
    putObservations: database.statement(['series', 'event', 'ordinal', 'observations', 'since'], (query, at) =>
      query
        .updateTable('sample')
        .set({ observations: at.observations, since_ms: at.since })
        .where('series', '=', at.series)
        .where('event_ms', '=', at.event)
        .where('ordinal', '=', at.ordinal),
    ),
    deleteRollups: database.statement(['series', 'width', 'after', 'through'], (query, at) =>
      query
        .deleteFrom('rollup')
        .where('series', '=', at.series)
        .where('width_ms', '=', at.width)
        .where('end_ms', '>', at.after)
        .where('end_ms', '<=', at.through),
    ),
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

function append({ statements, blocks }: StoreParts, rows: readonly HistoryRow[], options: AppendOptions): AppendReport {
  const { samples, rollups, duplicates, skipped } = planAppend(rows, storedIn(statements), options);
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
  putRollups(statements, rollups);
  blocks.added(quartersOf(samples));
  return { duplicates, skipped };
}

function quartersOf(samples: Addition['samples']): AddedRows {
  const quarters = new Map<number, Map<number, number>>();
  for (const { series, row } of samples) {
    const counts = quarters.get(series) ?? new Map<number, number>();
    quarters.set(series, counts);
    const endMs = rollupEndMs(row.eventMs, widestRollupMs);
    counts.set(endMs, (counts.get(endMs) ?? 0) + 1);
  }
  return quarters;
}

function putRollups(statements: Statements, rollups: readonly ChangedRollup[]): void {
  for (const { series, widthMs, endMs, rollup } of rollups)
    statements.putRollup.run({ series, width: widthMs, end: endMs, ...columnsOf(rollup) });
}

function deletePortion(
  { statements, blocks }: StoreParts,
  { series: id, fromMs, toMs }: DeleteRequest,
): DeletedPortion {
  const found = statements.findSeries.all(seriesAsked(id))[0]?.[0];
  if (found === undefined) return { rows: 0, nextMs: null };
  const series = Number(found);
  const first = statements.firstIn.all({ series, from: fromMs, to: toMs })[0]?.[0];
  if (first === undefined) return { rows: 0, nextMs: null };
  const from = Number(first);
  const to = Math.min(toMs, from + deletePortionMs);
  const since = statements.leastSince.all({ series, from, to })[0]?.[0];
  const rows = statements.deleteRows.run({ series, from, to });
  const span = touchedSpan(from, to, typeof since === 'number' ? since : null);
  const keptRows = (values: { after: number; through: number; reach: number }): KeptRow[] =>
    statements.keptRows.all({ series, ...values }).map((row) => keptRow(id, row));
  const [behind] = keptRows({ after: to - 1, through: to - 1, reach: to - 1 + observationsMsMax });
  const cut = behind === undefined ? null : withoutReach(behind, fromMs, to);
  if (cut !== null)
    statements.putObservations.run({
      series,
      event: cut.eventMs,
      ordinal: cut.ordinal,
      observations: cut.observations?.count ?? 1,
      since: cut.observations?.sinceMs ?? null,
    });
  for (const width of rollupWidthsMs)
    statements.deleteRollups.run({ series, width, after: span.afterMs, through: span.throughMs });
  const kept = keptRows({ after: span.afterMs, through: span.throughMs, reach: span.throughMs + observationsMsMax });
  putRollups(statements, rollupsOf(series, kept, span));
  blocks.changed(series, span.afterMs, Math.max(span.throughMs, cut?.eventMs ?? span.throughMs));
  return { rows, nextMs: to < toMs ? to : null };
}

function storedIn(statements: Statements): Stored {
  return {
    series(given) {
      const asked = seriesAsked(given);
      let id = statements.findSeries.all(asked)[0]?.[0];
      if (id === undefined) {
        statements.addSeries.run(asked);
        id = statements.findSeries.all(asked)[0]?.[0];
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

function prune({ statements, blocks }: StoreParts, beforeMs: number, rowsMax: number): number {
  const limitMs = pruneLimitMs(beforeMs);
  let removed = 0;
  for (const [id] of statements.allSeries.all({})) {
    const series = Number(id);
    const oldest = statements.oldestMs.all({ series, skip: 0 })[0]?.[0];
    if (oldest === undefined || Number(oldest) > limitMs) continue;
    const portion = statements.oldestMs.all({ series, skip: rowsMax })[0]?.[0];
    const through = pruneThroughMs(Number(oldest), portion === undefined ? null : Number(portion), limitMs);
    removed += statements.removeRows.run({ series, through });
    blocks.pruned(series, through);
    for (const width of rollupWidthsMs) statements.removeRollups.run({ series, width, through });
  }
  return removed;
}
