/** Whether the database takes a commit now (decisions §1 "Operations"): one that changes nothing goes all the way to the disk. */
import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Refuses like any other commit when it cannot. */
export async function commitNothing(database: Database): Promise<void> {
  await database.transaction(async (within) => {
    const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(within);
    const [row] = rows;
    if (row === undefined) throw new Error('the database has no format');
    // The same number again: a page is written all the same.
    await sql.raw(`PRAGMA user_version = ${row.user_version}`).execute(within);
  });
}
