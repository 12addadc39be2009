/**
 * The queries of a windowed read [data-processing §4.2], the same for both engines. Each query finds its series itself, which
 * saves a round trip to a server.
 */
import { type RawBuilder, sql } from 'kysely';
import type { SeriesId, WindowRequest } from './historian.ts';
import { cutFlag, type RollupSummary } from './rollup.ts';
import { answerOf, type HistoryQueries, type NamedQuery, type Places, type Values } from './store/history-database.ts';

/** The members that identify a series in a query; a kind is a number there, as all values of queries are. */
export const seriesNames = ['instance', 'kind', 'point'] as const;
export type SeriesName = (typeof seriesNames)[number];

export function seriesAsked({ instance, point, kind }: SeriesId): Readonly<Record<SeriesName, number>> {
  return { instance, kind: kind === 'action' ? 1 : 0, point };
}

export function seriesKind(kind: Places<'kind'>['kind']) {
  return sql<'measurement' | 'action'>`CASE CAST(${kind} AS integer) WHEN 1 THEN 'action' ELSE 'measurement' END`;
}

/** The number of a series; no row if nothing was ever recorded for it. */
export function seriesQuery(query: HistoryQueries, at: Places<SeriesName>) {
  return query
    .selectFrom('series')
    .select('id')
    .where('instance', '=', at.instance)
    .where('kind', '=', seriesKind(at.kind))
    .where('point', '=', at.point);
}

/** The columns of a row that a read needs, in this order. */
export const rowColumns = ['event_ms', 'ingested_ms', 'value', 'quality', 'observations', 'since_ms'] as const;

/** The position of the ordinal in a row of the query `rows`. */
export const ordinalColumn = rowColumns.length;

export interface WindowQueries {
  /** Rows per answer to `rows`, and rollups per query: the engine's portion. */
  readonly portion: number;
  /** The rows of a span after one that was read: at most a portion. */
  readonly rows: NamedQuery<SeriesName | 'after' | 'ordinal' | 'through' | 'known'>;
  /**
   * The rows from `since` on, at most `readingsPortion`: time and code in one number, which `unpackReading` splits, and the value. One
   * column fewer saves a third of the time.
   */
  readonly readings: NamedQuery<SeriesName | 'since' | 'through'>;
  /** The blocks that overlap a span, at most `blocksPortion`; null for an engine without blocks. */
  readonly blocks: NamedQuery<SeriesName | 'after' | 'through'> | null;
  /** The first row after a span that represents observations in it. */
  readonly reaching: NamedQuery<SeriesName | 'through' | 'reach' | 'known'>;
  /** The newest row of a series. */
  readonly standing: NamedQuery<SeriesName | 'known'>;
  /** Of each rollup what the aggregation needs; with a range, also its minimum and maximum. */
  rollups(aggregation: WindowRequest['aggregation'], ranged: boolean): RollupsQuery;
  /** The event time of the newest number of one rollup. */
  readonly newest: NamedQuery<SeriesName | 'width' | 'end'>;
}

/** One state of a history, from which windows and rows are read. */
export interface WindowSource {
  readonly queries: WindowQueries;
  ask<N extends string>(
    query: NamedQuery<N>,
    values: Values<N>,
  ): readonly (readonly unknown[])[] | Promise<readonly (readonly unknown[])[]>;
}

type RollupsQuery = NamedQuery<SeriesName | 'width' | 'after' | 'through' | 'skew' | 'known'>;

export function windowQueries(portion: number, hasBlocks: boolean): WindowQueries {
  const blocks = hasBlocks ? blocksQuery : null;
  return { portion, rows: rowsQuery(portion), readings, blocks, reaching, standing, rollups: rollupsOnce(), newest };
}

function rowsQuery(portion: number): WindowQueries['rows'] {
  return {
    name: 'history_rows',
    names: [...seriesNames, 'after', 'ordinal', 'through', 'known'],
    build: (query, at) =>
      query
        .selectFrom('sample')
        .select([...rowColumns, 'ordinal'])
        .where('series', '=', answerOf(seriesQuery(query, at)))
        // The first condition is for the index, the second continues after the last row of a portion.
        .where('event_ms', '>=', at.after)
        .where((column) =>
          column.or([
            column('event_ms', '>', at.after),
            column.and([column('event_ms', '=', at.after), column('ordinal', '>', at.ordinal)]),
          ]),
        )
        .where('event_ms', '<=', at.through)
        .where('ingested_ms', '<=', at.known)
        .orderBy('event_ms')
        .orderBy('ordinal')
        .limit(portion),
  };
}

/** Rows of an answer to `readings`, at most. */
export const readingsPortion = 8192;
/** Flag in the code of a row that is not the first at its event time, beside its quality. */
export const severalFlag = 4;
const codesPerMs = 8;

export function unpackReading(packed: number): { readonly eventMs: number; readonly code: number } {
  const eventMs = Math.floor(packed / codesPerMs);
  return { eventMs, code: packed - eventMs * codesPerMs };
}

