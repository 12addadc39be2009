/** A historian for the configured storage: a file, or a PostgreSQL server. Callers do not depend on which one. */
import type { DatabasePlace } from '../storage/database.ts';
import { embeddedHistorian } from './embedded-historian.ts';
import type { Historian } from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { postgresHistorian } from './postgres-historian.ts';
import type { ReadOptions } from './window.ts';

export function openHistorian(
  place: DatabasePlace,
  limits: Pick<HistoryLimits, 'lock_wait_ms' | 'snapshots_max'>,
  { useRollups = true, useBlocks = true, standsMs = 0 }: Partial<ReadOptions> = {},
): Historian {
  const options = { useRollups, useBlocks, standsMs };
  return typeof place === 'string'
    ? embeddedHistorian(place, limits, options)
    : postgresHistorian(place, limits, options);
}
