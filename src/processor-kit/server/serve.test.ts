/** The processor protocol as this repository serves it: over real HTTP, in the contract's words [processor §4], [processor §5]. */
import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import type { DataProcessingRequest, ForecastOutput } from '../../api/processing.ts';
import { type PatchOperation, patched } from '../../base/json-patch.ts';
import { silentLog } from '../../base/log.ts';
import { askProcessor } from '../../processing/derived/ask-processor.ts';
import { http } from '../../processing/processor/transport/http.ts';
import {
  bytesOf,
  caseNowMs,
  fixtureText,
  loadQuestion,
  loadRequest,
  loadTask,
  processorHeaders,
  redigested,
} from '../../testing/load-fixture.ts';
import { contractSettings } from '../../testing/processor-contract.ts';
import { type SimulatedClock, simulatedClock } from '../../testing/simulated-clock.ts';
import type { ServedProcessor } from './answer-request.ts';
import { fallbackWork } from './fallback-work.ts';
import { defaultServerLimits } from './limits.ts';
import { type ProcessorServer, serveProcessor } from './serve.ts';
import { type Findings, horizonLabels, type Work } from './work.ts';

const processorRef = { id: 'load-forecasting-edge', version: '0.1.0', contract: 'svc.data-processing.forecast.v1' };