const readings: WindowQueries['readings'] = {
  name: 'history_readings',
  byColumn: true,
  names: [...seriesNames, 'since', 'through'],
  build: (query, at) =>
    query
      .selectFrom('sample')
      .select((column) => {
        const several = column.case().when('ordinal', '>', 0).then(column.lit(severalFlag)).else(column.lit(0)).end();
        const code = column('quality', '+', several);
        return [column(column('event_ms', '*', column.lit(codesPerMs)), '+', code).as('packed'), 'value'];
      })
      .where('series', '=', answerOf(seriesQuery(query, at)))
      .where('event_ms', '>=', at.since)
      .where('event_ms', '<=', at.through)
      .orderBy('event_ms')
      .orderBy('ordinal')
      .limit(readingsPortion),
};

/** Blocks of an answer to `blocks`, at most. */
export const blocksPortion = 16;

const blocksQuery: NonNullable<WindowQueries['blocks']> = {
  name: 'history_blocks',
  names: [...seriesNames, 'after', 'through'],
  build: (query, at) => {
    const series = answerOf(seriesQuery(query, at));
    return query
      .selectFrom('sample_block')
      .select(['after_ms', 'end_ms', 'rows'])
      .where('series', '=', series)
      .where('end_ms', '>', at.after)
      .where('end_ms', '<=', lastBlockEnd(query, series, at.through))
      .where('after_ms', '<', at.through)
      .orderBy('end_ms')
      .limit(blocksPortion);
  },
};

/** The end of the first block that ends at or after a moment; later blocks begin after the moment. */
export function lastBlockEnd(query: HistoryQueries, series: RawBuilder<number>, through: RawBuilder<number>) {
  const first = query
    .selectFrom('sample_block')
    .select('end_ms')
    .where('series', '=', series)
    .where('end_ms', '>=', through)
    .orderBy('end_ms')
    .limit(1);
  return sql<number>`coalesce(${answerOf(first)}, ${through})`;
}

const reaching: WindowQueries['reaching'] = {
  name: 'history_reaching',
  names: [...seriesNames, 'through', 'reach', 'known'],
  build: (query, at) =>
    query
      .selectFrom('sample')
      .select(rowColumns)
      .where('series', '=', answerOf(seriesQuery(query, at)))
      .where('event_ms', '>', at.through)
      .where('event_ms', '<=', at.reach)
      .where('since_ms', '<', at.through)
      .where('ingested_ms', '<=', at.known)
      .orderBy('event_ms')
      .orderBy('ordinal', 'desc')
      .limit(1),
};

const standing: WindowQueries['standing'] = {
  name: 'history_standing',
  names: [...seriesNames, 'known'],
  build: (query, at) =>
    query
      .selectFrom('sample')
      .select(rowColumns)
      .where('series', '=', answerOf(seriesQuery(query, at)))
      .where('ingested_ms', '<=', at.known)
      .orderBy('event_ms', 'desc')
      .orderBy('ordinal', 'desc')
      .limit(1),
};

const newest: WindowQueries['newest'] = {
  name: 'history_newest',
  names: [...seriesNames, 'width', 'end'],
  build: (query, at) =>
    query
      .selectFrom('rollup')
      .select('last_ms')
      .where('series', '=', answerOf(seriesQuery(query, at)))
      .where('width_ms', '=', at.width)
      .where('end_ms', '=', at.end),
};

/** One query for each kind of read, so that an engine compiles it once. */
function rollupsOnce(): WindowQueries['rollups'] {
  const made = new Map<string, RollupsQuery>();
  return (aggregation, ranged) => {
    const name = `history_${aggregation}${ranged ? '_ranged' : ''}`;
    const query = made.get(name) ?? rollupsQuery(name, aggregation, ranged);
    made.set(name, query);
    return query;
  };
}

/**
 * How a rollup's flags, its observations and its rows share one number: a rollup that equals its rows has at most one of
 * them a millisecond of 15 minutes, and where one has more, only the flags are read.
 */
const weightPlace = 16;
const rowsPlace = weightPlace * 2 ** 24;

/** As few columns as possible: one column less saves a tenth of the time. `unpackRollup` reads them. */
function rollupsQuery(name: string, aggregation: WindowRequest['aggregation'], ranged: boolean): RollupsQuery {
  return {
    name,
    byColumn: true,
    names: [...seriesNames, 'width', 'after', 'through', 'skew', 'known'],
    build: (query, at) =>
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
        .where('series', '=', answerOf(seriesQuery(query, at)))
        .where('width_ms', '=', at.width)
        .where('end_ms', '>', at.after)
        .where('end_ms', '<=', at.through)
        .orderBy('end_ms'),
  };
}

/** From a row of `rollupsQuery`. Fills `into`: there are thousands of rollups, and one object is enough. */
export function unpackRollup(
  row: readonly unknown[],
  into: { -readonly [K in keyof RollupSummary]: RollupSummary[K] },
): void {
  const packed = Number(row[1]);
  into.flags = packed % weightPlace;
  into.weight = Math.floor((packed % rowsPlace) / weightPlace);
  into.rowCount = Math.floor(packed / rowsPlace);
  // A sum that overflowed is stored as NULL.
  into.value = row[2] === null ? Number.NaN : Number(row[2]);
  into.min = Number(row[3]);
  into.max = Number(row[4]);
  into.lastValue = Number(row[5]);
  // NaN if the time itself was not requested.
  into.lastMs = Number(row[6]);
}
