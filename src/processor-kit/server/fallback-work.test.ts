/** [data-processing §6.3], from the processor's side: what it finds is exactly what the service computes again. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NormalisedFrame } from '../../api/processing.ts';
import type { FallbackPolicy, TaskDeclaration } from '../../contract/task/declaration.ts';
import { validateResult } from '../../contract/validate/result.ts';
import { caseNowMs, loadFixtureRoute, loadQuestion, loadTask } from '../../testing/load-fixture.ts';
import { declaredFallback } from './fallback-work.ts';
import { resultOf } from './work.ts';

const policies: Readonly<Record<FallbackPolicy['strategy'], FallbackPolicy>> = {
  persistence: policy({ strategy: 'persistence' }),
  'seasonal-naive': policy({ strategy: 'seasonal-naive', season_seconds: 1800 }),
  'historical-average': policy({ strategy: 'historical-average', season_seconds: 900, weeks: 3 }),
};

function policy(changes: Partial<FallbackPolicy> & Pick<FallbackPolicy, 'strategy'>): FallbackPolicy {
  const common = { version: '1', source_feature: 'load', season_seconds: null, weeks: null } as const;
  return { ...common, max_output_age_seconds: 1800, ...changes };
}

function found(
  fallbacks: readonly FallbackPolicy[],
  values: readonly (number | null)[],
  quantiles?: number[],
  bounds = {},
) {
  const { request } = loadQuestion();
  const load = {
    value_type: 'number' as const,
    unit: 'kW',
    values: [...values],
    quality: values.map((value) => (value === null ? ('missing' as const) : ('good' as const))),
  };
  const features = { ...request.frame.history.features, load };
  const frame: NormalisedFrame = { ...request.frame, history: { ...request.frame.history, features } };
  const options = { ...request.options, ...(quantiles && { quantiles }) };
  const declaration: TaskDeclaration = {
    ...loadTask,
    fallbacks,
    output: { ...loadTask.output, max_quantiles: 9, ...bounds },
  };
  const accepted = { ok: true, request: { ...request, frame, options }, declaration } as const;
  const findings = declaredFallback(accepted, 'MODEL_UNAVAILABLE');
  const result = resultOf(findings, accepted, { processor: loadFixtureRoute.processor, issuedAtMs: caseNowMs });
  const question = { request: accepted.request, declaration, route: loadFixtureRoute, nowMs: caseNowMs };
  return { findings, verdict: validateResult(JSON.parse(JSON.stringify(result)), question) };
}

const cell = fc.option(fc.oneof(fc.constant(0), fc.double({ min: -10, max: 1e6, noNaN: true })), {
  nil: null,
  freq: 4,
});

test('the findings of any strategy are accepted, with and without quantiles, for any history', () => {
  fc.assert(
    fc.property(
      fc.shuffledSubarray(Object.values(policies)),
      fc.array(cell, { minLength: 4, maxLength: 4 }),
      fc.option(fc.constant<number[]>([0.1, 0.5, 0.9]), { nil: undefined }),
      (fallbacks, values, quantiles) => {
        const { findings, verdict } = found(fallbacks, values, quantiles);
        expect(findings.status).not.toBe('produced');
        expect(verdict).toMatchObject({ outcome: 'accepted', result: { status: findings.status } });
      },
    ),
  );
});

test('the first declared strategy that the frame can serve', () => {
  const both = [policies['seasonal-naive'], policies.persistence];
  expect(found(both, [1, 2, 3, 4]).findings).toMatchObject({ fallback: { strategy: 'seasonal-naive' } });
  expect(found(both, [1, 2, null, 4]).findings).toMatchObject({ fallback: { strategy: 'persistence' } });
});

test('nothing to go by is unavailable, to be tried again after one cadence', () => {
  const { findings } = found([policies.persistence], [null, null, null, null]);
  expect(findings).toMatchObject({
    status: 'unavailable',
    unavailable: { reason_code: 'INSUFFICIENT_HISTORY', retryable: true, retry_after_seconds: 900 },
  });
  expect(found([], [1, 2, 3, 4]).findings.status).toBe('unavailable');
});

test('[data-processing §6.3] zeros throughout, or a value outside the bounds of the task, are refused as a fallback if another applies', () => {
  const both = [policies.persistence, policies['historical-average']];
  expect(found(both, [3, 2, 1, 0]).findings).toMatchObject({ fallback: { strategy: 'historical-average' } });
  expect(found([policies.persistence], [3, 2, 1, 0]).findings.status).toBe('unavailable');
  const bounded = { minimum: 0, maximum: 5 };
  expect(found([policies.persistence], [3, 2, 1, 5], undefined, bounded).findings.status).toBe('fallback');
  expect(found([policies.persistence], [3, 2, 1, 5.1], undefined, bounded).findings.status).toBe('unavailable');
  expect(found([policies.persistence], [3, 2, 1, -0.1], undefined, bounded).findings.status).toBe('unavailable');
});
