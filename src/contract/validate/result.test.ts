/** Every line of [data-processing §6.2], and of a result's times and identity, on the result of the cases. */
import { describe, expect, test } from 'vitest';
import { type PatchOperation, patched } from '../../base/json-patch.ts';
import { caseNowMs, loadFixtureRoute, loadQuestion, loadResult, loadTask } from '../../testing/load-fixture.ts';
import type { FallbackPolicy, TaskDeclaration } from '../task/declaration.ts';
import { type ResultQuestion, validateResult } from './result.ts';

const replace = (path: string, value: unknown): PatchOperation => ({ op: 'replace', path, value });
const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path, value });
const remove = (path: string): PatchOperation => ({ op: 'remove', path });

/** `accepted`, or `check path`. */
function verdict(operations: readonly PatchOperation[], changes: Partial<ResultQuestion> = {}): string {
  const judged = validateResult(patched<unknown>(loadResult, operations), loadQuestion(changes));
  return judged.outcome === 'accepted' ? 'accepted' : `${judged.rejection.check} ${judged.rejection.path}`;
}

/** The same check with a task and options that ask for quantiles. */
function asking(quantiles: number[], output: Partial<TaskDeclaration['output']> = {}): Partial<ResultQuestion> {
  const { request } = loadQuestion();
  return {
    request: { ...request, options: { ...request.options, quantiles } },
    declaration: { ...loadTask, output: { ...loadTask.output, max_quantiles: 9, ...output } },
  };
}
const withQuantiles = (...quantiles: readonly (readonly [number, number])[]): PatchOperation[] =>
  loadResult.output.points.map((_, index) =>
    add(
      `/output/points/${index}/quantiles`,
      quantiles.map(([probability, value]) => ({ probability, value })),
    ),
  );
const under = (output: Partial<TaskDeclaration['output']>): Partial<ResultQuestion> => ({
  declaration: { ...loadTask, output: { ...loadTask.output, ...output } },
});

test('the result of the fixtures is accepted', () => expect(verdict([])).toBe('accepted'));

