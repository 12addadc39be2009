/** Reads recorded rows back as they are, and as they were known at a past moment [points §6.2]. */
import { recordedQuality } from '../site/quality.ts';
import type { ExportRequest, HistoryRow } from './historian.ts';
import type { HistoryDatabase, HistoryQuery } from './store/history-database.ts';
import { seriesFinder } from './window.ts';

export interface Exporter {
  rows(request: ExportRequest): IterableIterator<HistoryRow>;
}

/** Rows that are handed over at a time. */
export const exportPortionRows = 2000;

const qualityCodes = Object.values(recordedQuality);

type ExportName = 'series' | 'from' | 'to' | 'known';

export const exportQuery: HistoryQuery<ExportName> = (query, at) =>
  query
    .selectFrom('sample')
    .select(['event_ms', 'ingested_ms', 'value', 'quality'])
    .where('series', '=', at.series)
    .where('event_ms', '>=', at.from)
    .where('event_ms', '<=', at.to)
    .where('ingested_ms', '<=', at.known)
    .orderBy('event_ms')
    .orderBy('ingested_ms')
    .orderBy('ordinal');

export function exportAsked({
  fromMs,
  toMs,
  knownAtMs,
}: ExportRequest): Readonly<Record<Exclude<ExportName, 'series'>, number>> {
  return {
    from: fromMs ?? Number.MIN_SAFE_INTEGER,
    to: toMs ?? Number.MAX_SAFE_INTEGER,
    known: knownAtMs ?? Number.MAX_SAFE_INTEGER,
  };
}

/** From the columns of `exportQuery`. */
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

export function createExporter(database: HistoryDatabase): Exporter {
  const findSeries = seriesFinder(database);
  const rows = database.statement(['series', 'from', 'to', 'known'], exportQuery);
  return {
    *rows(request) {
      const id = findSeries(request.series);
      if (id === null) return;
      for (const row of rows.iterate({ series: id, ...exportAsked(request) })) yield exportedRow(request.series, row);
    },
  };
}
