/** Reads recorded rows back as they are, and as they were known at a past moment [points §6.2]. */
import { recordedQuality } from '../site/quality.ts';
import type { ExportRequest, HistoryRow } from './historian.ts';
import { answerOf, type NamedQuery, type Values } from './store/history-database.ts';
import { type SeriesName, seriesAsked, seriesNames, seriesQuery } from './window-queries.ts';

/** Rows that are handed over at a time. */
export const exportPortionRows = 2000;

const qualityCodes = Object.values(recordedQuality);

type ExportName = SeriesName | 'from' | 'to' | 'known';

export const exportQuery: NamedQuery<ExportName> = {
  name: 'history_export',
  names: [...seriesNames, 'from', 'to', 'known'],
  build: (query, at) =>
    query
      .selectFrom('sample')
      .select(['event_ms', 'ingested_ms', 'value', 'quality'])
      .where('series', '=', answerOf(seriesQuery(query, at)))
      .where('event_ms', '>=', at.from)
      .where('event_ms', '<=', at.to)
      .where('ingested_ms', '<=', at.known)
      .orderBy('event_ms')
      .orderBy('ingested_ms')
      .orderBy('ordinal'),
};

export function exportAsked({ series, fromMs, toMs, knownAtMs }: ExportRequest): Values<ExportName> {
  return {
    ...seriesAsked(series),
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