describe('[data-processing §6.2] Forecast output', () => {
  test('1 target, unit and sign_convention match the task', () => {
    for (const member of ['target', 'unit', 'sign_convention'])
      expect(verdict([replace(`/output/${member}`, 'x')])).toBe(`${member} /output/${member}`);
  });

  test('2 point timestamps match the horizon and the cadence exactly', () => {
    expect(verdict([replace('/output/cadence_seconds', 450)])).toBe('cadence /output/cadence_seconds');
    expect(verdict([replace('/output/points/1/timestamp', '2026-07-11T12:29:59Z')])).toBe(
      'timestamps /output/points/1/timestamp',
    );
    // The same instant in another permitted spelling is the same label.
    expect(verdict([replace('/output/points/1/timestamp', '2026-07-11T12:30:00.000Z')])).toBe('accepted');
  });

  test('3 as many points as options.horizon_steps', () => {
    expect(verdict([remove('/output/points/1')])).toBe('horizon /output/points');
  });

  test('4 timestamps are strictly increasing', () => {
    const [first, second] = loadResult.output.points;
    expect(verdict([replace('/output/points', [second, first])])).toBe('timestamps /output/points/0/timestamp');
  });

  test('5 values and quantile values are finite', () => {
    const infinite = {
      ...loadResult,
      output: {
        ...loadResult.output,
        points: loadResult.output.points.map((point) => ({ ...point, value: Number.POSITIVE_INFINITY })),
      },
    };
    expect(validateResult(infinite, loadQuestion())).toMatchObject({
      rejection: { check: 'shape', path: '/output/points/0/value' },
    });
    const points = loadResult.output.points.map((point) => ({
      ...point,
      quantiles: [{ probability: 0.5, value: Number.NaN }],
    }));
    expect(
      validateResult({ ...loadResult, output: { ...loadResult.output, points } }, loadQuestion(asking([0.5]))),
    ).toMatchObject({
      rejection: { check: 'shape', path: '/output/points/0/quantiles/0/value' },
    });
  });

  test('6 returned probabilities equal the requested set', () => {
    const question = asking([0.1, 0.9]);
    expect(verdict(withQuantiles([0.1, 1], [0.9, 2]), question)).toBe('accepted');
    expect(verdict(withQuantiles([0.9, 2], [0.1, 1]), question)).toBe('accepted');
    for (const wrong of [
      [[0.1, 1]],
      [
        [0.1, 1],
        [0.5, 1],
        [0.9, 2],
      ],
      [
        [0.1, 1],
        [0.91, 2],
      ],
      [
        [0.1, 1],
        [0.1, 2],
      ],
    ] as [number, number][][])
      expect(verdict(withQuantiles(...wrong), question)).toBe('quantiles /output/points/0/quantiles');
    expect(verdict([], question)).toBe('quantiles /output/points/0/quantiles');
  });

  test('7 quantile values are nondecreasing by probability', () => {
    const question = asking([0.1, 0.5, 0.9]);
    expect(verdict(withQuantiles([0.1, 3], [0.5, 3], [0.9, 3]), question)).toBe('accepted');
    expect(verdict(withQuantiles([0.1, 3], [0.5, 2.999], [0.9, 3]), question)).toBe(
      'quantile_order /output/points/0/quantiles/1/value',
    );
  });

  test('8 the task says whether the median equals the value', () => {
    const operations = withQuantiles([0.5, 1]);
    expect(verdict(operations, asking([0.5]))).toBe('accepted');
    expect(verdict(operations, asking([0.5], { median_equals_value: true }))).toBe('median /output/points/0/quantiles');
    const equal = loadResult.output.points.map((point, index) => replace(`/output/points/${index}/value`, 1));
    expect(verdict([...operations, ...equal], asking([0.5], { median_equals_value: true }))).toBe('accepted');
  });

  test('the range of the task, at its bounds, for values and quantiles', () => {
    const values = loadResult.output.points.map((point) => point.value);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    expect(verdict([], under({ minimum: low, maximum: high }))).toBe('accepted');
    expect(verdict([], under({ minimum: low + 0.001 }))).toContain('output_range /output/points/');
    expect(verdict([], under({ maximum: high - 0.001 }))).toContain('output_range /output/points/');
    const negative = withQuantiles([0.1, -1]);
    expect(verdict(negative, asking([0.1], { minimum: 0 }))).toBe('output_range /output/points/0/quantiles/0/value');
  });
});

describe('[data-processing §6.1] result: identity, times, artifact', () => {
  test('issued_at lies in [submitted_at, now], give or take the skew of the route', () => {
    const at = (issued: string) => verdict([replace('/issued_at', issued)]);
    expect([at('2026-07-11T12:00:00.500Z'), at('2026-07-11T12:00:03.500Z')]).toEqual(['accepted', 'accepted']);
    expect([at('2026-07-11T12:00:00.499Z'), at('2026-07-11T12:00:03.501Z')]).toEqual([
      'issued_at /issued_at',
      'issued_at /issued_at',
    ]);
  });

  test('after the deadline nothing is accepted', () => {
    const deadlineMs = Date.parse(loadQuestion().request.deadline);
    expect(verdict([], { nowMs: deadlineMs })).toBe('accepted');
    expect(verdict([], { nowMs: deadlineMs + 1 })).toBe('deadline ');
  });

  test('expires_at: after issued_at, within the age of the task, later than acceptance', () => {
    const at = (expires: string) => verdict([replace('/expires_at', expires)]);
    expect(at('2026-07-11T13:00:02Z')).toBe('accepted');
    expect(at('2026-07-11T13:00:02.001Z')).toBe('expires_at /expires_at');
    expect([at('2026-07-11T12:00:03.001Z'), at('2026-07-11T12:00:03Z')]).toEqual([
      'accepted',
      'expires_at /expires_at',
    ]);
  });

  test('an artifact that the request pins, or the route requires, is the one that was used', () => {
    const { request } = loadQuestion();
    const digest = loadResult.artifact?.artifact_digest ?? '';
    const pinned = (artifact_digest: string) => ({
      request: { ...request, artifact: { kind: 'model', family: 'site-load', artifact_digest } },
    });
    expect(verdict([], pinned(digest))).toBe('accepted');
    expect(verdict([], pinned(`sha256:${'2'.repeat(64)}`))).toBe('artifact /artifact/artifact_digest');
    const { artifact: _, ...unpinned } = request;
    const free = { request: unpinned, route: { ...loadFixtureRoute, requires_artifact: false } };
    expect(verdict([remove('/artifact')], free)).toBe('accepted');
    expect(verdict([remove('/artifact')], { ...free, route: loadFixtureRoute })).toBe('artifact /artifact');
  });
});

