/**
 * The journal of readings that wait to be stored [points §6.1], in `journal-history/` of the data dir, and how another process
 * has them stored before it reads.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, sleep } from '../base/clock.ts';
import { journalFiles, openJournal, type RowJournal } from '../storage/row-journal.ts';
import { syncCommits } from '../storage/sqlite.ts';
import type { HistoryRow } from './historian.ts';
import { isHistoryRow } from './history-spool.ts';

/** Beside the history in `file`. */
export function openHistoryJournal(folder: string, file: string): RowJournal<HistoryRow> {
  return openJournal({ folder, isRow: isHistoryRow, sync: () => syncCommits(file) });
}

/** With a dot, so that backups skip it. */
const requestName = '.store-now';
const pollMs = 50;

/** Whether another process has requested it since. */
export function takeStoreRequest(folder: string): boolean {
  const request = join(folder, requestName);
  if (!existsSync(request)) return false;
  rmSync(request, { force: true });
  return true;
}

/** Requests that the recording process store its journal now; false if it did not within the time. */
export async function requestStoring(folder: string, clock: Clock, timeoutMs: number): Promise<boolean> {
  const waiting = journalFiles(folder);
  if (waiting.length === 0) return true;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, requestName), '', { mode: 0o600 });
  const endMs = clock.monotonicMs() + timeoutMs;
  while (waiting.some((file) => existsSync(file))) {
    if (clock.monotonicMs() >= endMs) return false;
    await sleep(clock, pollMs);
  }
  return true;
}
