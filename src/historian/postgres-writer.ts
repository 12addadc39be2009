/**
 * Writes recorded history to PostgreSQL [points §6.1] as `series-store.ts` writes the file: the same decisions, with their
 * reads and writes in bulk, because every statement is a round trip. All of it runs inside one
 * transaction under the history's write lock.
 */

import type { PostgresConnection } from '../storage/postgres.ts';
import {
  type Addition,
  askedOf,
  type ChangedRollup,
  planAppend,
  type Stored,
  type StoredRow,
  type StoredSeries,
  seriesKey,
} from './append.ts';
import { deletePortionMs, type KeptRow, keptRow, rollupsOf, touchedSpan, withoutReach } from './delete.ts';
import type { AppendOptions, AppendReport, DeletedPortion, DeleteRequest, HistoryRow, SeriesId } from './historian.ts';
import { observationsMsMax } from './observations.ts';
import { pruneLimitMs, pruneThroughMs } from './retention.ts';
import { type Rollup, rollupEndMs, widestRollupMs } from './rollup.ts';
import { columnsOf, rollupColumns, rollupOf } from './rollup-row.ts';
import { dropChunks, type OldChunks, oldChunks } from './store/chunks.ts';
import { arrayOf } from './store/history-server.ts';
import { dropPartition, makePartitions, oldPartitions, partitionMs } from './store/partitions.ts';
import { rowColumns, seriesAsked, seriesNames } from './window-queries.ts';

export async function appendRows(
  connection: PostgresConnection,
  rows: readonly HistoryRow[],
  options: AppendOptions,
): Promise<AppendReport> {
  if (rows.length === 0) return { duplicates: 0, skipped: 0 };
  const series = await storedSeries(connection, rows);
  const addition = planAppend(rows, await storedAlready(connection, rows, series), options);
  await makePartitions(connection.run, neededTimes(addition));
  await addSamples(connection, addition);
  await putRollups(connection, addition.rollups);
  return { duplicates: addition.duplicates, skipped: addition.skipped };
}

/** Partitions are wider than rollups and end where they end. */
function neededTimes({ samples, rollups }: Addition): number[] {
  const times = new Map<number, number>();
  // The span of a row may reach back into the partition before its own.
  for (const { endMs } of rollups) times.set(Math.ceil(endMs / partitionMs), endMs);
  for (const { row } of samples) times.set(Math.ceil(row.eventMs / partitionMs), row.eventMs);
  return [...times.values()];
}

/** Of a row of `given`, whose kinds are numbers. */
const kindOfGiven = "CASE given.kind WHEN 1 THEN 'action' ELSE 'measurement' END";

type SeriesOf = (series: SeriesId) => StoredSeries;

/** Every series of the rows; new ones are created. */
async function storedSeries(connection: PostgresConnection, rows: readonly HistoryRow[]): Promise<SeriesOf> {
  const ids = new Map(rows.map(({ series }) => [seriesKey(series), series]));
  const given = [...ids.values()];
  const asked = given.map(seriesAsked);
  const columns = seriesNames.map((name) => arrayOf(asked.map((each) => each[name])));
  const find = async (): Promise<ReadonlyMap<string, StoredSeries>> => {
    const found = await connection.cells(
      `SELECT given.instance, given.kind, given.point, series.id, newest.event_ms
        FROM unnest($1::bigint[], $2::int[], $3::bigint[]) AS given (instance, kind, point)
        JOIN series ON series.instance = given.instance AND series.point = given.point AND series.kind = ${kindOfGiven}
        LEFT JOIN LATERAL (SELECT event_ms FROM sample WHERE sample.series = series.id ORDER BY event_ms DESC LIMIT 1) newest ON true`,
      columns,
    );
    return new Map(
      found.rows.map(([instance, kind, point, id, newestMs]) => [
        seriesKey({
          instance: Number(instance),
          point: Number(point),
          ...(Number(kind) === 1 ? { kind: 'action' as const } : {}),
        }),
        { id: Number(id), newestMs: newestMs === null ? Number.NEGATIVE_INFINITY : Number(newestMs) },
      ]),
    );
  };
  let known = await find();
  if (known.size < given.length) {
    await connection.run(
      `INSERT INTO series (instance, kind, point)
        SELECT instance, ${kindOfGiven}, point
        FROM unnest($1::bigint[], $2::int[], $3::bigint[]) AS given (instance, kind, point)
        ON CONFLICT (instance, kind, point) DO NOTHING`,
      columns,
    );
    known = await find();
  }
  return (id) => {
    const series = known.get(seriesKey(id));
    if (series === undefined) throw new Error('a series was not made');
    return series;
  };
}

