/**
 * The writes of an append, computed from the new rows and the stored ones [points §6.1]: the ordinal of each row at its event time,
 * and the rollups that change. Shared by both engines, which do the I/O.
 */
import type { AppendOptions, HistoryRow, SeriesId } from './historian.ts';
import { eachSpan } from './observations.ts';
import {
  addObservations,
  addRow,
  emptyRollup,
  mergeRollup,
  type Rollup,
  rollupEndMs,
  rollupWidthsMs,
} from './rollup.ts';

/** A stored series before the append. */
export interface StoredSeries {
  readonly id: number;
  /** -Infinity when it has no row. */
  readonly newestMs: number;
}

/** One of the rows of an instant. */
export interface StoredRow {
  readonly ordinal: number;
  readonly value: number | null;
  readonly quality: number;
}

export interface Stored {
  series(series: SeriesId): StoredSeries;
  /** All rows at an event time; read only for event times that are not newer than the newest row. */
  instant(series: number, eventMs: number): readonly StoredRow[];
  /** Read only for rollups that begin before the newest row. */
  rollup(series: number, widthMs: number, endMs: number): Rollup | null;
}

export interface Addition {
  readonly samples: readonly AddedRow[];
  readonly rollups: readonly ChangedRollup[];
  readonly duplicates: number;
  readonly skipped: number;
}

interface AddedRow {
  readonly series: number;
  readonly ordinal: number;
  readonly row: HistoryRow;
}

/** A rollup to be stored. */
export interface ChangedRollup {
  readonly series: number;
  readonly widthMs: number;
  readonly endMs: number;
  readonly rollup: Rollup;
}

/** The state of a series during one append. */
interface Touched {
  readonly stored: StoredSeries;
  newestMs: number;
  /** The last row at each event time of the append. */
  readonly ordinals: Map<number, number>;
  /** By width, by end: what the append adds to each rollup. */
  readonly added: readonly Map<number, Rollup>[];
}

export function planAppend(rows: readonly HistoryRow[], stored: Stored, { once = false }: AppendOptions): Addition {
  const touched = new Map<string, Touched>();
  const samples: AddedRow[] = [];
  let duplicates = 0;
  let skipped = 0;
  for (const given of rows) {
    // -0 and +0 are one value: a minimum must not depend on the order in which it was reduced.
    const row = given.value === null ? given : { ...given, value: checked(given.value) + 0 };
    const series = touchedOf(touched, stored, row.series);
    const place = ordinalOf(series, stored, row, once);
    if (place === null) {
      skipped++;
      continue;
    }
    if (place > 0) duplicates++;
    series.newestMs = Math.max(series.newestMs, row.eventMs);
    series.ordinals.set(row.eventMs, place);
    samples.push({ series: series.stored.id, ordinal: place, row });
    rollupWidthsMs.forEach((widthMs, index) => {
      const rollups = series.added[index] ?? new Map<number, Rollup>();
      addRow(rollupAt(rollups, rollupEndMs(row.eventMs, widthMs)), row, place > 0);
      eachSpan(row, widthMs, (endMs, count) => addObservations(rollupAt(rollups, endMs), row, endMs, count, place > 0));
    });
  }
  const rollups = [...touched.values()].flatMap((series) => changedRollups(series, stored));
  return { samples, rollups, duplicates, skipped };
}

function rollupAt(rollups: Map<number, Rollup>, endMs: number): Rollup {
  const rollup = rollups.get(endMs) ?? emptyRollup();
  rollups.set(endMs, rollup);
  return rollup;
}

function checked(value: number): number {
  if (!Number.isFinite(value)) throw new Error('a recorded value is finite, or null');
  return value;
}

function touchedOf(touched: Map<string, Touched>, stored: Stored, id: SeriesId): Touched {
  const key = seriesKey(id);
  const known = touched.get(key);
  if (known !== undefined) return known;
  const series = stored.series(id);
  const added = rollupWidthsMs.map(() => new Map<number, Rollup>());
  const fresh = { stored: series, newestMs: series.newestMs, ordinals: new Map<number, number>(), added };
  touched.set(key, fresh);
  return fresh;
}

export function seriesKey({ instance, point, kind }: SeriesId): string {
  return `${instance}:${kind ?? 'measurement'}:${point}`;
}

/** 0 for the first row at an event time; null for a duplicate that is stored once. */
function ordinalOf(series: Touched, stored: Stored, row: HistoryRow, once: boolean): number | null {
  if (row.eventMs > series.newestMs) return 0;
  const last = series.ordinals.get(row.eventMs);
  if (row.eventMs > series.stored.newestMs) return last === undefined ? 0 : last + 1;
  const there = stored.instant(series.stored.id, row.eventMs);
  if (once && there.some(({ value, quality }) => value === row.value && quality === row.quality)) return null;
  return (last ?? there.reduce((most, { ordinal }) => Math.max(most, ordinal), -1)) + 1;
}

function changedRollups(series: Touched, stored: Stored): ChangedRollup[] {
  const { id, newestMs } = series.stored;
  return rollupWidthsMs.flatMap((widthMs, index) =>
    [...(series.added[index] ?? [])].map(([endMs, added]) => {
      const before = isOld(endMs, widthMs, newestMs) ? stored.rollup(id, widthMs, endMs) : null;
      const rollup = before ?? added;
      if (before !== null) mergeRollup(before, added);
      return { series: id, widthMs, endMs, rollup };
    }),
  );
}

/** A rollup that begins after all stored rows is new. */
function isOld(endMs: number, widthMs: number, newestMs: number): boolean {
  return endMs - widthMs < newestMs;
}

/** The reads that `planAppend` may need, each once: for a store that answers in bulk. */
export function askedOf(rows: readonly HistoryRow[], series: Stored['series']) {
  const instants = new Map<string, { readonly series: number; readonly eventMs: number }>();
  const rollups = new Map<string, { readonly series: number; readonly widthMs: number; readonly endMs: number }>();
  for (const row of rows) {
    const { series: id, eventMs } = row;
    const stored = series(id);
    if (eventMs <= stored.newestMs) instants.set(`${stored.id}:${eventMs}`, { series: stored.id, eventMs });
    for (const widthMs of rollupWidthsMs) {
      const ask = (endMs: number): void => {
        if (isOld(endMs, widthMs, stored.newestMs))
          rollups.set(`${stored.id}:${widthMs}:${endMs}`, { series: stored.id, widthMs, endMs });
      };
      ask(rollupEndMs(eventMs, widthMs));
      eachSpan(row, widthMs, ask);
    }
  }
  return { instants: [...instants.values()], rollups: [...rollups.values()] };
}
