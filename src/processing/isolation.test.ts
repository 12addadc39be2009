/**
 * The information that reaches a processor, and the effects of a process call [data-processing §7], [data-processing §5.1]: the
 * raw bytes of a request, and the state of the site before and after.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { createLiveTableReader, createLiveTableWriter } from '../points/live-table.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import { quality } from '../site/quality.ts';
import { readSite } from '../site/site.ts';
import { engines } from '../testing/engines.ts';
import { processBody } from '../testing/fallback-processor.ts';
import { type Edit, fixtureFile } from '../testing/load-site.ts';
import { gatewaysOn } from '../testing/processing-gateway.ts';
import { type RawServer, rawResponse, rawServer } from '../testing/raw-server.ts';
import { http } from './processor/transport/http.ts';
import { LiveTails } from './source/live-state.ts';

let server: RawServer | undefined;
afterEach(() => server?.close());

describe.each(engines)('[data-processing §7] the actor is never sent to the processor, on %s', (engine) => {
  const start = gatewaysOn(engine);

  test('nothing of actor, token, path, query, address or site configuration is in the raw request', async () => {
    server = await rawServer((socket) => socket.end(rawResponse(503, {})));
    const endpoint: Edit = ['http://127.0.0.1:8989/', `http://127.0.0.1:${server.port}/`];
    const site = await start({
      edits: { routes: [endpoint] },
      processor: (route) => http(route.processor, { clock: systemClock, bearerToken: null }),
    });
    const response = await site.send('/process', {
      as: 'token-9c1b44',
      method: 'POST',
      body: JSON.stringify(processBody),
      headers: {
        'content-type': 'application/json',
        'x-request-id': 'shift-42cd90',
        'x-correlation-id': 'walk-5e77aa01',
        'x-svc-confirmed': 'true',
        'x-forwarded-for': '203.0.113.77',
        'user-agent': 'console-8812',
        cookie: 'session=d00d1e',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      },
    });
    expect(response.status).toBe(503);
    expect(server.received.length).toBe(1);
    const { head, body } = server.received[0] ?? { head: '', body: '' };
    const raw = `${head}\n${body}`;
    for (const secret of [
      'operator-7f3a21',
      'token-9c1b44',
      'Bearer',
      'tenant',
      'project',
      'data_processing',
      '/api/v1',
      'shift-42cd90',
      'walk-5e77aa01',
      '203.0.113.77',
      'console-8812',
      'd00d1e',
      '4bf92f3577b34da6a3ce929d0e0e4736',
      `:${site.gateway.port}`,
      // From site.yaml, bindings and routes: instances, points, channels, files, places.
      'Example site',
      'site_load',
      'instance',
      'channel',
      'derived',
      'virtual',
      '.yaml',
      'weather-nwp.json',
      '121.5',
      'audit',
    ])
      expect(raw, secret).not.toContain(secret);
    const [line = '', ...headers] = head.split('\r\n');
    expect(line).toBe('POST /v1/process HTTP/1.1');
    expect(headers.map((header) => header.split(':')[0]?.toLowerCase()).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
    ]);
    expect(Object.keys(JSON.parse(body) as object).toSorted()).toEqual([
      'artifact',
      'binding',
      'deadline',
      'frame',
      'input_digest',
      'options',
      'processor_contract',
      'request_id',
      'schema',
      'submitted_at',
      'task',
    ]);
  });
});

describe.each(engines)('effects of a process call, on %s', (engine) => {
  const start = gatewaysOn(engine);

  test('[data-processing §7]: a process call leaves live state, command slots and history byte-identical', async () => {
    const { points, channels } = readSite(fixtureFile('load-site.yaml'), 'site.yaml');
    const memory = createPointMemory(points, channels.length);
    const bytes = (): Buffer[] =>
      Object.values(memory).map((table) => Buffer.from(new Uint8Array(table.buffer as SharedArrayBuffer)));
    const site = await start({
      edits: {
        task: [
          ['live_tail: forbidden', 'live_tail: allowed'],
          [
            '- { name: rain, aggregation: sum',
            '- { name: load, aggregation: last, duplicate_policy: latest }\n    - { name: rain, aggregation: sum',
          ],
        ],
      },
      live: (clock) =>
        new LiveTails(createLiveTableReader(memory), points.length, [{ pointIndex: 0, cadenceMs: 900_000 }], clock),
    });
    const { clock, history } = site;
    // A live value from the moment of the cutoff, and a command on its way.
    const earlier = { ...clock, monotonicMs: () => clock.monotonicMs() - 1000 };
    createLiveTableWriter(memory, earlier, []).publish([{ index: 0, value: 900, quality: quality.good }]);
    memory.slotValue.fill(17);
    const before = { memory: bytes(), history: await history.contents() };
    const response = await site.process();
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      processing_status: 'fallback',
      quality: { live_tail_included: true },
    });
    expect(bytes()).toEqual(before.memory);
    expect(await history.contents()).toBe(before.history);
  });
});
