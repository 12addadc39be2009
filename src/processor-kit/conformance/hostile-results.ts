/**
 * Results that a service must reject, as changes of the contract's example (docs/processor-contract/examples), each with
 * the one check, place and rule that it breaks ([data-processing §6.3] step 8).
 */
import type { PatchOperation } from '../../base/json-patch.ts';

export interface HostileResult {
  readonly name: string;
  readonly patch: readonly PatchOperation[];
  /** Check, JSON Pointer and, where the check is made of several, the rule. */
  readonly expected: string;
}

const row = (name: string, expected: string, ...patch: readonly PatchOperation[]): HostileResult => ({
  name,
  patch,
  expected,
});
const replace = (path: string, value: unknown): PatchOperation => ({ op: 'replace', path, value });
const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path, value });
const remove = (path: string): PatchOperation => ({ op: 'remove', path });

const fallback = {
  strategy: 'persistence',
  strategy_version: '1',
  reason_code: 'MODEL_UNAVAILABLE',
  source_feature: 'load',
  based_on_data_through: '2026-07-11T12:00:00Z',
};
const asFallback = (value: number): PatchOperation[] => [
  replace('/status', 'fallback'),
  remove('/artifact'),
  replace('/expires_at', '2026-07-11T12:30:00Z'),
  replace('/output/points/0/value', value),
  replace('/output/points/1/value', value),
];

