/** The routes of area C over HTTP [data-processing §5] and [data-processing §5.3]: order of checks, ids, discovery and health. */
import { describe, expect, test } from 'vitest';
import { processorsHealthSchema, taskListSchema } from '../api/processing-discovery.ts';
import { decoder } from '../base/decode.ts';
import type { NormalisedRequest } from '../contract/wire/request-decode.ts';
import { engines } from '../testing/engines.ts';
import { fallbackProcessor, processBody } from '../testing/fallback-processor.ts';
import {
  derivedOf,
  type GatewayChanges,
  gatewaysOn,
  outcomes,
  refusalIn,
  told,
} from '../testing/processing-gateway.ts';
import { sendRaw } from '../testing/test-gateway.ts';
import type { Processor } from './processor/processor.ts';

describe.each(engines)('[data-processing §5.1] a process call, on %s', (engine) => {
  const start = gatewaysOn(engine);

  test('returns DerivedData; its two records contain the request and the outcome', async () => {
    const site = await start();
    const response = await site.process();
    expect([response.status, response.headers.get('x-svc-audit')]).toEqual([200, 'recorded']);
    const derived = await derivedOf(response);
    expect(derived).toMatchObject({
      processing_status: 'fallback',
      binding: { id: 'energy.example-site', revision: 1 },
    });
    expect(derived.data.points.map(({ value }) => value)).toEqual([840, 840]);
    const about = { kind: 'processing-binding', resourceId: 'processing-binding:energy.example-site' };
    const correlationId = response.headers.get('x-correlation-id');
    expect(site.gateway.entries).toEqual([
      expect.objectContaining({
        action: 'data_processing.process',
        outcome: 'accepted',
        risk: 'medium',
        confirmation: 'not-required',
        resource: about,
        correlationId,
        details: {
          task: { id: 'energy.site-load-forecast', revision: 1 },
          binding: { id: 'energy.example-site', revision: 1 },
          as_of: '2026-07-11T12:00:00Z',
          options: { kind: 'forecast', horizon_steps: 2 },
          request_id: derived.request_id,
          processor: { id: 'load-forecasting-edge', version: '0.1.0', boundary: 'local' },
        },
      }),
      expect.objectContaining({
        action: 'data_processing.process',
        outcome: 'succeeded',
        resource: about,
        correlationId,
        acceptedEventId: 'event-1',
        details: {
          input_digest: derived.input_digest,
          result_id: derived.result_id,
          status: 'fallback',
          duration_ms: 0,
        },
      }),
    ]);
  });

  test('[data-processing §5.3]the accepted record precedes the first read of operational data', async () => {
    let before: string[] | undefined;
    const site = await start({
      beforeRead: (gateway) => (before = gateway.entries.map(({ outcome }) => outcome)),
    });
    await site.process();
    expect(before).toEqual(['accepted']);
  });

  test('[data-processing §7]: the same x-request-id twice runs twice, with two audit pairs, never 409', async () => {
    const site = await start();
    const twice = [
      await site.process(processBody, { 'x-request-id': 'again' }),
      await site.process(processBody, { 'x-request-id': 'again' }),
    ];
    expect(twice.map(({ status }) => status)).toEqual([200, 200]);
    const [one, other] = await Promise.all(twice.map(derivedOf));
    expect([one?.request_id, other?.request_id]).toEqual(['again', 'again']);
    expect(one?.result_id).not.toBe(other?.result_id);
    expect(site.counts).toEqual({ reads: 2, asked: 2 });
    expect(outcomes(site)).toEqual(['accepted', 'succeeded', 'accepted', 'succeeded']);
  });

  test('the route may carry the exact schema identifier, and no other', async () => {
    const site = await start();
    const schema = 'svc.data-processing.process-task-request.v1';
    expect((await site.process({ ...processBody, schema })).status).toBe(200);
    expect((await site.process({ ...processBody, schema: `${schema.slice(0, -1)}2` })).status).toBe(400);
  });
});