describe('[data-processing §6.1] unavailable is an answer', () => {
  const unavailable = (block: object): PatchOperation[] => [
    replace('/status', 'unavailable'),
    ...['/output', '/expires_at', '/artifact'].map(remove),
    add('/unavailable', block),
  ];

  test('with a reason; the advice is an integer of at least 0 and may be left out', () => {
    const reason = { reason_code: 'INSUFFICIENT_HISTORY', retryable: false };
    expect(verdict(unavailable(reason))).toBe('accepted');
    expect(verdict(unavailable({ ...reason, retry_after_seconds: 0 }))).toBe('accepted');
    for (const seconds of [-1, 1.5, null, '5'])
      expect(verdict(unavailable({ ...reason, retry_after_seconds: seconds }))).toBe(
        'shape /unavailable/retry_after_seconds',
      );
  });

  test('of this very request: correlation holds for it too', () => {
    const wrong = [...unavailable({ reason_code: 'X', retryable: true }), replace('/binding/revision', 2)];
    expect(verdict(wrong)).toBe('binding /binding/revision');
  });

  test('expiry and output are forbidden', () => {
    const block = { reason_code: 'X', retryable: true };
    expect(verdict([replace('/status', 'unavailable'), remove('/output'), add('/unavailable', block)])).toBe('shape ');
    expect(verdict([replace('/status', 'unavailable'), remove('/expires_at'), add('/unavailable', block)])).toBe(
      'shape ',
    );
  });
});

