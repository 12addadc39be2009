/**
 * Stores of recorded history for tests, on either engine, and on hypertables where the run's server has them. Each store starts empty
 * and is not shared.
 */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, inject } from 'vitest';
import type { Historian, HistoryRow } from '../historian/historian.ts';
import { historyLimits } from '../historian/limits.ts';
import { openHistorian } from '../historian/open-historian.ts';
import { prepareHistory } from '../historian/store/history-server.ts';
import type { DatabasePlace } from '../storage/database.ts';
import { connectPostgres, takeLock } from '../storage/postgres.ts';
import type { StorageLimits } from '../storage/server-limits.ts';
import { type DatabaseEngine, engines, runOn, testSchema } from './engines.ts';
import { hypertablesIn } from './hypertables.ts';

export type HistoryEngine = DatabaseEngine | 'hypertables';
export const hypertables: readonly HistoryEngine[] = inject('timescaledb') ? ['hypertables'] : [];
export const historyEngines: readonly HistoryEngine[] = [...engines, ...hypertables];

export interface TestHistory {
  readonly place: DatabasePlace;
  /** For files, whatever the engine. */
  readonly folder: string;
  readonly historian: Historian;
  /** A statement sent directly to the database. */
  run(text: string): Promise<void>;
  /** Deletes everything. */
  clear(): Promise<void>;
  /** A text of the stored content: two equal texts mean that nothing was written in between. */
  contents(): Promise<string>;
  /** Another process writes until the returned function is called. */
  hold(): Promise<() => Promise<void>>;
  /** The store is unreachable until the returned function is called. */
  moveAway(): Promise<() => Promise<void>>;
  remove(): Promise<void>;
}

export const testHistoryLimits = { ...historyLimits, lock_wait_ms: 0 };

/** `server` changes limits of the connections to a server. */
export async function testHistory(engine: HistoryEngine, server: Partial<StorageLimits> = {}): Promise<TestHistory> {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-history-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  if (engine === 'sqlite') {
    const place = join(folder, 'history.sqlite');
    const historian = openHistorian(place, testHistoryLimits);
    await historian.append([]);
    return {
      place,
      folder,
      historian,
      async run(text) {
        const other = new DatabaseSync(place);
        other.exec(text);
        other.close();
      },
      async clear() {
        for (const suffix of ['', '-wal', '-shm']) rmSync(`${place}${suffix}`, { force: true });
        await historian.append([]);
      },
      async contents() {
        // The -shm file is the lock table of readers, not content.
        const files = readdirSync(folder).filter((name) => !name.endsWith('-shm'));
        return files.map((name) => `${name} ${readFileSync(join(folder, name)).toString('base64')}`).join('\n');
      },
      async hold() {
        const other = new DatabaseSync(place);
        other.exec('BEGIN IMMEDIATE');
        return async () => other.close();
      },
      async moveAway() {
        renameSync(place, `${place}.away`);
        return async () => renameSync(`${place}.away`, place);
      },
      async remove() {
        await historian.close();
        removeFolder();
      },
    };
  }
  const place = await testSchema(server);
  await prepareHistory(place);
  if (engine === 'hypertables') await runOn(place, hypertablesIn(place.limits.postgres_schema));
  const historian = openHistorian(place, testHistoryLimits);
  const run = async (text: string): Promise<void> => void (await runOn(place, text));
  const { postgres_schema: schema } = place.limits;
  return {
    place,
    folder,
    historian,
    run,
    clear: () => run('TRUNCATE sample, rollup, series'),
    async contents() {
      // A row that is written again, even unchanged, is another version in another transaction.
      const tables = ['sample', 'rollup', 'series', 'data_format'].map((table) =>
        runOn(
          place,
          `SELECT xmin::text, ctid::text, tableoid::regclass::text, row.* FROM ${table} AS row ORDER BY 3, 2`,
        ),
      );
      return JSON.stringify(await Promise.all(tables));
    },
    async hold() {
      const holder = connectPostgres(place, 'history');
      const connection = await holder.connect();
      await connection.run(`BEGIN; ${takeLock(schema, 'history')}`);
      return async () => {
        connection.release(true);
        await holder.close();
      };
    },
    async moveAway() {
      await run(`ALTER SCHEMA ${schema} RENAME TO ${schema}_away`);
      return () => run(`ALTER SCHEMA ${schema}_away RENAME TO ${schema}`);
    },
    async remove() {
      await historian.close();
      await run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      removeFolder();
    },
  };
}

/** One store for all tests of a `describe`, each of which clears what it does not expect. */
export function historyOn(engine: HistoryEngine, server: Partial<StorageLimits> = {}): () => TestHistory {
  let history: TestHistory | undefined;
  beforeAll(async () => {
    history = await testHistory(engine, server);
  });
  afterAll(() => history?.remove());
  return () => {
    if (history === undefined) throw new Error('there is a history only while tests run');
    return history;
  };
}

export async function exportedRows(
  historian: Pick<Historian, 'export'>,
  ...request: Parameters<Historian['export']>
): Promise<HistoryRow[]> {
  return (await Array.fromAsync(historian.export(...request))).flat();
}
