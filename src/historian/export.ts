/** Reads recorded rows back as they are, and as they were known at a past moment (decisions §4 "Data cut"). */
import { quality } from '../rules/snapshot.ts';
import type { HistoryDatabase } from '../storage/history-database.ts';
import type { ExportRequest, HistoryRow } from './historian.ts';
import { seriesFinder } from './window.ts';

export interface Exporter {
  rows(request: ExportRequest): IterableIterator<HistoryRow>;
}

const qualityCodes = Object.values(quality);

export function createExporter(database: HistoryDatabase): Exporter {
  const findSeries = seriesFinder(database);
  const rows = database.statement(['series', 'from', 'to', 'known'], (query, at) =>
    query
      .selectFrom('sample')
      .select(['event_ms', 'ingested_ms', 'value', 'quality'])
      .where('series', '=', at.series)
      .where('event_ms', '>=', at.from)
      .where('event_ms', '<=', at.to)
      .where('ingested_ms', '<=', at.known)
      .orderBy('event_ms')
      .orderBy('ingested_ms')
      .orderBy('ordinal'),
  );
  return {
    *rows({ series, fromMs, toMs, knownAtMs }) {
      const id = findSeries(series);
      if (id === null) return;
      const span = {
        series: id,
        from: fromMs ?? Number.MIN_SAFE_INTEGER,
        to: toMs ?? Number.MAX_SAFE_INTEGER,
        known: knownAtMs ?? Number.MAX_SAFE_INTEGER,
      };
      for (const row of rows.iterate(span)) {
        const [eventMs, ingestedMs, value, code] = row;
        yield {
          series,
          eventMs: Number(eventMs),
          ingestedMs: Number(ingestedMs),
          value: typeof value === 'number' ? value : null,
          quality: qualityCodes.find((known) => known === code) ?? quality.missing,
        };
      }
    },
  };
}
