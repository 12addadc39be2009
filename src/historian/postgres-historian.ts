/**
 * A historian over a PostgreSQL server ([data-processing §4.2], docs/guides/several-machines.md), for every process of a site: a
 * snapshot is one transaction that only reads. A server that is away makes one call fail, and the next one tries anew.
 */
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { inTurns } from '../base/turns.ts';
import type { PostgresConnection, PostgresPlace } from '../storage/postgres.ts';
import { createCells, type Span } from './cells.ts';
import { storeUnavailable } from './embedded-historian.ts';
import { exportAsked, exportedRow, exportPortionRows, exportQuery } from './export.ts';
import type {
  ExportRequest,
  Historian,
  HistoryRow,
  HistorySnapshot,
  WindowAnswer,
  WindowRequest,
} from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { appendRows, deletePortion, pruneEdge, pruneWhole } from './postgres-writer.ts';
import { rollupEndMs } from './rollup.ts';
import { answerOf } from './store/history-database.ts';
import { connectHistory, type HistoryServer } from './store/history-server.ts';
import {
  check,
  knownMs,
  newestQuery,
  perQuestion,
  type ReadOptions,
  reachAsked,
  reachingQuery,
  rollupLevels,
  rollupsAsked,
  rollupsQuery,
  rollupTaker,
  rowColumns,
  rowsAsked,
  rowTaker,
  seriesAsked,
  seriesNames,
  seriesQuery,
  standingQuery,
  standingSpan,
} from './window.ts';

/** How long whoever takes an export may look at a portion: then the server may tidy up. */
const exportIdleMs = 600_000;

/** Rows of one answer of the server. */
const pageRows = 20_000;
/** Of the column's type. */
const largestOrdinal = 2_147_483_647;

export function postgresHistorian(
  place: PostgresPlace,
  limits: Pick<HistoryLimits, 'lock_wait_ms' | 'snapshots_max'>,
  options: ReadOptions,
): Historian {
  const server = connectHistory(place);
  const queries = queriesOf(server);
  let open = 0;
  let closed = false;

  const begin = async (idleMs?: number): Promise<PostgresConnection> => {
    if (closed) throw storeUnavailable(new Error('the historian is closed'));
    if (open >= limits.snapshots_max) throw storeUnavailable(new Error('too many snapshots are open'));
    open++;
    try {
      return await server.beginRead(idleMs);
    } catch (error) {
      open--;
      throw readTrouble(error);
    }
  };
  const end = async (connection: PostgresConnection, sound: boolean): Promise<void> => {
    open--;
    await server.endRead(connection, sound);
  };
  const write = <T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> => {
    if (closed) throw new Fault('storage-unavailable', 'the history store is closed');
    return server.write(work);
  };

  return {
    snapshot: async () => snapshotOn(await begin(), queries, options, end),
    append: async (rows, options = {}) => write((connection) => appendRows(connection, rows, options)),
    delete: async (request) => write((connection) => deletePortion(connection, request)),
    async prune(beforeMs, rowsMax) {
      const whole = await write((connection) => pruneWhole(connection, beforeMs, limits.lock_wait_ms)).catch(orInUse);
      return whole > 0 ? whole : write((connection) => pruneEdge(connection, beforeMs, rowsMax));
    },
    async *export(request) {
      const connection = await begin(exportIdleMs);
      let sound = false;
      try {
        yield* exported(connection, queries, request);
        sound = true;
      } catch (error) {
        throw readTrouble(error);
      } finally {
        await end(connection, sound);
      }
    },
    async close() {
      closed = true;
      await server.close();
    },
  };
}

type Queries = ReturnType<typeof queriesOf>;

/** Each finds its series itself, which spares a journey. */
function queriesOf(server: HistoryServer) {
  return {
    rows: server.query('history_rows', [...seriesNames, 'after', 'ordinal', 'through', 'known'], (query, at) =>
      query
        .selectFrom('sample')
        .select([...rowColumns, 'ordinal'])
        .where('series', '=', answerOf(seriesQuery(query, at)))
        // The first condition is for the index, the second goes on behind the last row of a page.
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
        .limit(pageRows),
    ),
    rollups: perQuestion((aggregation, ranged) =>
      server.query(
        `history_${aggregation}${ranged ? '_ranged' : ''}`,
        [...seriesNames, 'width', 'after', 'through', 'skew', 'known'],
        (query, at) => rollupsQuery(aggregation, ranged)(query, { ...at, series: answerOf(seriesQuery(query, at)) }),
      ),
    ),
    newest: server.query('history_newest', [...seriesNames, 'width', 'end'], (query, at) =>
      newestQuery(query, { ...at, series: answerOf(seriesQuery(query, at)) }),
    ),
    reaching: server.query('history_reaching', [...seriesNames, 'through', 'reach', 'known'], (query, at) =>
      reachingQuery(query, { ...at, series: answerOf(seriesQuery(query, at)) }),
    ),
    standing: server.query('history_standing', [...seriesNames, 'known'], (query, at) =>
      standingQuery(query, { ...at, series: answerOf(seriesQuery(query, at)) }),
    ),
    exported: server.query('history_export', [...seriesNames, 'from', 'to', 'known'], (query, at) =>
      exportQuery(query, { ...at, series: answerOf(seriesQuery(query, at)) }),
    ),
  };
}

