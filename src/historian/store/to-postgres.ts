/**
 * Copies recorded history from its file to PostgreSQL, as part of moving a site (`to-postgres.ts`): rows and rollups unchanged,
 * many per statement, into the partitions that they need.
 */
import type { DatabaseSync } from 'node:sqlite';
import { openSource } from '../../storage/move-source.ts';
import type { PostgresConnection } from '../../storage/postgres.ts';
import { arrayOf } from './history-server.ts';
import { makePartitions, partitionMs } from './partitions.ts';
import { historySchema } from './schema.ts';

interface Column {
  readonly name: string;
  readonly type: string;
}

const columns = (type: string, ...names: readonly string[]): Column[] => names.map((name) => ({ name, type }));
/** In the order of the file, so that a table is read without sorting. */
const sample = [
  ...columns('bigint', 'series', 'event_ms'),
  ...columns('int', 'ordinal'),
  ...columns('bigint', 'ingested_ms'),
  ...columns('float8', 'value'),
  ...columns('smallint', 'quality'),
  ...columns('int', 'observations'),
  ...columns('bigint', 'since_ms'),
];
const rollup = [
  ...columns('bigint', 'series'),
  ...columns('int', 'width_ms'),
  ...columns('bigint', 'end_ms'),
  ...columns('bigint', 'row_count', 'value_count'),
  ...columns('float8', 'sum', 'sum_low', 'min', 'max', 'last_value'),
  ...columns('bigint', 'last_ms'),
  ...columns('int', 'flags'),
  ...columns('bigint', 'lead_ms', 'ingested_ms', 'repeats'),
];
const rowsPerStatement = 10_000;
const rowsPerNote = 200_000;

export async function moveHistory(
  file: string,
  connection: PostgresConnection,
  told: (table: string, rows: number) => void,
): Promise<void> {
  const source = openSource(file, historySchema.file.length);
  try {
    await makePartitions(connection.run, partitionTimes(source));
    await moveSeries(source, connection, told);
    await moveRows(source, 'sample', sample, connection, told);
    await moveRows(source, 'rollup', rollup, connection, told);
  } finally {
    source.close();
  }
}

/** A time in each partition with rows. */
function partitionTimes(source: DatabaseSync): number[] {
  const read = source.prepare(
    `SELECT DISTINCT (end_ms + CAST(? AS INTEGER) - 1) / CAST(? AS INTEGER) AS n FROM rollup WHERE width_ms = (SELECT max(width_ms) FROM rollup)`,
  );
  return read.all(partitionMs, partitionMs).map(({ n }) => Number(n) * partitionMs);
}

async function moveSeries(
  source: DatabaseSync,
  { run }: PostgresConnection,
  told: (table: string, rows: number) => void,
): Promise<void> {
  const rows = source.prepare('SELECT id, instance, kind, point FROM series ORDER BY id').all();
  for (const { id, instance, kind, point } of rows)
    await run('INSERT INTO series (id, instance, kind, point) VALUES ($1, $2, $3, $4)', [id, instance, kind, point]);
  const last = rows.at(-1)?.['id'];
  if (last !== undefined) await run(`SELECT setval(pg_get_serial_sequence('series', 'id'), $1)`, [last]);
  told('series', rows.length);
}

async function moveRows(
  source: DatabaseSync,
  table: string,
  of: readonly Column[],
  { cells }: PostgresConnection,
  told: (table: string, rows: number) => void,
): Promise<void> {
  const names = of.map(({ name }) => name).join();
  const places = of.map(({ type }, index) => `$${index + 1}::${type}[]`).join();
  const insert = `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${places})`;
  const read = source.prepare(`SELECT ${names} FROM ${table}`);
  read.setReturnArrays(true);
  let waiting: (number | null)[][] = of.map(() => []);
  let rows = 0;
  const write = async (): Promise<void> => {
    await cells(insert, waiting.map(arrayOf));
    waiting = of.map(() => []);
  };
  for (const row of read.iterate()) {
    const values: readonly unknown[] = Object.values(row);
    waiting.forEach((column, index) => column.push(typeof values[index] === 'number' ? values[index] : null));
    rows++;
    if (rows % rowsPerStatement === 0) await write();
    if (rows % rowsPerNote === 0) told(table, rows);
  }
  if (rows % rowsPerStatement > 0) await write();
  told(table, rows);
}