/** The stored rows and rollups at the instants of the new rows. */
async function storedAlready(
  connection: PostgresConnection,
  rows: readonly HistoryRow[],
  series: SeriesOf,
): Promise<Stored> {
  const asked = askedOf(rows, series);
  const instants = new Map<string, StoredRow[]>();
  if (asked.instants.length > 0) {
    const times = asked.instants.map(({ eventMs }) => eventMs);
    // With bounds only the relevant partitions are searched; the offset forces a key lookup per place.
    const found = await connection.cells(
      `SELECT found.* FROM unnest($1::bigint[], $2::bigint[]) AS given (series, event_ms), LATERAL (
          SELECT series, event_ms, ordinal, value, quality FROM sample
          WHERE sample.series = given.series AND sample.event_ms = given.event_ms AND sample.event_ms BETWEEN $3 AND $4 OFFSET 0
        ) found`,
      [arrayOf(asked.instants.map((each) => each.series)), arrayOf(times), least(times), greatest(times)],
    );
    for (const [id, eventMs, ordinal, value, quality] of found.rows) {
      const key = `${Number(id)}:${Number(eventMs)}`;
      const there = instants.get(key) ?? [];
      instants.set(key, there);
      const number = typeof value === 'number' ? value : null;
      there.push({ ordinal: Number(ordinal), value: number, quality: Number(quality) });
    }
  }
  const rollups = new Map<string, Rollup>();
  if (asked.rollups.length > 0) {
    const ends = asked.rollups.map(({ endMs }) => endMs);
    const found = await connection.cells(
      `SELECT found.* FROM unnest($1::bigint[], $2::int[], $3::bigint[]) AS given (series, width_ms, end_ms), LATERAL (
          SELECT ${rollupColumns.join()}, series, width_ms, end_ms FROM rollup
          WHERE rollup.series = given.series AND rollup.width_ms = given.width_ms AND rollup.end_ms = given.end_ms
            AND rollup.end_ms BETWEEN $4 AND $5 OFFSET 0
        ) found`,
      [
        arrayOf(asked.rollups.map((each) => each.series)),
        arrayOf(asked.rollups.map(({ widthMs }) => widthMs)),
        arrayOf(ends),
        least(ends),
        greatest(ends),
      ],
    );
    for (const row of found.rows) rollups.set(row.slice(rollupColumns.length).join(':'), rollupOf(row));
  }
  return {
    series,
    instant: (id, eventMs) => instants.get(`${id}:${eventMs}`) ?? [],
    rollup: (id, widthMs, endMs) => rollups.get(`${id}:${widthMs}:${endMs}`) ?? null,
  };
}

function least(times: readonly number[]): number {
  return times.reduce((one, other) => Math.min(one, other));
}

function greatest(times: readonly number[]): number {
  return times.reduce((one, other) => Math.max(one, other));
}

async function addSamples({ cells }: PostgresConnection, { samples }: Addition): Promise<void> {
  if (samples.length === 0) return;
  await cells(
    `INSERT INTO sample (series, event_ms, ordinal, ingested_ms, value, quality, observations, since_ms)
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::bigint[], $5::float8[], $6::smallint[], $7::int[], $8::bigint[])`,
    [
      arrayOf(samples.map(({ series }) => series)),
      arrayOf(samples.map(({ row }) => row.eventMs)),
      arrayOf(samples.map(({ ordinal }) => ordinal)),
      arrayOf(samples.map(({ row }) => row.ingestedMs)),
      arrayOf(samples.map(({ row }) => row.value)),
      arrayOf(samples.map(({ row }) => row.quality)),
      arrayOf(samples.map(({ row }) => row.observations?.count ?? 1)),
      arrayOf(samples.map(({ row }) => row.observations?.sinceMs ?? null)),
    ],
  );
}