async function windowOf(
  connection: PostgresConnection,
  queries: Queries,
  request: WindowRequest,
  { useRollups, standsMs }: ReadOptions,
  signal: AbortSignal | undefined,
): Promise<WindowAnswer> {
  check(request);
  const cells = createCells(request);
  const series = seriesAsked(request.series);
  const rollups = rollupTaker(request, cells);
  for (const width of rollupLevels(request, useRollups)) {
    const asked = { ...series, ...rollupsAsked(request, width) };
    for (const gap of rollups.nextLevel(width)) {
      const span = { after: gap.afterMs, through: rollupEndMs(gap.throughMs, width) };
      const rows = await queries.rollups(request).rows(connection, { ...asked, ...span });
      await inTurns(systemClock, rollups.take(rows, gap), signal);
      signal?.throwIfAborted();
    }
  }
  const last = rollups.newest();
  if (last !== null) {
    const [newest] = await queries.newest.rows(connection, { ...series, ...last });
    cells.observed(Number(newest?.[0]));
  }
  const taker = rowTaker(cells);
  for (const gap of rollups.gaps()) {
    for await (const rows of pages(connection, queries, request, gap)) {
      await inTurns(systemClock, taker.take(rows, gap), signal);
      signal?.throwIfAborted();
    }
    const reach = { ...series, ...reachAsked(request, gap) };
    taker.reach(await queries.reaching.rows(connection, reach), gap);
  }
  const stood = standingSpan(request, standsMs);
  if (stood !== null) {
    const asked = { ...series, known: knownMs(request) };
    taker.stand(await queries.standing.rows(connection, asked), stood);
  }
  return cells.answer();
}

/** Rows of a span, as many at a time as memory should hold. */
async function* pages(
  connection: PostgresConnection,
  queries: Queries,
  request: WindowRequest,
  gap: Span,
): AsyncIterableIterator<readonly (readonly unknown[])[]> {
  const series = seriesAsked(request.series);
  const asked = { ...series, ...rowsAsked(request, gap) };
  // Nothing of the instant right before the span.
  for (let place = { after: gap.afterMs, ordinal: largestOrdinal }; ; ) {
    const rows = await queries.rows.rows(connection, { ...asked, ...place });
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    place = { after: Number(last[0]), ordinal: Number(last[rowColumns.length]) };
  }
}

function snapshotOn(
  connection: PostgresConnection,
  queries: Queries,
  options: ReadOptions,
  end: (connection: PostgresConnection, sound: boolean) => Promise<void>,
): HistorySnapshot {
  let state: 'open' | 'broken' | 'closed' = 'open';
  return {
    async window(request, signal) {
      if (state === 'closed') throw new Error('the snapshot is closed');
      signal?.throwIfAborted();
      try {
        return await windowOf(connection, queries, request, options, signal);
      } catch (error) {
        if (error instanceof Fault) state = 'broken';
        throw readTrouble(error);
      }
    },
    async close() {
      if (state === 'closed') return;
      const sound = state === 'open';
      state = 'closed';
      await end(connection, sound);
    },
  };
}

async function* exported(
  connection: PostgresConnection,
  queries: Queries,
  request: ExportRequest,
): AsyncIterableIterator<readonly HistoryRow[]> {
  const series = seriesAsked(request.series);
  const asked = { ...series, ...exportAsked(request) };
  for await (const rows of queries.exported.portions(connection, asked, exportPortionRows))
    yield rows.map((row) => exportedRow(request.series, row));
}

/** Trouble of the server; any other error is a bug of ours. */
function readTrouble(error: unknown): unknown {
  return error instanceof Fault && error.code === 'storage-unavailable' ? storeUnavailable(error.cause) : error;
}

const lockNotAvailable = '55P03';

/** A partition that is being read is dropped another time. */
function orInUse(error: unknown): number {
  const cause = error instanceof Fault ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause && cause.code === lockNotAvailable) return 0;
  throw error;
}
