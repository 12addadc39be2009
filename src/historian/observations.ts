/**
 * The observations that a row represents [points §6.1]: values are written on change and periodically, and read at the
 * poll interval. A mean weighs a row by its observations, so that it does not depend on when rows were written.
 */

/** `count` observations of the row's value, evenly spaced in (sinceMs, the row's event time]. */
export interface Observations {
  readonly count: number;
  /** When the observation before the first of them was, wall time in milliseconds. */
  readonly sinceMs: number;
}

/** A row without `observations` represents one, at its event time. */
export interface ObservedRow {
  readonly eventMs: number;
  readonly observations?: Observations;
}

/** A stored row without its event time. */
export interface RawRow {
  readonly ingestedMs: number;
  readonly value: number | null;
  readonly quality: number;
  readonly observations?: Observations;
}

/** Rounding must not move an observation on a border. */
const spacingSlack = 1e-9;

/** How many of the row's observations were made at or before `atMs`. */
function observedThrough({ eventMs, observations }: ObservedRow, atMs: number): number {
  if (atMs >= eventMs) return observations?.count ?? 1;
  if (observations === undefined || atMs <= observations.sinceMs) return 0;
  const { count, sinceMs } = observations;
  return Math.min(count - 1, Math.floor(((atMs - sinceMs) * count) / (eventMs - sinceMs) + spacingSlack));
}

/** Observations in (afterMs, throughMs]. */
export function observedIn(row: ObservedRow, afterMs: number, throughMs: number): number {
  return observedThrough(row, throughMs) - observedThrough(row, afterMs);
}

/** The newest observation at or before `atMs`, which is not before the first one. */
export function newestObservedMs(row: ObservedRow, atMs: number): number {
  const count = observedThrough(row, atMs);
  const { eventMs, observations } = row;
  if (observations === undefined || count === observations.count) return eventMs;
  return observations.sinceMs + Math.floor((count * (eventMs - observations.sinceMs)) / observations.count);
}

/** Calls `take` for each span of `widthMs`, aligned to multiples of it, that contains observations; oldest first. */
export function eachSpan(row: ObservedRow, widthMs: number, take: (endMs: number, count: number) => void): void {
  const lastEndMs = Math.ceil(row.eventMs / widthMs) * widthMs;
  const sinceMs = row.observations?.sinceMs ?? row.eventMs;
  let counted = 0;
  for (
    let endMs = Math.min(lastEndMs, (Math.floor(sinceMs / widthMs) + 1) * widthMs);
    endMs <= lastEndMs;
    endMs += widthMs
  ) {
    const through = observedThrough(row, endMs);
    if (through > counted) take(endMs, through - counted);
    counted = through;
  }
}

/** Longest time that a row may represent: twice the longest interval between rows. */
export const observationsMsMax = 7_200_000;
