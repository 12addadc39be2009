/**
 * Stores of recorded history for tests, on either engine, and on hypertables where the run's server has them: each one is empty
 * and of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { inject } from 'vitest';
import type { Historian, HistoryRow } from '../historian/historian.ts';
import { historyLimits } from '../historian/limits.ts';
import { openHistorian } from '../historian/open-historian.ts';
import type { DatabasePlace } from '../storage/database.ts';
import { prepareHistory } from '../storage/history-server.ts';
import { type Engine, engines, runOn, testSchema } from './engines.ts';
import { hypertablesIn } from './hypertables.ts';

export type HistoryEngine = Engine | 'hypertables';
export const hypertables: readonly HistoryEngine[] = inject('timescaledb') ? ['hypertables'] : [];
export const historyEngines: readonly HistoryEngine[] = [...engines, ...hypertables];

export interface TestHistory {
  readonly place: DatabasePlace;
  /** For files, whatever the engine. */
  readonly folder: string;
  readonly historian: Historian;
  /** What somebody does who can reach the database. */
  run(text: string): Promise<void>;
  /** Nothing is stored any more. */
  clear(): Promise<void>;
  remove(): Promise<void>;
}

export const testHistoryLimits = { ...historyLimits, lock_wait_ms: 0 };

export async function testHistory(engine: HistoryEngine): Promise<TestHistory> {
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
      async remove() {
        await historian.close();
        removeFolder();
      },
    };
  }
  const place = await testSchema();
  await prepareHistory(place);
  if (engine === 'hypertables') await runOn(place, hypertablesIn(place.limits.postgres_schema));
  const historian = openHistorian(place, testHistoryLimits);
  const run = async (text: string): Promise<void> => void (await runOn(place, text));
  return {
    place,
    folder,
    historian,
    run,
    clear: () => run('TRUNCATE sample, rollup, series'),
    async remove() {
      await historian.close();
      await run(`DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
      removeFolder();
    },
  };
}

export async function exportedRows(
  historian: Pick<Historian, 'export'>,
  ...request: Parameters<Historian['export']>
): Promise<HistoryRow[]> {
  return (await Array.fromAsync(historian.export(...request))).flat();
}
