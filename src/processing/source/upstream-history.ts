/**
 * The upstream HTTP history adapter [data-processing §4.10]: one `POST <endpoint>/v1/history/grid` asks
 * for every series of a request on one exact grid, so that all come from one state of the other store. It supports cells
 * only: `last` and `reject`, which commissioning ensures. An answer that is off the grid, unsorted, oversized or otherwise
 * invalid makes the request unavailable.
 */
import Type, { type Static } from 'typebox';
import { timestampSchema, wireLimits } from '../../api/processing.ts';
import type { Clock } from '../../base/clock.ts';
import { decoder } from '../../base/decode.ts';
import { Fault } from '../../base/fault.ts';
import { parseJson } from '../../base/json.ts';
import { strict } from '../../base/schema.ts';
import { formatTimestamp, parseTimestamp } from '../../base/timestamp.ts';
import { inRange } from '../../contract/task/declaration.ts';
import { type Exchange, exchange, type Network } from '../../egress/exchange.ts';
import { systemResolve } from '../../egress/pinned-address.ts';
import type { InstantSpan, WindowAnswer } from '../../historian/historian.ts';
import type { UpstreamHistory } from '../commission/routes.ts';
import type { HistoryAdapter, SeriesWindow } from './history-adapter.ts';

const seriesSchema = strict({
  timestamps: Type.Array(timestampSchema, { maxItems: wireLimits.timestampsMax }),
  values: Type.Array(Type.Union([Type.Number(), Type.Null()]), { maxItems: wireLimits.timestampsMax }),
});
const decode = decoder(strict({ series: Type.Record(Type.String(), seriesSchema) }));
type GridAnswer = Static<typeof seriesSchema>;

export interface UpstreamParts {
  readonly clock: Clock;
  /** The value of the variable that `bearer_token_env` names; null: none is sent. */
  readonly bearerToken: string | null;
}

export function upstreamHistory(settings: UpstreamHistory, parts: UpstreamParts): HistoryAdapter {
  const base = settings.endpoint.endsWith('/') ? settings.endpoint : `${settings.endpoint}/`;
  const url = new URL('v1/history/grid', base);
  const network: Network = { clock: parts.clock, resolve: systemResolve };
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(parts.bearerToken !== null && { authorization: `Bearer ${parts.bearerToken}` }),
  };
  return {
    async read(windows, signal) {
      const asked: Exchange = {
        url,
        boundary: url.protocol === 'https:' ? 'remote' : 'local',
        method: 'POST',
        headers,
        body: new TextEncoder().encode(JSON.stringify(gridRequest(windows))),
        connectTimeoutMs: settings.connect_timeout_ms,
        requestTimeoutMs: settings.request_timeout_ms,
        wanted: () => ({ maxBytes: settings.max_response_bytes, longer: 'refused' }),
      };
      const ended = await exchange(asked, network, signal);
      // The call's own deadline has its own answer.
      signal.throwIfAborted();
      if (ended.end !== 'answer') throw unavailable(ended.end);
      const { status, contentType, contentEncoding, body } = ended.answer;
      if (status !== 200) throw unavailable('status');
      if (!/^application\/json\s*(;|$)/i.test(contentType ?? '')) throw unavailable('media_type');
      if (contentEncoding !== undefined && contentEncoding !== 'identity') throw unavailable('content_encoding');
      const series = seriesOf(body, windows);
      return windows.map((window) => answerOf(window, series));
    },
  };
}

/** All windows end at one cutoff; the longest one's grid holds the others. */
function gridRequest(windows: readonly SeriesWindow[]) {
  const longest = windows.reduce((long, window) => (window.steps > long.steps ? window : long));
  const { asOfMs, cadenceMs, steps } = longest;
  return {
    series: [...new Set(windows.map((window) => window.sourceRef))],
    from: formatTimestamp(asOfMs - (steps - 1) * cadenceMs),
    to: formatTimestamp(asOfMs),
    cadence_seconds: cadenceMs / 1000,
  };
}

/** The answer's series, each on exactly the grid that was asked for. */
function seriesOf(body: Uint8Array, windows: readonly SeriesWindow[]): ReadonlyMap<string, GridAnswer> {
  const { series: asked, from, cadence_seconds } = gridRequest(windows);
  const steps = Math.max(...windows.map((window) => window.steps));
  const decoded = decode(parsed(body));
  if (!decoded.ok) throw unavailable('shape');
  const answered = new Map(Object.entries(decoded.value.series));
  if (answered.size !== asked.length || asked.some((id) => !answered.has(id))) throw unavailable('series');
  const firstMs = parseTimestamp(from) ?? 0;
  for (const { timestamps, values } of answered.values()) {
    if (timestamps.length !== steps || values.length !== steps) throw unavailable('grid');
    if (timestamps.some((text, index) => parseTimestamp(text) !== firstMs + index * cadence_seconds * 1000))
      throw unavailable('grid');
    if (values.some((value) => value !== null && !Number.isFinite(value))) throw unavailable('value');
  }
  return answered;
}

function parsed(body: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw unavailable('json', error);
  }
}

/** The end of the answered grid, as the window reads it. */
function answerOf(window: SeriesWindow, series: ReadonlyMap<string, GridAnswer>): WindowAnswer {
  const found = series.get(window.sourceRef);
  if (found === undefined) throw new Error(`no series ${window.sourceRef} after the check`);
  const values = found.values.slice(found.values.length - window.steps);
  const cells = new Float64Array(window.steps).fill(Number.NaN);
  let outOfRangeRows = 0;
  let outOfRangeSpan: InstantSpan | null = null;
  let watermarkMs: number | null = null;
  values.forEach((value, index) => {
    if (value === null) return;
    if (window.range !== undefined && !inRange(value, window.range)) {
      outOfRangeRows++;
      const labelMs = window.asOfMs - (window.steps - 1 - index) * window.cadenceMs;
      outOfRangeSpan = { firstMs: outOfRangeSpan?.firstMs ?? labelMs, lastMs: labelMs };
      return;
    }
    cells[index] = value;
    // For this store the label is the only known time of a value.
    watermarkMs = window.asOfMs - (window.steps - 1 - index) * window.cadenceMs;
  });
  const rows = values.filter((value) => value !== null).length;
  const uncertainCells = new Uint8Array(window.steps);
  const sound = { skewedRows: 0, skewedSpan: null, firstDuplicateMs: null, trend: null };
  return { ...sound, cells, watermarkMs, rows, outOfRangeRows, outOfRangeSpan, uncertainCells };
}

function unavailable(reason: string, cause?: unknown): Fault {
  return new Fault('source-unavailable', 'the upstream history store cannot be used', { details: { reason }, cause });
}
