/**
 * Executions that an engine could not store before it ended, because its database was away: kept as files of the data dir,
 * stored when the database answers again (docs/guides/several-machines.md). One file for each end of an engine.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../base/id.ts';
import type { HistoryRow, HistoryStore } from './history-store.ts';

export interface RecordSpool {
  keep(rows: readonly HistoryRow[]): void;
  /** Stores what is kept, the oldest file first; returns how many executions. Throws when the database does not take them. */
  store(store: Pick<HistoryStore, 'restore'>): Promise<number>;
}

const suffix = '.jsonl';

export function recordSpool(dataFolder: string): RecordSpool {
  const folder = join(dataFolder, 'spool');
  return {
    keep(rows) {
      if (rows.length === 0) return;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${newId()}${suffix}`);
      writeFileSync(`${file}.draft`, rows.map((row) => `${JSON.stringify(row)}\n`).join(''), { flush: true });
      renameSync(`${file}.draft`, file);
    },
    async store(store) {
      if (!existsSync(folder)) return 0;
      let stored = 0;
      // Names sort by time.
      for (const name of readdirSync(folder).toSorted()) {
        if (!name.endsWith(suffix)) continue;
        const file = join(folder, name);
        const lines = readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => line !== '');
        await store.restore(lines.map((line) => JSON.parse(line) as HistoryRow));
        rmSync(file);
        stored += lines.length;
      }
      return stored;
    },
  };
}