describe('[data-processing §6.3] Fallback rules', () => {
  const block = {
    strategy: 'persistence',
    strategy_version: '1',
    reason_code: 'MODEL_UNAVAILABLE',
    source_feature: 'load',
    based_on_data_through: '2026-07-11T12:00:00Z',
  };
  const fallback = (values: readonly number[], changes: object = {}): PatchOperation[] => [
    replace('/status', 'fallback'),
    remove('/artifact'),
    replace('/expires_at', '2026-07-11T12:30:00Z'),
    add('/fallback', { ...block, ...changes }),
    ...values.map((value, index) => replace(`/output/points/${index}/value`, value)),
  ];

  test('1 the task explicitly allows the named strategy', () => {
    expect(verdict(fallback([840, 840]))).toBe('accepted');
    expect(verdict(fallback([840, 840]), { declaration: { ...loadTask, fallbacks: [] } })).toBe(
      'fallback_not_allowed /fallback/strategy',
    );
  });

  test('2 status fallback, and the reason', () => {
    expect(verdict(fallback([840, 840], { reason_code: 'because' }))).toBe('shape /fallback/reason_code');
    expect(verdict([add('/fallback', block)])).toBe('shape ');
  });

  test('3 it expires sooner: limited by the age in its own policy', () => {
    const at = (expires: string) => verdict([...fallback([840, 840]), replace('/expires_at', expires)]);
    expect([at('2026-07-11T12:30:02Z'), at('2026-07-11T12:30:02.001Z')]).toEqual([
      'accepted',
      'expires_at /expires_at',
    ]);
  });

  test('4 persistence uses request data: the last usable value, no other', () => {
    expect(verdict(fallback([840, 840.0001]))).toBe('fallback_values /output/points/1/value');
    expect(verdict(fallback([835, 835]))).toBe('fallback_values /output/points/0/value');
    expect(verdict(fallback([840, 840], { based_on_data_through: '2026-07-11T11:45:00Z' }))).toBe(
      'fallback_source /fallback/based_on_data_through',
    );
    expect(verdict(fallback([840, 840], { source_feature: 'rain' }))).toBe('fallback_source /fallback/source_feature');
  });

  test('4 every requested probability repeats the value', () => {
    const question = asking([0.1, 0.9]);
    expect(verdict([...fallback([840, 840]), ...withQuantiles([0.1, 840], [0.9, 840])], question)).toBe('accepted');
    expect(verdict([...fallback([840, 840]), ...withQuantiles([0.1, 839], [0.9, 840])], question)).toBe(
      'fallback_values /output/points/0/quantiles/0/value',
    );
  });

  const policy = (changes: Partial<FallbackPolicy>): Partial<ResultQuestion> => ({
    declaration: {
      ...loadTask,
      fallbacks: [
        {
          strategy: 'persistence',
          version: '1',
          source_feature: 'load',
          season_seconds: null,
          weeks: null,
          max_output_age_seconds: 1800,
          ...changes,
        },
      ],
    },
  });

  test('4 seasonal-naive: the same label one season before', () => {
    const seasonal = policy({ strategy: 'seasonal-naive', season_seconds: 2700 });
    const changes = { strategy: 'seasonal-naive', based_on_data_through: '2026-07-11T11:45:00Z' };
    expect(verdict(fallback([820, 835], changes), seasonal)).toBe('accepted');
    expect(verdict(fallback([820, 836], changes), seasonal)).toBe('fallback_values /output/points/1/value');
  });

  test('4 historical-average: within 1e-9 relative of the mean over the declared weeks', () => {
    const average = policy({ strategy: 'historical-average', season_seconds: 1800, weeks: 2 });
    const changes = { strategy: 'historical-average', based_on_data_through: '2026-07-11T12:00:00Z' };
    // Labels 11:45 (835) and 11:15 (818), then 12:00 (840) and 11:30 (820).
    expect(verdict(fallback([826.5, 830], changes), average)).toBe('accepted');
    expect(verdict(fallback([826.5 * (1 + 0.9e-9), 830], changes), average)).toBe('accepted');
    expect(verdict(fallback([826.5 * (1 + 1.2e-9), 830], changes), average)).toBe(
      'fallback_values /output/points/0/value',
    );
  });

  test('[data-processing §6.3] 5 a fallback of zeros needs a task whose baseline is zero; a produced result does not', () => {
    expect(verdict(fallback([0, 0]))).toBe('zero_series /output/points');
    // Its values are checked next: the frame's last one is 840.
    expect(verdict(fallback([0, 0]), under({ zero_is_baseline: true }))).toBe('fallback_values /output/points/0/value');
    expect(verdict([0, 1].map((index) => replace(`/output/points/${index}/value`, 0)))).toBe('accepted');
  });

  test('6 a fallback is not promoted to produced', () => {
    expect(verdict([replace('/warnings', ['MODEL_FALLBACK_USED'])])).toBe('promoted_fallback /warnings/0');
    expect(verdict([replace('/warnings', ['MODEL_OLD'])])).toBe('accepted');
    expect(verdict([...fallback([840, 840]), replace('/warnings', ['MODEL_FALLBACK_USED'])])).toBe('accepted');
  });
});

test('the clock of the cases is inside the request', () => {
  const { request } = loadQuestion();
  expect(caseNowMs).toBeGreaterThan(Date.parse(request.submitted_at));
});
