/** One typed query layer over the site's databases. Nothing above knows which engine is underneath. */
import { Kysely, type Transaction as KyselyTransaction } from 'kysely';
import { migrations } from './migrations.ts';
import type { RuntimeTables, SiteTables } from './schema.ts';
import { type Durability, type MigrationStep, migrate, openSqlite, orClose, sqliteDialect } from './sqlite.ts';

interface Handle<Tables> {
  readonly query: Kysely<Tables>;
  /** All or nothing; takes the write lock at once. */
  transaction<T>(work: (within: KyselyTransaction<Tables>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export type Database = Handle<SiteTables>;
export type Transaction = KyselyTransaction<SiteTables>;
export type RuntimeDatabase = Handle<RuntimeTables>;

/** Rules and audit: every commit is on disk before it is answered. */
export function openDatabase(file: string): Database {
  return open<SiteTables>(file, 'full', migrations.site, 'the site database');
}

/** History and rule state: a power cut may lose the last moments, never the order. */
export function openRuntimeDatabase(file: string): RuntimeDatabase {
  return open<RuntimeTables>(file, 'normal', migrations.runtime, 'the runtime database');
}

function open<Tables>(
  file: string,
  durability: Durability,
  steps: readonly MigrationStep[],
  what: string,
): Handle<Tables> {
  const sqlite = openSqlite(file, durability);
  orClose(sqlite, () => migrate(sqlite, steps, what));
  const query = new Kysely<Tables>({ dialect: sqliteDialect(sqlite) });
  return {
    query,
    transaction: (work) => query.transaction().execute(work),
    async close() {
      await query.destroy();
      // The query layer closes only what it used; a handle left open would leave the write-ahead log behind.
      if (sqlite.isOpen) sqlite.close();
    },
  };
}
