/**
 * Partitions of the two large tables of recorded history in PostgreSQL (docs/formats/history.md): four weeks each, created on
 * demand, the next one in advance, and dropped as a whole when all of their rows are old. A span ends with its last moment, as
 * a rollup does, so that the rollups of a partition are those of its rows. Tables that are not partitioned, as hypertables
 * are not in this sense, are not changed.
 */
import type { PostgresConnection } from '../../storage/postgres.ts';

export const partitionMs = 28 * 86_400_000;
/** Everything before 2000 is in one partition, and so is everything after 2100: a wrong year must not create thousands. */
const firstNumber = Math.floor(Date.UTC(2000, 0, 1) / partitionMs);
const lastNumber = Math.floor(Date.UTC(2100, 0, 1) / partitionMs);
const tables = ['sample', 'rollup'] as const;

type Run = Pick<PostgresConnection, 'run'>['run'];

/** Partition n holds (n · width, (n + 1) · width]. */
export function partitionOf(timeMs: number): number {
  return Math.min(lastNumber, Math.max(firstNumber, Math.ceil(timeMs / partitionMs) - 1));
}

function nameOf(table: (typeof tables)[number], number: number): string {
  return `${table}_p${number}`;
}

/** Creates the partitions for rows at these times and the next ones. The caller holds the write lock of the history. */
export async function makePartitions(run: Run, timesMs: readonly number[]): Promise<void> {
  const needed = new Set(timesMs.flatMap((timeMs) => [partitionOf(timeMs), partitionOf(timeMs + partitionMs)]));
  const asked = [...needed].join();
  const missing = await run(
    `SELECT n FROM unnest('{${asked}}'::int[]) AS n
      WHERE to_regclass('sample_p' || n) IS NULL AND (SELECT relkind FROM pg_class WHERE oid = 'sample'::regclass) = 'p'`,
  );
  for (const { n } of missing) for (const table of tables) await run(making(table, Number(n)));
}

/** Creating it separately and attaching it takes no lock that blocks readers. */
function making(table: (typeof tables)[number], number: number): string {
  const name = nameOf(table, number);
  const from = number === firstNumber ? 'MINVALUE' : number * partitionMs + 1;
  const to = number === lastNumber ? 'MAXVALUE' : (number + 1) * partitionMs + 1;
  return `CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL);
    ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to})`;
}

/** Partitions with all rows at or before `throughMs`, oldest first. */
export async function oldPartitions(run: Run, throughMs: number): Promise<number[]> {
  const rows = await run(
    `SELECT substr(relname, 9)::int AS n FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'sample'::regclass AND relname ~ '^sample_p[0-9]+$' ORDER BY n`,
  );
  return rows
    .map(({ n }) => Number(n))
    .filter((number) => number < lastNumber && (number + 1) * partitionMs <= throughMs);
}

/** Drops a partition of both tables; returns the number of its rows. `width_ms` is a width of its rollups. */
export async function dropPartition(run: Run, number: number, width_ms: number): Promise<number> {
  const [sample, rollup] = [nameOf('sample', number), nameOf('rollup', number)];
  const [counted] = await run(
    `SELECT coalesce(sum(row_count), 0)::bigint AS rows FROM ${rollup} WHERE width_ms = ${width_ms}`,
  );
  await run(`DROP TABLE ${sample}, ${rollup}`);
  return Number(counted?.['rows']);
}
