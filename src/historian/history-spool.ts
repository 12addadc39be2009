/**
 * Readings that a recorder could not store before it ended, because its database was away: kept in files of the data dir
 * (`storage/spool.ts`), stored when the database answers again (docs/guides/several-machines.md).
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { recordedQuality } from '../site/quality.ts';
import { openSpool, type Spool } from '../storage/spool.ts';
import type { Historian, HistoryRow } from './historian.ts';
import type { Observations } from './observations.ts';

export interface HistorySpool extends Omit<Spool<HistoryRow>, 'store'> {
  /** Stores what is kept, the oldest file first; returns how many rows. Throws when the database does not take them. */
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
        // Nobody could know them before now: that is when they are ingested.
        const nowMs = clock.wallMs();
        const known = rows.map((row) => ({ ...row, ingestedMs: Math.max(row.ingestedMs, nowMs) }));
        return historian.append(known, { once: true });
      }),
  };
}