const rollupTypes = [
  'bigint',
  'bigint',
  'float8',
  'float8',
  'float8',
  'float8',
  'float8',
  'bigint',
  'int',
  'bigint',
  'bigint',
  'bigint',
];
const putRollup = `INSERT INTO rollup (series, width_ms, end_ms, ${rollupColumns.join()})
  SELECT * FROM unnest($1::bigint[], $2::int[], $3::bigint[], ${rollupTypes.map((type, index) => `$${index + 4}::${type}[]`).join()})
  ON CONFLICT (series, width_ms, end_ms) DO UPDATE SET ${rollupColumns.map((column) => `${column} = excluded.${column}`).join()}`;

async function putRollups({ cells }: PostgresConnection, rollups: readonly ChangedRollup[]): Promise<void> {
  if (rollups.length === 0) return;
  const columns = rollups.map(({ rollup }) => columnsOf(rollup));
  await cells(putRollup, [
    arrayOf(rollups.map(({ series }) => series)),
    arrayOf(rollups.map(({ widthMs }) => widthMs)),
    arrayOf(rollups.map(({ endMs }) => endMs)),
    ...rollupColumns.map((column) => arrayOf(columns.map((values) => values[column]))),
  ]);
}

export async function deletePortion(
  connection: PostgresConnection,
  { series: id, fromMs, toMs }: DeleteRequest,
): Promise<DeletedPortion> {
  const { cells } = connection;
  const first = await cells(
    `SELECT sample.series, sample.event_ms FROM series JOIN sample ON sample.series = series.id
      WHERE series.instance = $1 AND series.kind = $2 AND series.point = $3 AND event_ms >= $4 AND event_ms < $5
      ORDER BY event_ms LIMIT 1`,
    [id.instance, id.kind ?? 'measurement', id.point, fromMs, toMs],
  );
  const [found] = first.rows;
  if (found === undefined) return { rows: 0, nextMs: null };
  const [series, from] = [Number(found[0]), Number(found[1])];
  const to = Math.min(toMs, from + deletePortionMs);
  const least = await cells('SELECT min(since_ms) FROM sample WHERE series = $1 AND event_ms >= $2 AND event_ms < $3', [
    series,
    from,
    to,
  ]);
  const since = least.rows[0]?.[0] ?? null;
  const { changed } = await cells('DELETE FROM sample WHERE series = $1 AND event_ms >= $2 AND event_ms < $3', [
    series,
    from,
    to,
  ]);
  const span = touchedSpan(from, to, since === null ? null : Number(since));
  const keptRows = async (afterMs: number, throughMs: number): Promise<KeptRow[]> => {
    const kept = await cells(
      `SELECT ${rowColumns.join()}, ordinal FROM sample WHERE series = $1 AND event_ms > $2 AND event_ms <= $4
        AND (event_ms <= $3 OR since_ms < $3) ORDER BY event_ms, ordinal`,
      [series, afterMs, throughMs, throughMs + observationsMsMax],
    );
    return kept.rows.map((row) => keptRow(id, row));
  };
  const [behind] = await keptRows(to - 1, to - 1);
  const cut = behind === undefined ? null : withoutReach(behind, fromMs, to);
  if (cut !== null)
    await cells(
      'UPDATE sample SET observations = $4, since_ms = $5 WHERE series = $1 AND event_ms = $2 AND ordinal = $3',
      [series, cut.eventMs, cut.ordinal, cut.observations?.count ?? 1, cut.observations?.sinceMs ?? null],
    );
  await cells('DELETE FROM rollup WHERE series = $1 AND end_ms > $2 AND end_ms <= $3', [
    series,
    span.afterMs,
    span.throughMs,
  ]);
  await putRollups(connection, rollupsOf(series, await keptRows(span.afterMs, span.throughMs), span));
  return { rows: changed, nextMs: to < toMs ? to : null };
}

