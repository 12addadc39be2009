/**
 * Readings that a recorder could not store before it ended, because its database was unavailable: written to files in the data dir
 * (`storage/spool.ts`), and stored when the database answers again (docs/guides/several-machines.md).
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { recordedQuality } from '../site/quality.ts';
import { openSpool, type Spool } from '../storage/spool.ts';
import type { Historian, HistoryRow } from './historian.ts';
import type { Observations } from './observations.ts';

export interface HistorySpool extends Omit<Spool<HistoryRow>, 'store'> {
  /** Stores the spooled files, oldest first; returns the number of rows. Throws if the database does not accept them. */
  store(historian: Pick<Historian, 'append'>, clock: Clock): Promise<number>;
}

const qualities: readonly unknown[] = Object.values(recordedQuality);

export function isHistoryRow(value: unknown): value is HistoryRow {
  if (typeof value !== 'object' || value === null) return false;
  const {
    series,
    eventMs,
    ingestedMs,
    value: reading,
    quality,
    observations,
  }: Partial<Record<keyof HistoryRow, unknown>> = value;
  if (typeof series !== 'object' || series === null) return false;
  const { instance, point, kind }: Partial<Record<keyof HistoryRow['series'], unknown>> = series;
  return (
    (kind === undefined || kind === 'action') &&
    [instance, point, eventMs, ingestedMs].every(Number.isInteger) &&
    (reading === null || Number.isFinite(reading)) &&
    qualities.includes(quality) &&
    (observations === undefined || isObservations(observations))
  );
}

function isObservations(value: unknown): value is Observations {
  if (typeof value !== 'object' || value === null) return false;
  const { count, sinceMs }: Partial<Record<keyof Observations, unknown>> = value;
  return Number.isInteger(count) && Number.isInteger(sinceMs);
}

export function historySpool(dataFolder: string): HistorySpool {
  const { keep, recover, store } = openSpool({
    folder: join(dataFolder, 'spool-history'),
    what: 'readings',
    isRow: isHistoryRow,
  });
  return {
    keep,
    recover,
    store: (historian, clock) =>
      store((rows) => {
        // They were not visible before now: that is their ingestion time.
        const nowMs = clock.wallMs();
        const known = rows.map((row) => ({ ...row, ingestedMs: Math.max(row.ingestedMs, nowMs) }));
        return historian.append(known, { once: true });
      }),
  };
}
