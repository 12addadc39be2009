/**
 * Import of a file of values [points §6.2], beside a running service or without one: the whole file is
 * checked before its first row is stored, then stored in batches, each a transaction. Rows of equal times are all kept,
 * the later one is the newer.
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { AppendReport, Historian, HistoryRow, SeriesId } from './historian.ts';
import type { HistoryFile } from './history-file.ts';

export interface ImportPlan {
  /** Of a file that does not name its points. */
  readonly series: SeriesId | null;
  /** The moment of import, or `event-time` for a back-fill that should look original. */
  readonly ingestedAt: number | 'event-time';
  /** Rows whose time, value and quality are already stored are skipped. */
  readonly once: boolean;
}

/** The content of a validated file. */
export interface CheckedFile {
  readonly rows: number;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
}

export interface ImportReport extends CheckedFile {
  /** Rows at event times that already had a row. */
  readonly duplicates: number;
  /** Rows that were already stored (`once`). */
  readonly skipped: number;
}

const batchRows = 10_000;
/** Between two batches others may write: a running service stores what it records. */
const pauseMs = 10;

/** Reads the whole file; throws a HistoryFileError if any line is invalid. */
export function checkFile(file: HistoryFile): CheckedFile {
  let rows = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const { eventMs } of file.rows()) {
    rows++;
    firstMs = Math.min(firstMs, eventMs);
    lastMs = Math.max(lastMs, eventMs);
  }
  return rows === 0 ? { rows, firstMs: null, lastMs: null } : { rows, firstMs, lastMs };
}

/**
 * Stores a validated file. `onStored` receives the number of stored rows after each batch; they remain stored if a later batch
 * fails.
 */
export async function storeFile(
  historian: Pick<Historian, 'append'>,
  file: HistoryFile,
  plan: ImportPlan,
  clock: Clock,
  onStored: (rows: number) => void,
): Promise<AppendReport> {
  const total = { duplicates: 0, skipped: 0 };
  let stored = 0;
  let batch: HistoryRow[] = [];
  const store = async (): Promise<void> => {
    const report = await historian.append(batch, { once: plan.once });
    total.duplicates += report.duplicates;
    total.skipped += report.skipped;
    stored += batch.length;
    onStored(stored);
    batch = [];
  };
  for (const { series: named, eventMs, value, quality } of file.rows()) {
    const series = named ?? plan.series;
    if (series === null) throw new Error('neither the file nor the caller names the point');
    const ingestedMs = plan.ingestedAt === 'event-time' ? eventMs : plan.ingestedAt;
    batch.push({ series, eventMs, ingestedMs, value, quality });
    if (batch.length < batchRows) continue;
    await store();
    await sleep(clock, pauseMs);
  }
  if (batch.length > 0) await store();
  return total;
}
