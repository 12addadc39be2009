/** Recorded history on hypertables of TimescaleDB, created as docs/formats/history.md tells an operator to. */
import { readFileSync } from 'node:fs';
import { connectPostgres } from '../storage/postgres.ts';
import { storageLimits } from '../storage/server-limits.ts';

/** Creates the extension in a server's database, before concurrent tests would; or returns why it is not available. */
export async function lackingTimescale(url: string): Promise<string | null> {
  const server = connectPostgres({ url, limits: { ...storageLimits, postgres_schema: 'public' } }, 'site');
  try {
    const connection = await server.connect();
    try {
      const [found] = await connection.run(`SELECT 1 FROM pg_available_extensions WHERE name = 'timescaledb'`);
      if (found === undefined) return 'the server does not have the extension';
      await connection.run('CREATE EXTENSION IF NOT EXISTS timescaledb SCHEMA public');
      return null;
    } finally {
      connection.release(true);
    }
  } catch (error) {
    return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  } finally {
    await server.close();
  }
}

/** The statements of the page, for the tables of a schema with this name. */
export function hypertablesIn(schema: string): string {
  const page = readFileSync(new URL('../../docs/formats/history.md', import.meta.url), 'utf8');
  const statements = /```sql\n(.*?create_hypertable.*?)```/s.exec(page)?.[1];
  if (statements === undefined) throw new Error('the page has no statements for hypertables');
  return statements.replace('search_path TO setpoint,', `search_path TO ${schema},`);
}
