/**
 * Executions that an engine could not store before it ended, because its database was away: kept as files of the data dir,
 * stored when the database answers again (docs/guides/several-machines.md). One file for each end of an engine.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Type from 'typebox';
import { decoder } from '../base/decode.ts';
import { newId } from '../base/id.ts';
import type { HistoryRow, HistoryStore } from './history-store.ts';

export interface RecordSpool {
  keep(rows: readonly HistoryRow[]): void;
  /** Stores what is kept, the oldest file first; returns how many executions. Throws when the database does not take them. */
  store(store: Pick<HistoryStore, 'restore'>): Promise<number>;
}

const suffix = '.jsonl';

const rowSchema = Type.Object({
  execution_id: Type.String(),
  rule_id: Type.Integer(),
  started_at: Type.String(),
  outcome: Type.String(),
  unchanged: Type.Boolean(),
  record: Type.String(),
});
const decodeRow = decoder(rowSchema);

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
        const rows = readRows(readFileSync(file, 'utf8'));
        if (rows === null) {
          // Left for a person, out of the way of the others.
          renameSync(file, `${file}.damaged`);
          throw new Error(`${name} in spool holds something else than executions`);
        }
        await store.restore(rows);
        rmSync(file);
        stored += rows.length;
      }
      return stored;
    },
  };
}

/** Null when the file is damaged. */
function readRows(text: string): HistoryRow[] | null {
  const rows: HistoryRow[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const row = decodeRow(parsed(line));
    if (!row.ok) return null;
    rows.push(row.value);
  }
  return rows;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
