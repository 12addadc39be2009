/** A historian over the engine of a place: a file, or a PostgreSQL server. Nothing above knows which it is. */
import type { DatabasePlace } from '../storage/database.ts';
import { embeddedHistorian } from './embedded-historian.ts';
import type { Historian } from './historian.ts';
import type { HistoryLimits } from './limits.ts';
import { postgresHistorian } from './postgres-historian.ts';

export interface HistorianOptions {
  /** False: every row is read, for comparisons. */
  readonly useRollups?: boolean;
}

export function openHistorian(
  place: DatabasePlace,
  limits: Pick<HistoryLimits, 'lock_wait_ms' | 'snapshots_max'>,
  { useRollups = true }: HistorianOptions = {},
): Historian {
  return typeof place === 'string'
    ? embeddedHistorian(place, limits, useRollups)
    : postgresHistorian(place, limits, useRollups);
}
