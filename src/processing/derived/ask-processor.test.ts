/** [data-processing §4.1] steps 9 and 10: the answer of the application route to each end of a call [data-processing §5.4]. */
import { describe, expect, test } from 'vitest';
import { deadline } from '../../base/deadline.ts';
import { patched } from '../../base/json-patch.ts';
import { buildRequest, requestBytes } from '../../contract/wire/request-bytes.ts';
import { caseNowMs, loadDerivedData, loadQuestion, loadResult } from '../../testing/load-fixture.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { type Processor, type ProcessorAnswer, unavailable } from '../processor/processor.ts';
import { askProcessor, type Processed, refusalOf } from './ask-processor.ts';

const clock = simulatedClock(caseNowMs);
const never = new AbortController().signal;

function answering(answer: ProcessorAnswer): Processor {
  return {
    id: 'load-forecasting-edge',
    process: () => Promise.resolve(answer),
    health: () => Promise.resolve({ health: 'healthy', latencyMs: 1 }),
  };
}
const ask = (answer: ProcessorAnswer, signal = never) =>
  askProcessor(answering(answer), { question: loadQuestion(), callerId: 'caller-1' }, { clock, signal });
const message = (value: unknown): ProcessorAnswer => ({ outcome: 'answered', message: value });

function fault(ended: Processed) {
  if (ended.outcome === 'derived') throw new Error('derived data came out');
  const { code, status, retryable, retryAfterMs, details } = refusalOf(ended);
  return { code, status, retryable, retryAfterMs, details };
}

describe('[data-processing §6.4] DerivedData', () => {
  test('of the valid result: the fixture, except for new values and those of this caller', async () => {
    const ended = await ask(message(loadResult));
    if (ended.outcome !== 'derived') throw new Error(ended.outcome);
    const { result_id, request_id, accepted_at, ...rest } = ended.derived;
    const { result_id: _, request_id: __, accepted_at: ___, ...expected } = loadDerivedData;
    expect(rest).toEqual(expected);
    expect(request_id).toBe('caller-1');
    expect(accepted_at).toBe('2026-07-11T12:00:03Z');
    expect(result_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
  });

  test('the details of a processor are kept beside its name', async () => {
    const details = { explanation: { models: [{ name: '<script>', share: 1 }] } };
    const ended = await ask(message({ ...loadResult, details }));
    if (ended.outcome !== 'derived') throw new Error(ended.outcome);
    expect(ended.derived.processor).toEqual({ ...loadResult.processor, details });
  });

  test('the same answer twice is two results', async () => {
    const [one, two] = [await ask(message(loadResult)), await ask(message(loadResult))];
    if (one.outcome !== 'derived' || two.outcome !== 'derived') throw new Error('not derived');
    expect(one.derived.result_id).not.toBe(two.derived.result_id);
  });
});

describe('[data-processing §5.4] Error cases by condition', () => {
  test('1 a result that breaks a check: result-rejected, with check and path', async () => {
    const wrong = patched<unknown>(loadResult, [{ op: 'replace', path: '/output/unit', value: 'MW' }]);
    expect(fault(await ask(message(wrong)))).toEqual({
      code: 'result-rejected',
      status: 502,
      retryable: false,
      retryAfterMs: undefined,
      details: { check: 'unit', path: '/output/unit' },
    });
  });

  test('6 overload, disconnect, open circuit: processing-unavailable, with any retry advice', async () => {
    expect(fault(await ask(unavailable('CIRCUIT_OPEN', { retryAfterSeconds: 8 })))).toEqual({
      code: 'processing-unavailable',
      status: 503,
      retryable: true,
      retryAfterMs: 8000,
      details: { reason: 'CIRCUIT_OPEN', retry_after_seconds: 8 },
    });
  });

  test('6 the deadline: deadline-exceeded, even if the answer arrives in the same turn', async () => {
    expect(fault(await ask({ outcome: 'timeout' }))).toMatchObject({
      code: 'deadline-exceeded',
      status: 504,
      retryable: true,
    });
    const limit = deadline(clock, 0);
    clock.advance(0);
    expect(await ask(message(loadResult), limit.signal)).toEqual({ outcome: 'timeout' });
  });

  test("the processor's typed refusal: processor-refused, its code in the details", async () => {
    expect(fault(await ask({ outcome: 'refused', status: 422, code: 'QUALITY_REJECTED' }))).toMatchObject({
      code: 'processor-refused',
      status: 502,
      retryable: false,
      details: { code: 'QUALITY_REJECTED' },
    });
  });

  test('a request over the limit of the route: frame-too-large', async () => {
    expect(fault(await ask({ outcome: 'oversized' }))).toMatchObject({ code: 'frame-too-large', status: 413 });
  });

  test('an unavailable result: its reason, and its advice only when it may be retried', async () => {
    const { output: _, expires_at: __, artifact: ___, ...common } = loadResult;
    const of = (retryable: boolean) => ({
      ...common,
      status: 'unavailable',
      unavailable: { reason_code: 'INSUFFICIENT_HISTORY', retryable, retry_after_seconds: 99_999 },
    });
    expect(await ask(message(of(true)))).toEqual({
      outcome: 'unavailable',
      reason: 'INSUFFICIENT_HISTORY',
      retryable: true,
      retryAfterSeconds: 86_400,
    });
    expect(fault(await ask(message(of(false))))).toMatchObject({
      retryable: false,
      retryAfterMs: undefined,
      details: { reason: 'INSUFFICIENT_HISTORY' },
    });
  });
});

describe('[data-processing §5.1]', () => {
  const { request } = loadQuestion();
  const build = (callerId: string) =>
    buildRequest(request, { callerId, submittedAtMs: caseNowMs - 2000, deadlineMs: 5000 });

  test("the caller's id when it is a UUID, in its own case; else a fresh one", () => {
    const id = '0190AEE6-2139-7A87-8448-806F1B843201';
    expect(build(id).request_id).toBe(id);
    expect(build('request-17').request_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  test('submitted_at is the arrival, deadline that plus deadline_ms, the digest that of the content', () => {
    const built = build(request.request_id);
    expect(built).toEqual(request);
    expect(JSON.parse(new TextDecoder().decode(requestBytes(built)))).toEqual(request);
  });
});