/** Partitions, or chunks of a hypertable, that one transaction drops at most. */
const partitionsMax = 20;

/** Drops partitions or chunks whose rows are all old; returns how many rows they had. */
export async function pruneWhole(
  connection: PostgresConnection,
  beforeMs: number,
  lockWaitMs: number,
): Promise<number> {
  const { run } = connection;
  const limitMs = pruneLimitMs(beforeMs);
  // Readers must not wait long for this.
  await run(`SET LOCAL lock_timeout TO ${Math.max(1, lockWaitMs)}`);
  let removed = 0;
  for (const number of (await oldPartitions(run, limitMs)).slice(0, partitionsMax))
    removed += await dropPartition(run, number, widestRollupMs);
  const chunks = await oldChunks(run, limitMs, partitionsMax);
  return chunks === null ? removed : removed + (await pruneChunks(connection, chunks));
}

/** A chunk may end within a quarter hour: the rest of that quarter is deleted too, because its rollup includes deleted rows. */
async function pruneChunks(connection: PostgresConnection, chunks: OldChunks): Promise<number> {
  const throughMs = rollupEndMs(chunks.endMs, widestRollupMs);
  const [counted] = await connection.run(
    `SELECT coalesce(sum(row_count), 0)::bigint AS rows FROM rollup WHERE width_ms = ${widestRollupMs} AND end_ms <= $1`,
    [throughMs],
  );
  await dropChunks(connection.run, chunks);
  const series = await connection.cells('SELECT id FROM series', []);
  const old = series.rows.map(([id]) => ({ series: Number(id), throughMs }));
  await removeRows(connection, old, throughMs);
  return Number(counted?.['rows']);
}

/** Old rows of partitions that also hold newer ones. */
export async function pruneEdge(connection: PostgresConnection, beforeMs: number, rowsMax: number): Promise<number> {
  const limitMs = pruneLimitMs(beforeMs);
  const nth =
    'SELECT event_ms FROM sample WHERE sample.series = series.id AND event_ms <= $1 ORDER BY event_ms LIMIT 1';
  const { rows } = await connection.cells(
    `SELECT id, oldest.event_ms, (${nth} OFFSET $2) FROM series, LATERAL (${nth}) oldest`,
    [limitMs, rowsMax],
  );
  if (rows.length === 0) return 0;
  const old = rows.map(([id, oldestMs, portionMs]) => ({
    series: Number(id),
    throughMs: pruneThroughMs(Number(oldestMs), portionMs === null ? null : Number(portionMs), limitMs),
  }));
  return removeRows(connection, old, limitMs);
}

interface OldSeries {
  readonly series: number;
  /** Rows and rollups at or before it are deleted. */
  readonly throughMs: number;
}

/** None of them goes beyond `limitMs`, which lets the server skip newer partitions. Returns the number of deleted rows. */
async function removeRows({ cells }: PostgresConnection, old: readonly OldSeries[], limitMs: number): Promise<number> {
  const columns = [arrayOf(old.map(({ series }) => series)), arrayOf(old.map(({ throughMs }) => throughMs)), limitMs];
  const through = 'FROM unnest($1::bigint[], $2::bigint[]) AS old (series, through_ms)';
  await cells(
    `DELETE FROM rollup USING (SELECT * ${through}) old
      WHERE rollup.series = old.series AND rollup.end_ms <= old.through_ms AND rollup.end_ms <= $3`,
    columns,
  );
  const removed = await cells(
    `DELETE FROM sample USING (SELECT * ${through}) old
      WHERE sample.series = old.series AND sample.event_ms <= old.through_ms AND sample.event_ms <= $3`,
    columns,
  );
  return removed.changed;
}
