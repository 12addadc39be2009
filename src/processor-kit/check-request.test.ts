/** [processor §4]: of two faults the earlier step is reported; and the faults that only headers or clocks show. */
import { describe, expect, test } from 'vitest';
import type { DataProcessingRequest } from '../api/processing.ts';
import { type PatchOperation, patched } from '../base/json-patch.ts';
import {
  bytesOf,
  caseNowMs,
  loadReceiver,
  loadRequest,
  loadTask,
  processorHeaders,
  redigested,
} from '../testing/load-fixture.ts';
import { checkRequest, type ReceivedRequest, type Receiver } from './check-request.ts';

const base = redigested(loadRequest);
const replace = (path: string, value: unknown): PatchOperation => ({ op: 'replace', path, value });

function refusal(received: Partial<ReceivedRequest>, receiver: Partial<Receiver> = {}) {
  const whole = { headers: processorHeaders, body: bytesOf(base), ...received };
  const checked = checkRequest(whole, { ...loadReceiver, ...receiver });
  return checked.ok ? null : checked.refusal;
}

const code = (...call: Parameters<typeof refusal>) => refusal(...call)?.body.code ?? 'accepted';

/** One fault for each step of the contract, in its order. */
const faults: readonly (readonly [step: string, code: string, fault: PatchOperation])[] = [
  ['1 contract version', 'SCHEMA_UNSUPPORTED', replace('/schema', 'svc.data-processing.request.v2')],
  ['2 identity', 'REQUEST_INVALID', replace('/request_id', 'x')],
  ['2 deadline', 'DEADLINE_EXCEEDED', replace('/deadline', '2026-07-11T12:00:03Z')],
  ['2 digest', 'DIGEST_MISMATCH', replace('/input_digest', `sha256:${'0'.repeat(64)}`)],
  ['3 task', 'TASK_NOT_SUPPORTED', replace('/task/id', 'energy.other')],
  ['4 units', 'UNIT_UNSUPPORTED', replace('/frame/history/features/load/unit', 'MW')],
  ['5 grid', 'FRAME_INVALID', replace('/frame/history/timestamps/1', '2026-07-11T11:31:00Z')],
  ['6 quality', 'QUALITY_REJECTED', replace('/frame/history/features/rain/values/0', -1)],
  ['7 artifact', 'MODEL_NOT_FOUND', replace('/artifact/version', 'v9')],
];

function sent(...operations: readonly PatchOperation[]): Uint8Array {
  const request = patched<DataProcessingRequest>(base, operations);
  const stale = operations.some((operation) => operation.path === '/input_digest');
  return bytesOf(stale ? request : redigested(request));
}
const knowsArtifact: Receiver['knowsArtifact'] = ({ version }) => version !== 'v9';

describe('[processor §4] Validation order', () => {
  test.each(faults)('%s alone', (_, expected, fault) => {
    expect(code({ body: sent(fault) }, { knowsArtifact })).toBe(expected);
  });

  const pairs = faults.flatMap(([earlier, expected, first], index) =>
    faults.slice(index + 1).map(([later, , second]) => [earlier, later, expected, [second, first]] as const),
  );
  test.each(pairs)('%s before %s', (_, __, expected, operations) => {
    expect(code({ body: sent(...operations) }, { knowsArtifact })).toBe(expected);
  });

  test('1 token, size, media type, JSON, in this order', () => {
    const wrong = { authorization: 'Bearer no' };
    const limits = { ...loadReceiver.limits, max_request_bytes: 2 };
    const bearerToken = 'yes';
    const body = bytesOf('not an object');
    expect(code({ headers: {}, body }, { bearerToken, limits })).toBe('PROCESSOR_AUTH_REQUIRED');
    expect(code({ headers: wrong, body }, { bearerToken, limits })).toBe('PROCESSOR_AUTH_DENIED');
    expect(code({ headers: { authorization: 'Bearer yes' }, body }, { bearerToken, limits })).toBe('FRAME_TOO_LARGE');
    expect(code({ headers: {}, body: new TextEncoder().encode('{') })).toBe('MEDIA_TYPE_UNSUPPORTED');
    expect(code({ body: new TextEncoder().encode('{') })).toBe('JSON_INVALID');
  });

  test('several faults of one request are reported one at a time, with path and rule', () => {
    const answer = refusal({ body: sent(replace('/frame/history/timestamps/1', '2026-07-11T11:31:00Z')) });
    expect(answer).toMatchObject({
      status: 422,
      body: {
        schema: 'svc.data-processing.error.v1',
        request_id: base.request_id,
        category: 'invalid_data',
        retryable: false,
        details: { path: '/frame/history/timestamps/1', rule: 'grid' },
      },
    });
  });
});