/** Valid JSON that answers another question, another time or no request. */
export const hostileResults: readonly HostileResult[] = [
  row('another schema', 'schema /schema version', replace('/schema', 'svc.data-processing.result.v2')),
  row("another's request id", 'request_id /request_id', replace('/request_id', '0190aee6-2139-7a87-8448-806f1b843999')),
  row(
    'the request id in other case',
    'request_id /request_id',
    replace('/request_id', '0190AEE6-2139-7A87-8448-806F1B843201'),
  ),
  row('another task', 'task /task/id', replace('/task/id', 'energy.other')),
  row('another task revision', 'task /task/revision', replace('/task/revision', 2)),
  row('another kind', 'task /task/kind', replace('/task/kind', 'detection')),
  row('another binding', 'binding /binding/id', replace('/binding/id', 'energy.other-site')),
  row('another binding revision', 'binding /binding/revision', replace('/binding/revision', 7)),
  row('a stale digest', 'input_digest /input_digest', replace('/input_digest', `sha256:${'1'.repeat(64)}`)),
  row('a digest in capitals', 'shape /input_digest', replace('/input_digest', `sha256:${'A'.repeat(64)}`)),
  row('another processor', 'processor /processor/id', replace('/processor/id', 'other')),
  row('another processor version', 'processor /processor/version', replace('/processor/version', '0.2.0')),
  row(
    'another contract',
    'processor /processor/contract',
    replace('/processor/contract', 'svc.data-processing.forecast.v2'),
  ),
  row('issued in the future', 'issued_at /issued_at', replace('/issued_at', '2026-07-11T12:00:03.501Z')),
  row('issued before it was asked', 'issued_at /issued_at', replace('/issued_at', '2026-07-11T12:00:00.499Z')),
  row('issued on a day that is none', 'shape /issued_at', replace('/issued_at', '2026-02-30T12:00:00Z')),
  row('local time', 'shape /issued_at', replace('/issued_at', '2026-07-11T14:00:02+02:00')),
  row('epoch seconds', 'shape /issued_at', replace('/issued_at', 1_783_771_202)),
  row('another watermark', 'input_watermark /input_watermark', replace('/input_watermark', '2026-07-11T11:59:59.999Z')),
  row('expired', 'expires_at /expires_at', replace('/expires_at', '2026-07-11T12:00:03Z')),
  row('expires when it is issued', 'expires_at /expires_at', replace('/expires_at', '2026-07-11T12:00:02Z')),
  row('lives too long', 'expires_at /expires_at', replace('/expires_at', '2026-07-11T13:00:02.001Z')),
  row('another family', 'artifact /artifact/family', replace('/artifact/family', 'other')),
  row('another artifact kind', 'artifact /artifact/kind', replace('/artifact/kind', 'table')),
  row('another target', 'target /output/target', replace('/output/target', 'pv')),
  row('another unit', 'unit /output/unit', replace('/output/unit', 'MW')),
  row(
    'another sign',
    'sign_convention /output/sign_convention',
    replace('/output/sign_convention', 'positive_production'),
  ),
  row('another cadence', 'cadence /output/cadence_seconds', replace('/output/cadence_seconds', 1800)),
  row('interval starts', 'shape /output/timestamp_semantics', replace('/output/timestamp_semantics', 'interval_start')),
  row('a point less', 'horizon /output/points', remove('/output/points/1')),
  row(
    'a point more',
    'horizon /output/points',
    add('/output/points/-', { timestamp: '2026-07-11T12:45:00Z', value: 1 }),
  ),
  row('no points', 'shape /output/points', replace('/output/points', [])),
  row(
    'the grid one step late',
    'timestamps /output/points/0/timestamp',
    replace('/output/points/0/timestamp', '2026-07-11T12:30:00Z'),
    replace('/output/points/1/timestamp', '2026-07-11T12:45:00Z'),
  ),
  row(
    'the grid one step early',
    'timestamps /output/points/0/timestamp',
    replace('/output/points/0/timestamp', '2026-07-11T12:00:00Z'),
    replace('/output/points/1/timestamp', '2026-07-11T12:15:00Z'),
  ),
  row(
    'a millisecond off the grid',
    'timestamps /output/points/1/timestamp',
    replace('/output/points/1/timestamp', '2026-07-11T12:30:00.001Z'),
  ),
  row(
    'a label twice',
    'timestamps /output/points/1/timestamp',
    replace('/output/points/1/timestamp', '2026-07-11T12:15:00Z'),
  ),
  row(
    'labels falling',
    'timestamps /output/points/0/timestamp',
    replace('/output/points/0/timestamp', '2026-07-11T12:30:00Z'),
    replace('/output/points/1/timestamp', '2026-07-11T12:15:00Z'),
  ),
  row(
    'quantiles that nobody asked for',
    'quantiles /output/points/0/quantiles',
    add('/output/points/0/quantiles', [{ probability: 0.5, value: 846.2 }]),
  ),
  row('a value as text', 'shape /output/points/0/value', replace('/output/points/0/value', '846.2')),
  row('a value as a list', 'shape /output/points/0/value', replace('/output/points/0/value', [846.2])),
  row('warnings twice', 'shape /warnings', replace('/warnings', ['A', 'A'])),
  row(
    'too many warnings',
    'shape /warnings',
    replace(
      '/warnings',
      Array.from({ length: 65 }, (_, index) => `W${index}`),
    ),
  ),
  row('an unknown status', 'shape /status', replace('/status', 'rejected')),
  row(
    'unavailable with output',
    'shape  unknown_member',
    replace('/status', 'unavailable'),
    add('/unavailable', { reason_code: 'X', retryable: true }),
  ),
  row(
    'unavailable and no reason',
    'shape /unavailable required',
    replace('/status', 'unavailable'),
    remove('/output'),
    remove('/expires_at'),
  ),
  row('a fallback without its block', 'shape /fallback required', replace('/status', 'fallback')),
  row('a promoted fallback', 'promoted_fallback /warnings/0', replace('/warnings', ['MODEL_FALLBACK_USED'])),
  row('a promoted fallback with its block', 'shape  unknown_member', add('/fallback', fallback)),
  row(
    'a strategy that the task does not allow',
    'fallback_not_allowed /fallback/strategy',
    ...asFallback(842),
    add('/fallback', { ...fallback, strategy: 'seasonal-naive' }),
  ),
  row(
    'another strategy version',
    'fallback_not_allowed /fallback/strategy',
    ...asFallback(842),
    add('/fallback', { ...fallback, strategy_version: '2' }),
  ),
  row(
    'a fallback of another feature',
    'fallback_source /fallback/source_feature',
    ...asFallback(842),
    add('/fallback', { ...fallback, source_feature: 'rain' }),
  ),
  row(
    'a fallback of another label',
    'fallback_source /fallback/based_on_data_through',
    ...asFallback(842),
    add('/fallback', { ...fallback, based_on_data_through: '2026-07-11T11:45:00Z' }),
  ),
  row('an invented fallback', 'fallback_values /output/points/0/value', ...asFallback(1), add('/fallback', fallback)),
  row(
    'a fallback that lives too long',
    'expires_at /expires_at',
    ...asFallback(842),
    add('/fallback', fallback),
    replace('/expires_at', '2026-07-11T12:30:02.001Z'),
  ),
];
