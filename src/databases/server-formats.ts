/** Data formats on a server, and the processes that use them (docs/guides/several-machines.md). */
import {
  connectPostgres,
  isHeld,
  openedOnServer,
  type PostgresConnection,
  type PostgresPlace,
} from '../storage/postgres.ts';
import { type DatabaseFormat, isOlder } from './data-files.ts';
import { schemas } from './schemas.ts';

/** Formats of the databases that are there. */
export function serverFormats(place: PostgresPlace): Promise<DatabaseFormat[]> {
  return onServer(place, readFormats);
}

/**
 * Refuses the upgrade of a site that other processes still use: they would continue with tables that they do not know, and their
 * changes would lack what this version stores beside them. Throws one line for the operator.
 */
export async function refuseUpgradeWhileUsed(place: PostgresPlace): Promise<void> {
  const users = await onServer(place, async (connection) =>
    (await readFormats(connection)).some(isOlder) ? connectedFrom(connection, place) : [],
  );
  if (users.length > 0)
    throw new Error(
      `the database has an older format, and processes of the site are connected from ${users.join(', ')}: stop all of them, then start this version`,
    );
}

function onServer<T>(place: PostgresPlace, work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
  return openedOnServer('site', async () => {
    const server = connectPostgres({ ...place, limits: { ...place.limits, connections_max: 1 } }, 'migration');
    let connection: PostgresConnection | undefined;
    try {
      connection = await server.connect();
      return await work(connection);
    } finally {
      connection?.release(true);
      await server.close();
    }
  });
}

async function readFormats({ run }: PostgresConnection): Promise<DatabaseFormat[]> {
  const [table] = await run(`SELECT to_regclass('data_format') IS NOT NULL AS exists`);
  if (table?.['exists'] !== true) return [];
  const rows = new Map(
    (await run('SELECT name, version FROM data_format')).map((row) => [row['name'], row['version']]),
  );
  return Object.values(schemas).flatMap(({ name, server }) =>
    rows.has(name) ? [{ name, found: Number(rows.get(name)), known: server.length }] : [],
  );
}

/** Addresses of the processes of the site. The leader of a version that does not hold `process` holds `engine`. */
async function connectedFrom({ run }: PostgresConnection, { limits }: PostgresPlace): Promise<string[]> {
  const { postgres_schema: schema } = limits;
  const rows = await run(
    `SELECT DISTINCT coalesce(host(client_addr), 'a local socket') AS address FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
      WHERE (${isHeld(schema, 'process')}) OR (${isHeld(schema, 'engine')}) ORDER BY address`,
  );
  return rows.map(({ address }) => String(address));
}
