/** The upstream history adapter against a real server [data-processing §4.2], [data-processing §4.10]. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import type { UpstreamHistory } from '../commission/routes.ts';
import type { SeriesWindow } from './history-adapter.ts';
import { upstreamHistory } from './upstream-history.ts';

const asOfMs = Date.parse('2026-07-11T12:00:00Z');
const window = (sourceRef: string, steps = 3, more: Partial<SeriesWindow> = {}): SeriesWindow => ({
  sourceRef,
  series: { instance: 1, point: 1 },
  asOfMs,
  cadenceMs: 900_000,
  steps,
  aggregation: 'last',
  duplicatePolicy: 'reject',
  maxSourceSkewMs: 5000,
  ...more,
});
const times = ['2026-07-11T11:30:00Z', '2026-07-11T11:45:00Z', '2026-07-11T12:00:00.000Z'];
const good = { series: { load: { timestamps: times, values: [1, null, 3] } } };

let server: Server | undefined;
const seen: { url: string | undefined; headers: IncomingHttpHeaders; body: unknown }[] = [];
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  seen.length = 0;
});

async function serve(answer: (response: ServerResponse) => void, more: Partial<UpstreamHistory> = {}) {
  server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk));
    request.on('end', () => {
      seen.push({ url: request.url, headers: request.headers, body: JSON.parse(text) });
      answer(response);
    });
  });
  const port = await new Promise<number>((resolve) => {
    server?.listen(0, '127.0.0.1', () => {
      const address = server?.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const settings: UpstreamHistory = {
    adapter: 'upstream-http',
    endpoint: `http://127.0.0.1:${port}/store`,
    connect_timeout_ms: 500,
    request_timeout_ms: 300,
    max_response_bytes: 2000,
    ...more,
  };
  return upstreamHistory(settings, { clock: systemClock, bearerToken: 'secret-token' });
}
const json =
  (value: unknown, headers = {}, status = 200) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
const never = new AbortController().signal;

describe('[data-processing §4.10] POST <endpoint>/v1/history/grid', () => {
  test('one request for all series on the exact grid; null cells are missing', async () => {
    const adapter = await serve(json({ series: { ...good.series, other: { timestamps: times, values: [7, 8, 9] } } }));
    const answers = await adapter.read([window('load'), window('other', 2), window('load', 1)], never);
    expect(answers.map((answer) => [...answer.cells])).toEqual([[1, Number.NaN, 3], [8, 9], [3]]);
    expect(answers.map((answer) => answer.watermarkMs)).toEqual([asOfMs, asOfMs, asOfMs]);
    expect(seen.map(({ url, body }) => [url, body])).toEqual([
      [
        '/store/v1/history/grid',
        { series: ['load', 'other'], from: '2026-07-11T11:30:00Z', to: '2026-07-11T12:00:00Z', cadence_seconds: 900 },
      ],
    ]);
    expect(seen[0]?.headers.authorization).toBe('Bearer secret-token');
  });

  test('the watermark is the newest label with a value, null without one', async () => {
    const adapter = await serve(json({ series: { load: { timestamps: times, values: [1, 2, null] } } }));
    expect((await adapter.read([window('load')], never))[0]?.watermarkMs).toBe(asOfMs - 900_000);
    expect((await adapter.read([window('load')], never))[0]?.cells[2]).toBe(Number.NaN);
    server?.close();
    const empty = await serve(json({ series: { load: { timestamps: times, values: [null, null, null] } } }));
    expect((await empty.read([window('load')], never))[0]?.watermarkMs).toBeNull();
  });

  test('the declared range holds here too', async () => {
    const adapter = await serve(json(good));
    const [answer] = await adapter.read([window('load', 3, { range: { maximum: 2 } })], never);
    expect([answer?.outOfRangeRows, [...(answer?.cells ?? [])]]).toEqual([1, [1, Number.NaN, Number.NaN]]);
    expect([answer?.outOfRangeSpan, answer?.skewedSpan]).toEqual([{ firstMs: asOfMs, lastMs: asOfMs }, null]);
  });

  const series = (timestamps: string[], values: unknown[]) => ({ series: { load: { timestamps, values } } });
  test.each<[string, (response: ServerResponse) => void]>([
    ['off the grid', json(series([times[0] ?? '', '2026-07-11T11:46:00Z', times[2] ?? ''], [1, 2, 3]))],
    ['unsorted', json(series(times.toReversed(), [1, 2, 3]))],
    ['too short', json(series(times.slice(1), [2, 3]))],
    ['fewer values than labels', json(series(times, [2, 3]))],
    ['oversized', json(`${' '.repeat(2000)}${JSON.stringify(good)}`)],
    ['a text for a value', json(series(times, [1, '2', 3]))],
    ['an overflowing number', json(JSON.stringify(good).replace('3]', '1e999]'))],
    ['another series', json({ series: { other: good.series.load } })],
    ['one series more', json({ series: { ...good.series, other: good.series.load } })],
    ['an unknown member', json({ ...good, more: 1 })],
    ['a duplicate member', json('{"series":{},"series":{}}')],
    ['not JSON', json('<html>')],
    ['HTML', json(good, { 'content-type': 'text/html' })],
    ['compressed', json(good, { 'content-encoding': 'gzip' })],
    ['a redirect', json(good, { location: 'http://127.0.0.1:1/' }, 302)],
    ['an error', json(good, {}, 500)],
    ['silence', () => undefined],
    ['a cut connection', (response) => void response.socket?.destroy()],
  ])('%s makes the request unavailable', async (_name, answer) => {
    const adapter = await serve(answer);
    const failure: unknown = await adapter.read([window('load')], never).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'source-unavailable', status: 503 });
    expect(String(failure)).not.toMatch(/127\.0\.0\.1|secret/);
  });

  test('max_response_bytes: exactly that many are read', async () => {
    const text = JSON.stringify(good);
    const adapter = await serve(json(text.padEnd(2000)));
    expect(await adapter.read([window('load')], never)).toHaveLength(1);
  });

  test('a later call recovers; a call that is over keeps its own reason', async () => {
    let broken = true;
    const adapter = await serve((response) => json(good, {}, broken ? 503 : 200)(response));
    await expect(adapter.read([window('load')], never)).rejects.toMatchObject({ code: 'source-unavailable' });
    broken = false;
    expect(await adapter.read([window('load')], never)).toHaveLength(1);
    const over = new Error('the deadline');
    await expect(adapter.read([window('load')], AbortSignal.abort(over))).rejects.toBe(over);
  });
});
