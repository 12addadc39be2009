/**
 * Readings that a recorder could not store before it ended, because its database was away: kept as files of the data dir, stored
 * when the database answers again (docs/guides/several-machines.md). One file for each end of a recorder, of as many rows as
 * may wait (`queue_rows`).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Type from 'typebox';
import type { Clock } from '../base/clock.ts';
import { decoder } from '../base/decode.ts';
import { newId } from '../base/id.ts';
import { quality } from '../rules/snapshot.ts';
import type { Historian, HistoryRow } from './historian.ts';

export interface HistorySpool {
  keep(rows: readonly HistoryRow[]): void;
  /** Stores what is kept, the oldest file first; returns how many rows. Throws when the database does not take them. */
  store(historian: Pick<Historian, 'append'>, clock: Clock): Promise<number>;
}

const suffix = '.jsonl';
/** Rows of one transaction. */
const portionRows = 5000;

const rowSchema = Type.Object({
  series: Type.Object({ instance: Type.Integer(), point: Type.Integer() }),
  eventMs: Type.Integer(),
  ingestedMs: Type.Integer(),
  value: Type.Union([Type.Number(), Type.Null()]),
  quality: Type.Enum(Object.values(quality)),
});
const decodeRow = decoder(rowSchema);

export function historySpool(dataFolder: string): HistorySpool {
  const folder = join(dataFolder, 'spool-history');
  return {
    keep(rows) {
      if (rows.length === 0) return;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${newId()}${suffix}`);
      writeFileSync(`${file}.draft`, rows.map((row) => `${JSON.stringify(row)}\n`).join(''), { flush: true });
      renameSync(`${file}.draft`, file);
    },
    async store(historian, clock) {
      if (!existsSync(folder)) return 0;
      let stored = 0;
      // Names sort by time.
      for (const name of readdirSync(folder).toSorted()) {
        if (!name.endsWith(suffix)) continue;
        const file = join(folder, name);
        const rows = readRows(readFileSync(file, 'utf8'), clock.wallMs());
        if (rows === null) {
          // Left for a person, out of the way of the others.
          renameSync(file, `${file}.damaged`);
          throw new Error(`${name} in spool-history holds something else than readings`);
        }
        for (let from = 0; from < rows.length; from += portionRows)
          await historian.append(rows.slice(from, from + portionRows), { once: true });
        rmSync(file);
        stored += rows.length;
      }
      return stored;
    },
  };
}

/** Nobody could know them before now: that is when they are ingested. Null when the file is damaged. */
function readRows(text: string, nowMs: number): HistoryRow[] | null {
  const rows: HistoryRow[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const row = decodeRow(parsed(line));
    if (!row.ok) return null;
    rows.push({ ...row.value, ingestedMs: Math.max(row.value.ingestedMs, nowMs) });
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
