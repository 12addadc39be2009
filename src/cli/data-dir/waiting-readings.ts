/** Pending readings in the journal of a data dir [points §6.1]: stored before a command reads or deletes, so that it misses none. */
import type { Clock } from '../../base/clock.ts';
import type { Historian } from '../../historian/historian.ts';
import { historyLimits } from '../../historian/limits.ts';
import { storeLeft } from '../../historian/row-queue.ts';
import { openHistoryJournal, requestStoring } from '../../historian/waiting-journal.ts';
import { journalFiles, journalFolder } from '../../storage/row-journal.ts';
import { CommandError } from '../exit.ts';
import { type DataDirParts, historyPlace } from './data-dir.ts';

/** A service checks for requests every `flush_interval_ms`; and a large site may have much to store. */
const storingTimeoutMs = 30_000;

/** By the service if one is running, otherwise by this process. On a server there are none. */
export async function storeWaitingReadings(parts: DataDirParts, historian: Historian): Promise<void> {
  const { clock, lockDataDir, settings } = parts;
  const place = historyPlace(parts);
  if (typeof place !== 'string') return;
  const { dataDir } = settings();
  const folder = journalFolder(dataDir, 'history');
  if (journalFiles(folder).length === 0) return;
  const lock = lockDataDir(dataDir);
  if (lock === null) {
    if (await requestStoring(folder, clock, storingTimeoutMs)) return;
    throw new CommandError('the service did not store its newest readings in time; try again');
  }
  try {
    await storeReadingsLeft(dataDir, place, historian, clock);
  } finally {
    lock.release();
  }
}

/** Stores what the last service left in the journal, with exclusive access to the data dir. */
export async function storeReadingsLeft(
  dataDir: string,
  file: string,
  historian: Historian,
  clock: Clock,
): Promise<void> {
  const journal = openHistoryJournal(journalFolder(dataDir, 'history'), file);
  await storeLeft(journal, historian, historyLimits.flush_rows, clock);
}
