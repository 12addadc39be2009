/** Reads recorded rows as they are, or as they were known at a past moment [points §6.2]. */
import { recordedQuality } from '../site/quality.ts';
import type { ExportRequest, HistoryRow } from './historian.ts';
import { ordinalColumn, seriesAsked, type WindowSource } from './window-queries.ts';

const qualityCodes = Object.values(recordedQuality);

type Row = readonly unknown[];

/** By event time, rows with one event time by ingestion; in the engine's portions. */
export async function* readExport(
  { queries, ask }: WindowSource,
  { series, fromMs, toMs, knownAtMs }: ExportRequest,
): AsyncIterableIterator<readonly HistoryRow[]> {
  const asked = {
    ...seriesAsked(series),
    through: toMs ?? Number.MAX_SAFE_INTEGER,
    known: knownAtMs ?? Number.MAX_SAFE_INTEGER,
  };
  let behind = { after: fromMs ?? Number.MIN_SAFE_INTEGER, ordinal: -1 };
  /** Rows at an event time that may continue in the next portion. */
  let held: readonly Row[] = [];
  for (;;) {
    const portion = await ask(queries.rows, { ...asked, ...behind });
    const rows = held.length === 0 ? portion : [...held, ...portion];
    const last = portion.at(-1);
    const goesOn = last !== undefined && portion.length === queries.portion;
    const whole = goesOn ? rows.findLastIndex(([eventMs]) => eventMs !== last[0]) + 1 : rows.length;
    if (whole > 0) yield byIngestion(rows.slice(0, whole)).map((row) => exportedRow(series, row));
    if (!goesOn) return;
    held = rows.slice(whole);
    behind = { after: Number(last[0]), ordinal: Number(last[ordinalColumn]) };
  }
}

/** Rows with one event time come in the order in which they were stored. */
function byIngestion(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted(([one, early], [other, late]) => Number(one) - Number(other) || Number(early) - Number(late));
}

/** From `rowColumns`. */
export function exportedRow(series: HistoryRow['series'], row: readonly unknown[]): HistoryRow {
  const [eventMs, ingestedMs, value, code] = row;
  return {
    series,
    eventMs: Number(eventMs),
    ingestedMs: Number(ingestedMs),
    value: typeof value === 'number' ? value : null,
    quality: qualityCodes.find((known) => known === code) ?? recordedQuality.missing,
  };
}