describe.each(engines)('[data-processing §5.1] ids, on %s', (engine) => {
  const start = gatewaysOn(engine);

  const uuid = '0190AEE6-2139-7a87-8448-806f1b843201';
  test.each<[string, Record<string, string>, RegExp, RegExp]>([
    [
      'a UUID in any case goes to the processor as it is',
      { 'x-request-id': uuid },
      new RegExp(`^${uuid}$`),
      new RegExp(`^${uuid}$`),
    ],
    [
      'another id stays here; the processor gets a fresh UUID',
      { 'x-request-id': 'shift-7:42' },
      /^shift-7:42$/,
      /^[0-9a-f]{8}-[0-9a-f]{4}-7/,
    ],
    ['without one, a UUIDv7 is made', {}, /^[0-9a-f]{8}-[0-9a-f]{4}-7/, /^[0-9a-f]{8}-[0-9a-f]{4}-7/],
    ['128 characters', { 'x-request-id': 'a'.repeat(128) }, /^a{128}$/, /^[0-9a-f-]{36}$/],
  ])('%s', async (_name, headers, caller, wire) => {
    let sent: NormalisedRequest | undefined;
    const site = await start({
      processor: (route, clock) => {
        const inner = fallbackProcessor(route, clock);
        return {
          ...inner,
          process(request, signal) {
            sent = request;
            return inner.process(request, signal);
          },
        };
      },
    });
    const response = await site.process(processBody, headers);
    expect((await derivedOf(response)).request_id).toMatch(caller);
    expect(sent?.request_id).toMatch(wire);
  });

  test.each<[string, string]>([
    ['empty', ''],
    ['129 characters', 'a'.repeat(129)],
    ['two words', 'a b'],
  ])('an x-request-id that is %s: 400, not recorded', async (_name, id) => {
    const site = await start();
    const response = await site.process(processBody, { 'x-request-id': id });
    expect([response.status, (await refusalIn(response)).code]).toEqual([400, 'invalid-input']);
    expect(site.gateway.entries).toEqual([]);
  });

  test('a duplicate x-request-id: 400, not recorded', async () => {
    const site = await start();
    const body = JSON.stringify(processBody);
    const answer = await sendRaw(
      site.gateway.port,
      `POST /api/v1/data-processing/process HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ada\r\nx-request-id: a\r\n` +
        `x-request-id: b\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(site.gateway.entries).toEqual([]);
  });
});

describe.each(engines)('[data-processing §5.1] refused before anything is read, on %s', (engine) => {
  const start = gatewaysOn(engine);

  test.each<[string, Partial<typeof processBody>]>([
    ['task', { task_id: 'energy.other' }],
    ['task revision', { expected_task_revision: 2 }],
    ['binding', { binding_id: 'energy.other' }],
    ['binding revision', { expected_binding_revision: 2 }],
    ['binding with a long id', { binding_id: 'b'.repeat(200) }],
  ])('[data-processing §5.1]: an unknown or stale %s is 404, recorded as denied', async (_name, change) => {
    const site = await start();
    const response = await site.process({ ...processBody, ...change });
    expect([response.status, (await refusalIn(response)).code]).toEqual([404, 'task-not-commissioned']);
    const id = change.binding_id ?? processBody.binding_id;
    const resourceId = id.length > 100 ? 'processing-binding:unknown' : `processing-binding:${id}`;
    expect(site.gateway.entries).toEqual([
      expect.objectContaining({ outcome: 'denied', resource: { kind: 'processing-binding', resourceId } }),
    ]);
    expect(site.counts).toEqual({ reads: 0, asked: 0 });
  });

  test('[identity §4]: Viewer may look and not run: 403, recorded as denied; without the read permission 403 too', async () => {
    const site = await start();
    const body = JSON.stringify(processBody);
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    expect((await site.send('/process', { ...init, as: 'vera' })).status).toBe(403);
    expect(outcomes(site)).toEqual(['denied']);
    expect((await site.send('/process', { ...init, as: 'nobody' })).status).toBe(401);
    expect((await site.send('/tasks', { as: 'mute' })).status).toBe(403);
    expect((await site.send('/tasks', { as: 'vera' })).status).toBe(200);
    expect(outcomes(site)).toEqual(['denied']);
  });

  test('[data-processing §5.3]: confirmation follows the route: 404 first, then 428, then the call', async () => {
    const edits: GatewayChanges['edits'] = {
      routes: [['max_concurrency: 1', 'max_concurrency: 1\n    confirmation: required']],
    };
    const site = await start({ edits });
    expect((await site.process({ ...processBody, task_id: 'other' })).status).toBe(404);
    for (const header of [{}, { 'x-svc-confirmed': 'false' }]) {
      const response = await site.process(processBody, header);
      expect([response.status, (await refusalIn(response)).code]).toEqual([428, 'confirmation-required']);
    }
    expect((await site.process(processBody, { 'x-svc-confirmed': 'yes' })).status).toBe(400);
    expect((await site.process(processBody, { 'x-svc-confirmed': 'true' })).status).toBe(200);
    expect(site.gateway.entries.map(({ outcome, confirmation }) => [outcome, confirmation])).toEqual([
      ['denied', 'not-required'],
      ['denied', 'not-required'],
      ['denied', 'not-required'],
      ['accepted', 'explicit'],
      ['succeeded', 'explicit'],
    ]);
  });

  const { options } = processBody;
  test.each<[string, number, unknown, Record<string, string>]>([
    ['as_of in the future', 400, { ...processBody, as_of: '2026-07-11T12:15:00Z' }, {}],
    ['as_of off the cadence', 400, { ...processBody, as_of: '2026-07-11T11:59:00Z' }, {}],
    ['an invalid date', 400, { ...processBody, as_of: '2026-02-30T12:00:00Z' }, {}],
    ['a local time', 400, { ...processBody, as_of: '2026-07-11T12:00:00+02:00' }, {}],
    ['an unknown member', 400, { ...processBody, endpoint: 'http://127.0.0.1:1/' }, {}],
    ['an unknown option', 400, { ...processBody, options: { ...options, model: 'x' } }, {}],
    ['an explicit null', 400, { ...processBody, options: { ...options, quantiles: null } }, {}],
    ['another kind', 400, { ...processBody, options: { ...options, kind: 'detection' } }, {}],
    ['a horizon beyond the task', 400, { ...processBody, options: { ...options, horizon_steps: 289 } }, {}],
    ['more quantiles than the task allows', 400, { ...processBody, options: { ...options, quantiles: [0.5] } }, {}],
    ['a revision as text', 400, { ...processBody, expected_task_revision: '1' }, {}],
    ['a duplicate member', 400, '{"task_id":"a","task_id":"b"}', {}],
    ['no JSON', 400, '{', {}],
    ['another media type', 415, processBody, { 'content-type': 'text/plain' }],
    ['a body over 64 KiB', 413, `{"task_id":"${'a'.repeat(65_536)}"}`, {}],
  ])('%s: %d, not recorded', async (_name, status, body, headers) => {
    const site = await start();
    const response = await site.process(body, headers);
    expect(response.status).toBe(status);
    expect([site.gateway.entries, site.counts]).toEqual([[], { reads: 0, asked: 0 }]);
  });

  test('a body of exactly 64 KiB is read', async () => {
    const site = await start();
    const text = JSON.stringify(processBody);
    expect((await site.process(text.padEnd(65_536))).status).toBe(200);
    expect((await site.process(text.padEnd(65_537))).status).toBe(413);
  });

  test('a frame too large for the route is 413 frame-too-large before it is assembled', async () => {
    const site = await start({ edits: { routes: [['max_frame_cells: 5000', 'max_frame_cells: 27']] } });
    const response = await site.process();
    expect([response.status, (await refusalIn(response)).code]).toEqual([413, 'frame-too-large']);
    expect([site.gateway.entries, site.counts.reads]).toEqual([[], 0]);
  });
});

describe.each(engines)('[data-processing §5.2] discovery and health, on %s', (engine) => {
  const start = gatewaysOn(engine);

  test('tasks: one entry a route, no observation, no audit', async () => {
    const site = await start();
    const response = await site.send('/tasks');
    const decoded = decoder(taskListSchema)(await response.json());
    expect(decoded.ok && decoded.value.tasks.map(({ task }) => task.id)).toEqual(['energy.site-load-forecast']);
    expect(site.gateway.entries).toEqual([]);
  });

  test('health: one entry a processor, always 200, without a processor too', async () => {
    const { make } = told(async () => ({ outcome: 'timeout' }));
    const site = await start({ processor: make });
    const decoded = decoder(processorsHealthSchema)(await (await site.send('/processors/health')).json());
    expect(decoded.ok && decoded.value).toEqual({
      schema: 'svc.data-processing.processors-health.v1',
      processors: [
        {
          processor_id: 'load-forecasting-edge',
          health: 'healthy',
          checked_at: '2026-07-11T12:00:01Z',
          latency_ms: 1.235,
          tasks: ['energy.site-load-forecast'],
        },
      ],
    });
    expect(site.gateway.entries).toEqual([]);
  });

  test('a processor that does not answer is unavailable after the probe deadline', async () => {
    const probing = { asked: false };
    const silent: Processor = {
      id: 'load-forecasting-edge',
      process: () => new Promise(() => undefined),
      health: (signal) =>
        new Promise((resolve) => {
          probing.asked = true;
          signal.addEventListener('abort', () => resolve({ health: 'unavailable', latencyMs: null }));
        }),
    };
    const site = await start({ processor: () => silent });
    const answered = site.send('/processors/health');
    while (!probing.asked) await new Promise((resolve) => void setImmediate(resolve));
    site.clock.advance(2000);
    const response = await answered;
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ processors: [{ health: 'unavailable' }] });
  });
});
