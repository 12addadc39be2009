/** The contract of every implementation of `Processor`: one suite, run against each of them. */
import { afterEach, describe, expect, test } from 'vitest';
import { processorMediaType } from '../api/processing.ts';
import { deadline } from '../base/deadline.ts';
import type { HttpAnswer } from '../egress/exchange.ts';
import type { Processor } from '../processing/processor/processor.ts';
import type { AnswerRequest } from '../processing/processor/transport/in-process.ts';
import { caseNowMs, loadQuestion, loadRequest, loadResult } from './load-fixture.ts';
import { type SimulatedClock, simulatedClock } from './simulated-clock.ts';

export interface ContractSettings {
  readonly id: string;
  readonly version: string;
  readonly contract: 'svc.data-processing.forecast.v1';
  readonly max_request_bytes: number;
  readonly max_response_bytes: number;
  readonly connect_timeout_ms: number;
  readonly request_timeout_ms: number;
}

export interface Made {
  readonly processor: Processor;
  close(): Promise<void>;
}

export const contractSettings: ContractSettings = {
  id: 'load-forecasting-edge',
  version: '0.1.0',
  contract: 'svc.data-processing.forecast.v1',
  max_request_bytes: 100_000,
  max_response_bytes: 10_000,
  connect_timeout_ms: 500,
  request_timeout_ms: 2000,
};

export function answerToCall(status: number, message: unknown, head: Partial<HttpAnswer> = {}): HttpAnswer {
  const body = new TextEncoder().encode(typeof message === 'string' ? message : JSON.stringify(message));
  return { status, contentType: processorMediaType, contentEncoding: undefined, body, ...head };
}

const envelope = (code: string, category: string, more: object = {}): object => ({
  schema: 'svc.data-processing.error.v1',
  request_id: loadRequest.request_id,
  code,
  category,
  message: 'a message',
  retryable: false,
  details: {},
  ...more,
});

const health = {
  status: 'ok',
  processor: 'load-forecasting-edge',
  version: '0.1.0',
  contract: contractSettings.contract,
};