describe('[processor §5] Processor error envelope', () => {
  test('request_id is empty when unreadable, and never anything but a UUID', () => {
    expect(refusal({ body: new TextEncoder().encode('{') })?.body.request_id).toBe('');
    expect(refusal({ body: sent(replace('/request_id', '<script>')) })?.body.request_id).toBe('');
    expect(refusal({ body: sent(replace('/task/id', 'energy.other')) })?.body.request_id).toBe(base.request_id);
  });

  test('an unknown member is reported at its object, without its name', () => {
    const body = sent({ op: 'add', path: '/frame/quality/password~1etc', value: 1 });
    const answer = refusal({ body });
    expect(answer?.body).toMatchObject({
      code: 'REQUEST_INVALID',
      details: { path: '/frame/quality', rule: 'unknown_member' },
    });
    expect(JSON.stringify(answer)).not.toContain('password');
  });
});

describe('[processor §5]: limits and times', () => {
  const limited = (limits: Partial<Receiver['limits']>) => code({}, { limits: { ...loadReceiver.limits, ...limits } });

  test('max_request_bytes and max_frame_cells at their edges', () => {
    const bytes = bytesOf(base).byteLength;
    expect([limited({ max_request_bytes: bytes }), limited({ max_request_bytes: bytes - 1 })]).toEqual([
      'accepted',
      'FRAME_TOO_LARGE',
    ]);
    // 5 history features of 4 cells, 4 future ones of 2.
    expect([limited({ max_frame_cells: 28 }), limited({ max_frame_cells: 27 })]).toEqual([
      'accepted',
      'FRAME_TOO_LARGE',
    ]);
  });

  test('the deadline: one millisecond before it is in time', () => {
    const deadlineMs = Date.parse(base.deadline);
    expect(code({}, { nowMs: deadlineMs - 1 })).toBe('accepted');
    expect(refusal({}, { nowMs: deadlineMs })).toMatchObject({
      status: 504,
      body: { code: 'DEADLINE_EXCEEDED', retryable: true },
    });
  });

  test('a deadline at or before submission or as_of is not a deadline', () => {
    const at = (deadline: string, submitted: string) =>
      code(
        { body: sent(replace('/deadline', deadline), replace('/submitted_at', submitted)) },
        { nowMs: caseNowMs - 5000 },
      );
    expect(at('2026-07-11T12:00:01Z', '2026-07-11T12:00:01Z')).toBe('REQUEST_INVALID');
    expect(at('2026-07-11T12:00:00Z', '2026-07-11T11:00:00Z')).toBe('REQUEST_INVALID');
  });

  test('more quantiles than the task allows, and a horizon beyond it, are options that are unknown', () => {
    const options = (value: object) =>
      code({ body: sent(replace('/options', { kind: 'forecast', horizon_steps: 2, ...value })) });
    expect(options({ quantiles: [0.5] })).toBe('OPTION_UNKNOWN');
    expect(options({ horizon_steps: 289 })).toBe('OPTION_UNKNOWN');
    const allowing = { ...loadTask, output: { ...loadTask.output, max_quantiles: 1 } };
    const body = sent(replace('/options', { kind: 'forecast', horizon_steps: 2, quantiles: [0.5] }));
    expect(code({ body }, { declarations: [allowing] })).toBe('accepted');
  });

  test('a compressed body is not read', () => {
    expect(code({ headers: { ...processorHeaders, 'content-encoding': 'gzip' } })).toBe('MEDIA_TYPE_UNSUPPORTED');
  });
});