describe('a served processor', () => {
  let server: ProcessorServer;
  let clock: SimulatedClock;
  afterEach(() => server.close(0));

  async function start(changes: Partial<ServedProcessor> = {}): Promise<string> {
    clock = simulatedClock(caseNowMs);
    server = await serveProcessor(
      {
        processor: processorRef,
        declarations: [loadTask],
        limits: defaultServerLimits,
        bearerToken: null,
        clock,
        log: silentLog,
        work: fallbackWork,
        condition: () => 'ok',
        knowsArtifact: () => true,
        ...changes,
      },
      { host: '127.0.0.1', port: 0 },
    );
    return `http://127.0.0.1:${server.port}`;
  }

  async function post(
    url: string,
    body: Uint8Array | string = bytesOf(loadRequest),
    headers: Record<string, string> = processorHeaders,
  ) {
    const response = await fetch(`${url}/v1/process`, { method: 'POST', headers, body: Buffer.from(body) });
    return {
      status: response.status,
      headers: response.headers,
      json: (await response.json()) as Record<string, unknown>,
    };
  }
  const limits = (changes: Partial<typeof defaultServerLimits>) => ({ limits: { ...defaultServerLimits, ...changes } });

  test('[data-processing §6.3] its answer is accepted by the service: the fallback of the task, recomputed and stamped', async () => {
    const url = await start();
    const processor = http({ ...contractSettings, endpoint: url, boundary: 'local' }, { clock, bearerToken: null });
    const question = loadQuestion();
    const ended = await askProcessor(
      processor,
      { question, callerId: 'caller-7' },
      { clock, signal: new AbortController().signal },
    );
    if (ended.outcome !== 'derived') throw new Error(JSON.stringify(ended));
    expect(ended.derived).toMatchObject({
      schema: 'svc.derived-data.v1',
      request_id: 'caller-7',
      processing_status: 'fallback',
      expires_at: '2026-07-11T12:30:03Z',
      quality: { fallback_used: true, missing_ratio: 0 },
      warnings: ['MODEL_FALLBACK_USED'],
      fallback: { strategy: 'persistence', based_on_data_through: '2026-07-11T12:00:00Z' },
    });
    expect(ended.derived.data.points.map((point) => point.value)).toEqual([840, 840]);
    expect(await processor.health(new AbortController().signal)).toMatchObject({ health: 'healthy' });
  });

  test('produced findings become a result with the age of the task', async () => {
    const work: Work = (accepted) => {
      const points: ForecastOutput['points'] = horizonLabels(accepted).map((timestamp) => ({ timestamp, value: 1 }));
      const artifact = {
        kind: 'model',
        family: 'site-load',
        version: 'v3',
        artifact_digest: `sha256:${'a'.repeat(64)}`,
      };
      return Promise.resolve({ status: 'produced', points, artifact } satisfies Findings);
    };
    const { status, headers, json } = await post(await start({ work }));
    expect([status, headers.get('content-type')]).toEqual([200, 'application/vnd.svc.data-processing+json;version=1']);
    expect(json).toMatchObject({
      status: 'produced',
      issued_at: '2026-07-11T12:00:03Z',
      expires_at: '2026-07-11T13:00:03Z',
      warnings: [],
    });
    const processor = http(
      { ...contractSettings, endpoint: `http://127.0.0.1:${server.port}`, boundary: 'local' },
      { clock, bearerToken: null },
    );
    const ended = await askProcessor(
      processor,
      { question: loadQuestion(), callerId: 'x' },
      { clock, signal: new AbortController().signal },
    );
    expect(ended).toMatchObject({
      outcome: 'derived',
      derived: { processing_status: 'produced', artifact: { version: 'v3' } },
    });
  });

  describe('the cases, over HTTP', () => {
    interface Case {
      readonly id: string;
      readonly base?: string;
      readonly patch?: readonly PatchOperation[];
      readonly note?: string;
      readonly expect: {
        readonly ok?: boolean;
        readonly http?: number;
        readonly category?: string;
        readonly code?: string;
      };
    }
    const cases = fixtureText('cases.jsonl')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Case);

    test('every R case has its status, category and code', async () => {
      const url = await start();
      const answers: unknown[] = [];
      const expected: unknown[] = [];
      for (const each of cases.filter(({ base }) => base === 'R')) {
        const request = patched<DataProcessingRequest>(loadRequest, each.patch ?? []);
        const stale =
          each.note?.startsWith('do NOT re-digest') === true ||
          each.patch?.some(({ path }) => path === '/input_digest') === true;
        const { status, json } = await post(url, bytesOf(stale ? request : redigested(request)));
        answers.push(status === 200 ? [each.id, 200] : [each.id, status, json['category'], json['code']]);
        expected.push(
          each.expect.ok === true
            ? [each.id, 200]
            : [each.id, each.expect.http, each.expect.category, each.expect.code],
        );
      }
      expect(answers.length).toBeGreaterThan(40);
      expect(answers).toEqual(expected);
    });
  });

  test('no token 401, wrong token 403, on both routes; nothing of a body is read first', async () => {
    const url = await start({ bearerToken: 'right' });
    const wrong = { ...processorHeaders, authorization: 'Bearer wrong' };
    expect(await post(url)).toMatchObject({ status: 401, json: { code: 'PROCESSOR_AUTH_REQUIRED' } });
    expect(await post(url, 'x', wrong)).toMatchObject({ status: 403, json: { code: 'PROCESSOR_AUTH_DENIED' } });
    expect(await post(url, bytesOf(loadRequest), { ...wrong, authorization: 'Bearer right' })).toMatchObject({
      status: 200,
    });
    expect((await fetch(`${url}/v1/health`)).status).toBe(401);
    expect((await fetch(`${url}/v1/health`, { headers: { authorization: 'Bearer right' } })).status).toBe(200);
  });

  test('health tells condition and identity', async () => {
    const response = await fetch(`${await start({ condition: () => 'degraded' })}/v1/health`);
    expect(response.headers.get('content-type')).toBe('application/vnd.svc.data-processing+json;version=1');
    expect(await response.json()).toEqual({
      status: 'degraded',
      processor: processorRef.id,
      version: '0.1.0',
      contract: processorRef.contract,
    });
  });

  test('[platform §2.6] HEAD of the health is answered like GET, without the body', async () => {
    const url = `${await start()}/v1/health`;
    const [head, get] = [await fetch(url, { method: 'HEAD' }), await fetch(url)];
    expect(await head.text()).toBe('');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, `${(await get.arrayBuffer()).byteLength}`]);
  });

  test('other routes and methods are not there', async () => {
    const url = await start();
    for (const [method, path] of [
      ['GET', '/v1/process'],
      ['POST', '/v1/health'],
      ['GET', '/'],
      ['DELETE', '/v1/process'],
    ])
      expect((await fetch(`${url}${path}`, { method: method ?? '' })).status).toBe(404);
  });

  test('413 for a body over max_request_bytes, announced or not', async () => {
    const url = await start(limits({ max_request_bytes: 1000 }));
    expect(await post(url, 'x'.repeat(1001))).toMatchObject({ status: 413, json: { code: 'FRAME_TOO_LARGE' } });
    const chunked = await new Promise<number | undefined>((resolve, reject) => {
      const sending = httpRequest(`${url}/v1/process`, { method: 'POST', headers: processorHeaders }, (response) =>
        resolve(response.resume().statusCode),
      );
      sending.on('error', reject);
      for (let part = 0; part < 20; part++) sending.write('x'.repeat(100));
      sending.end();
    });
    expect(chunked).toBe(413);
  });

  test('a body that does not arrive in time is answered, and gives its place back', async () => {
    const url = await start(limits({ max_reading: 1 }));
    const { status, reading } = slowPost(url);
    await reading;
    expect(await post(url)).toMatchObject({ status: 429 });
    clock.advance(defaultServerLimits.read_timeout_ms);
    expect(await status).toBe(504);
    clock.jumpWall(caseNowMs - clock.wallMs());
    expect(await post(url)).toMatchObject({ status: 200 });
  });

  test('[data-processing §5.5] max_concurrency: of 64 callers 2 are worked on, the others are answered 429 at once, with advice', async () => {
    let working = 0;
    let most = 0;
    const release = Promise.withResolvers<void>();
    const work: Work = async (...call) => {
      most = Math.max(most, ++working);
      await release.promise;
      working--;
      return fallbackWork(...call);
    };
    const url = await start({ work, ...limits({ max_concurrency: 2, max_reading: 64 }) });
    const refused: number[] = [];
    const all = Array.from({ length: 64 }, async () => {
      const answer = await post(url);
      if (answer.status !== 429) return answer.status;
      expect(answer.json).toMatchObject({
        code: 'PROCESSOR_BUSY',
        category: 'capacity',
        retryable: true,
        details: { retry_after_seconds: 1 },
      });
      expect(answer.headers.get('retry-after')).toBe('1');
      // The last refusal is there before anything was released.
      if (refused.push(answer.status) === 62) release.resolve();
      return answer.status;
    });
    const statuses = await Promise.all(all);
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect([refused.length, most]).toEqual([62, 2]);
    expect(await post(url)).toMatchObject({ status: 200 });
  });

  test('the deadline passes during the work: 504, the work is aborted, and its slot stays taken until it ends', async () => {
    const started = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    let told = false;
    const work: Work = async (accepted, signal) => {
      signal.addEventListener('abort', () => {
        told = true;
      });
      started.resolve();
      await end.promise;
      return fallbackWork(accepted, signal);
    };
    const url = await start({ work, ...limits({ max_concurrency: 1 }) });
    const asked = post(url);
    await started.promise;
    clock.advance(3000);
    expect(await asked).toMatchObject({
      status: 504,
      json: { code: 'DEADLINE_EXCEEDED', request_id: loadRequest.request_id },
    });
    expect(told).toBe(true);
    clock.jumpWall(caseNowMs - clock.wallMs());
    expect(await post(url)).toMatchObject({ status: 429 });
    end.resolve();
    expect(await post(url)).toMatchObject({ status: 200 });
  });

  test('a model that fails on a valid request is 200 unavailable, to be retried after one cadence', async () => {
    for (const work of [
      () => Promise.reject(new Error('/models/secret.bin')),
      () => {
        throw new Error('at once');
      },
    ] as Work[]) {
      const { status, json } = await post(await start({ work }));
      expect(status).toBe(200);
      expect(json).toMatchObject({
        status: 'unavailable',
        unavailable: { reason_code: 'MODEL_RUNTIME_UNAVAILABLE', retryable: true, retry_after_seconds: 900 },
      });
      expect(JSON.stringify(json)).not.toContain('secret');
      expect(json).not.toHaveProperty('output');
      await server.close(0);
    }
    await start();
  });

  test('a disconnected sender ends the work', async () => {
    const started = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    const work: Work = (_, signal) => {
      signal.addEventListener('abort', () => told.resolve());
      started.resolve();
      return new Promise(() => undefined);
    };
    const url = await start({ work });
    const caller = new AbortController();
    const asked = fetch(`${url}/v1/process`, {
      method: 'POST',
      headers: processorHeaders,
      body: Buffer.from(bytesOf(loadRequest)),
      signal: caller.signal,
    });
    await started.promise;
    caller.abort();
    await expect(asked).rejects.toThrow();
    await told.promise;
  });
});

/** A request whose body never ends; `reading` when the server has its head and first bytes. */
function slowPost(url: string): { readonly status: Promise<number | undefined>; readonly reading: Promise<void> } {
  const reading = Promise.withResolvers<void>();
  const status = new Promise<number | undefined>((resolve, reject) => {
    const headers = { ...processorHeaders, 'content-length': '500', expect: '100-continue' };
    const sending = httpRequest(`${url}/v1/process`, { method: 'POST', headers }, (response) => {
      sending.on('error', () => undefined);
      resolve(response.resume().statusCode);
    });
    sending.on('continue', () => {
      sending.write('{');
      reading.resolve();
    });
    sending.on('error', reject);
    sending.flushHeaders();
  });
  return { status, reading: reading.promise };
}