export function processorContract(
  name: string,
  make: (settings: ContractSettings, answer: AnswerRequest, clock: SimulatedClock, token: string) => Promise<Made>,
): void {
  describe(`a processor: ${name}`, () => {
    const clock = simulatedClock(caseNowMs);
    let made: Made | null = null;
    afterEach(() => made?.close());

    async function ask(answer: AnswerRequest, settings: Partial<ContractSettings> = {}, signal?: AbortSignal) {
      made = await make({ ...contractSettings, ...settings }, answer, clock, 'the-token');
      return made.processor.process(loadQuestion().request, signal ?? new AbortController().signal);
    }
    const outcome = (status: number, message: unknown, head?: Partial<HttpAnswer>) =>
      ask(() => Promise.resolve(answerToCall(status, message, head)));

    test('[processor §1] it sends the request whole, with media type and token, and hands back the message', async () => {
      const seen: string[] = [];
      const answer = await ask((route, { headers, body }) => {
        seen.push(route, headers['content-type'] ?? '', headers['authorization'] ?? '', new TextDecoder().decode(body));
        return Promise.resolve(answerToCall(200, loadResult));
      });
      expect(answer).toEqual({ outcome: 'answered', message: loadResult });
      expect(seen.slice(0, 3)).toEqual(['process', processorMediaType, 'Bearer the-token']);
      expect(JSON.parse(seen[3] ?? '')).toEqual(loadRequest);
    });

    test('[processor §5] a typed refusal keeps its code and status', async () => {
      expect(await outcome(422, envelope('QUALITY_REJECTED', 'invalid_data'))).toEqual({
        outcome: 'refused',
        status: 422,
        code: 'QUALITY_REJECTED',
      });
      expect(await outcome(401, envelope('PROCESSOR_AUTH_REQUIRED', 'authorization'))).toMatchObject({
        outcome: 'refused',
        status: 401,
      });
      expect(await outcome(415, envelope('MEDIA_TYPE_UNSUPPORTED', 'invalid_request'))).toMatchObject({
        outcome: 'refused',
        status: 415,
      });
    });

    test('[processor §5] capacity is always worth a retry, honoring the advice', async () => {
      const busy = envelope('PROCESSOR_BUSY', 'capacity', { details: { retry_after_seconds: 3 } });
      expect(await outcome(429, busy)).toEqual({
        outcome: 'unavailable',
        reason: 'PROCESSOR_BUSY',
        retryable: true,
        retryAfterSeconds: 3,
      });
    });

    test('[processor §5] unavailable is retryable when marked, and its advice is ignored when it is not', async () => {
      const details = { retry_after_seconds: 900 };
      const down = (retryable: boolean) => envelope('MODEL_RUNTIME_UNAVAILABLE', 'unavailable', { retryable, details });
      expect(await outcome(503, down(true))).toMatchObject({ retryable: true, retryAfterSeconds: 900 });
      expect(await outcome(503, down(false))).toMatchObject({ retryable: false, retryAfterSeconds: null });
      expect(await outcome(500, envelope('PROCESSOR_INTERNAL', 'internal'))).toMatchObject({
        outcome: 'unavailable',
        retryable: false,
      });
    });

    test('advice is a whole number of seconds, at least 0 and at most a day', async () => {
      const advised = async (seconds: unknown) => {
        const details = { retry_after_seconds: seconds };
        return outcome(503, envelope('X', 'unavailable', { retryable: true, details }));
      };
      expect(await advised(0)).toMatchObject({ retryAfterSeconds: 0 });
      expect(await advised(86_401)).toMatchObject({ retryAfterSeconds: 86_400 });
      expect(await advised(-1)).toMatchObject({ retryAfterSeconds: null });
      expect(await advised(1.5)).toMatchObject({ retryAfterSeconds: null });
    });

    test("the processor's 504 is a timeout", async () => {
      expect(await outcome(504, envelope('DEADLINE_EXCEEDED', 'timeout'))).toEqual({ outcome: 'timeout' });
    });

    test('an answer of another media type or encoding is rejected', async () => {
      const rejected = (check: string) => ({ outcome: 'rejected', rejection: { check } });
      expect(await outcome(200, loadResult, { contentType: 'application/json' })).toMatchObject(rejected('media_type'));
      expect(await outcome(200, loadResult, { contentEncoding: 'gzip' })).toMatchObject(rejected('content_encoding'));
      expect(await outcome(200, '{"a":1,"a":1}')).toMatchObject(rejected('json'));
      expect(await outcome(204, '')).toMatchObject(rejected('http_status'));
    });

    test('[processor §6.5] max_response_bytes: at the limit it is read, a byte more is rejected', async () => {
      const padded = (bytes: number) => JSON.stringify(loadResult).padEnd(bytes, ' ');
      expect(await outcome(200, padded(10_000))).toMatchObject({ outcome: 'answered' });
      expect(await outcome(200, padded(10_001))).toMatchObject({
        outcome: 'rejected',
        rejection: { check: 'max_response_bytes' },
      });
    });

    test('[processor §6.5] max_request_bytes: at the limit it is sent, a byte less is not', async () => {
      const bytes = Buffer.byteLength(JSON.stringify(loadRequest));
      let asked = 0;
      const answer: AnswerRequest = () => {
        asked++;
        return Promise.resolve(answerToCall(200, loadResult));
      };
      expect(await ask(answer, { max_request_bytes: bytes })).toMatchObject({ outcome: 'answered' });
      expect(await ask(answer, { max_request_bytes: bytes - 1 })).toEqual({ outcome: 'oversized' });
      expect(asked).toBe(1);
    });

    test('[processor §6.1] request_timeout_ms ends a call that hangs', async () => {
      const hang = hangingServer();
      const asked = ask(hang.answer);
      await hang.reached;
      clock.advance(1999);
      clock.advance(1);
      expect(await asked).toEqual({ outcome: 'timeout' });
    });

    test('the deadline ends a call before its own timeout and aborts it at the processor', async () => {
      const hang = hangingServer();
      const limit = deadline(clock, 700);
      const asked = ask(hang.answer, {}, limit.signal);
      await hang.reached;
      clock.advance(700);
      expect(await asked).toEqual({ outcome: 'timeout' });
      await hang.told;
    });

    test('a failing processor is unavailable, and the cause is not exposed', async () => {
      const answer = await ask(() => Promise.reject(new Error('/etc/secret')));
      expect(answer).toEqual({
        outcome: 'unavailable',
        reason: 'DISCONNECTED',
        retryable: true,
        retryAfterSeconds: null,
      });
    });

    test('health: the words of the contract, of the processor that the route names', async () => {
      const condition = async (message: unknown, status = 200) => {
        made = await make(contractSettings, () => Promise.resolve(answerToCall(status, message)), clock, 'the-token');
        return made.processor.health(new AbortController().signal);
      };
      expect(await condition(health)).toEqual({ health: 'healthy', latencyMs: 0 });
      expect(await condition({ ...health, status: 'degraded' })).toMatchObject({ health: 'degraded' });
      expect(await condition({ ...health, status: 'unavailable' })).toMatchObject({ health: 'unavailable' });
      expect(await condition({ ...health, version: '0.2.0' })).toMatchObject({ health: 'unavailable' });
      expect(await condition({ ...health, extra: 1 })).toMatchObject({ health: 'unavailable' });
      expect(await condition('<html>')).toMatchObject({ health: 'unavailable' });
      expect(await condition(health, 500)).toMatchObject({ health: 'unavailable' });
    });
  });
}

/** Never answers; reports when it was called and when its signal aborted. */
export function hangingServer() {
  const asked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const answer: AnswerRequest = (_, __, signal) => {
    signal.addEventListener('abort', () => ended.resolve(), { once: true });
    asked.resolve();
    return new Promise<HttpAnswer>(() => undefined);
  };
  return { answer, reached: asked.promise, told: ended.promise };
}
