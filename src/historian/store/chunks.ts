/**
 * Chunks of the two large tables of recorded history, if an operator made them TimescaleDB hypertables (docs/formats/history.md). The
 * extension creates them with the width that the operator chose; a chunk begins with its first moment and ends
 * right before its end. This file only drops them, with functions that every build of the extension has.
 */
import type { PostgresConnection } from '../../storage/postgres.ts';

type Run = Pick<PostgresConnection, 'run'>['run'];

export interface OldChunks {
  /** Everything before it is in chunks that are dropped together. */
  readonly endMs: number;
  /** Where the extension's functions are: `search_path` holds the site's schema alone. */
  readonly functionSchema: string;
}

/** The oldest chunks of rows, at most `countMax`, with all rows before `throughMs`; null if there are none. */
export async function oldChunks(run: Run, throughMs: number, countMax: number): Promise<OldChunks | null> {
  const [extension] = await run(
    `SELECT extnamespace::regnamespace::text AS name FROM pg_extension, pg_class
      WHERE extname = 'timescaledb' AND pg_class.oid = 'sample'::regclass AND relkind = 'r'`,
  );
  if (extension === undefined) return null;
  const [found] = await run(
    `SELECT max(end_ms)::bigint AS end_ms FROM (
        SELECT range_end_integer AS end_ms FROM timescaledb_information.chunks
        WHERE hypertable_schema = current_schema() AND hypertable_name = 'sample' AND range_end_integer <= $1
        ORDER BY range_end_integer LIMIT ${countMax}
      ) oldest
      WHERE EXISTS (SELECT FROM timescaledb_information.hypertables
        WHERE hypertable_schema = current_schema() AND hypertable_name = 'rollup')`,
    [throughMs],
  );
  const endMs = found?.['end_ms'];
  return typeof endMs === 'number' ? { endMs, functionSchema: String(extension['name']) } : null;
}

/** Waits until no read is in progress: a snapshot that began earlier must not lose rows. */
export async function dropChunks(run: Run, { endMs, functionSchema }: OldChunks): Promise<void> {
  await run('LOCK TABLE ONLY sample, ONLY rollup IN ACCESS EXCLUSIVE MODE');
  for (const table of ['sample', 'rollup'])
    await run(`SELECT ${functionSchema}.drop_chunks('${table}', older_than => ${endMs}::bigint)`);
}
