/** Triggers at every bound [rules §3.1]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PointFacts, SiteCatalogue } from '../../site/catalogue.ts';
import { testCatalogue } from '../../testing/site-builder.ts';
import { effectiveTrigger, parseTrigger } from './parse.ts';

type Fields = Record<string, unknown>;
const catalogue = testCatalogue();
const ref = (point: number, more: Fields = {}) => ({ instance: 1, point_type: 'measurement', point, ...more });
const onChange = (more: Fields = {}) => ({
  type: 'on_change',
  point_refs: [ref(1)],
  time_deadband_ms: 0,
  value_deadband: null,
  ...more,
});
/** A site of `count` measurements. */
function siteOf(count: number): SiteCatalogue {
  const [first] = catalogue.points;
  if (first === undefined) throw new Error('the site has points');
  const points = Array.from({ length: count }, (_, index): PointFacts => ({ ...first, index, point: index + 1 }));
  return { ...catalogue, points, point: ({ point }) => points[point - 1] };
}

function issuesOf(trigger: unknown, site = catalogue): string[] {
  const parsed = parseTrigger(trigger, site);
  if (parsed.ok) throw new Error('the trigger was accepted');
  for (const issue of parsed.issues)
    expect(issue).toEqual({
      code: issue.code,
      path: issue.path,
      message: expect.any(String),
      hint: expect.any(String),
    });
  return parsed.issues.map(({ code, path }) => `${code} ${path}`);
}
const accepted = (trigger: unknown, site = catalogue) =>
  expect(parseTrigger(trigger, site)).toEqual({ ok: true, trigger });

describe('[rules §3.3] interval', () => {
  test.each([1, 2, 1000, 86_400_000])('%d ms', (intervalMs) => accepted({ type: 'interval', interval_ms: intervalMs }));

  test.each([0, -1, 86_400_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1000', null, undefined, [1000]])(
    'not %j ms',
    (intervalMs) =>
      expect(issuesOf({ type: 'interval', interval_ms: intervalMs })).toEqual(['invalid-field /interval_ms']),
  );

  test('unknown keys, those of the other type too', () => {
    expect(issuesOf({ type: 'interval', interval_ms: 1, jitter_ms: 5, point_refs: [] })).toEqual([
      'unknown-field /jitter_ms',
      'unknown-field /point_refs',
    ]);
  });

  test('[rules §3.1] without a trigger the cooldown is the period when it is above 0, else one second', () => {
    expect(effectiveTrigger(null, 0)).toEqual({ type: 'interval', interval_ms: 1000 });
    expect(effectiveTrigger(null, 1)).toEqual({ type: 'interval', interval_ms: 1 });
    expect(effectiveTrigger({ type: 'interval', interval_ms: 7 }, 5000)).toEqual({ type: 'interval', interval_ms: 7 });
  });
});

describe('[rules §3.2] on_change', () => {
  test.each<[string, Fields]>([
    ['one point', {}],
    ['an action point', { point_refs: [ref(1, { point_type: 'action' })] }],
    ['a measurement and an action of one number', { point_refs: [ref(1), ref(1, { point_type: 'action' })] }],
    ['the longest time deadband', { time_deadband_ms: Number.MAX_SAFE_INTEGER }],
    ['an absolute band of 0', { value_deadband: { type: 'absolute', threshold: 0 } }],
    ['a percent band', { value_deadband: { type: 'percent', threshold: 2.5 } }],
    ['a percent band above 100', { value_deadband: { type: 'percent', threshold: 250 } }],
  ])('accepted: %s', (_, more) => accepted(onChange(more)));

  test('an absent value_deadband is null: any change', () => {
    const { value_deadband: _, ...rest } = onChange();
    expect(parseTrigger(rest, catalogue)).toEqual({ ok: true, trigger: onChange() });
  });

  test('64 points are allowed; 65 and 0 are refused', () => {
    const site = siteOf(70);
    const refs = (count: number) =>
      onChange({ point_refs: Array.from({ length: count }, (_, index) => ref(index + 1)) });
    accepted(refs(64), site);
    expect(issuesOf(refs(65), site)).toEqual(['invalid-field /point_refs']);
    expect(issuesOf(refs(0), site)).toEqual(['invalid-field /point_refs']);
  });

  test.each<[string, Fields, string[]]>([
    ['no points', { point_refs: undefined }, ['invalid-field /point_refs']],
    ['points that are no list', { point_refs: ref(1) }, ['invalid-field /point_refs']],
    ['a point that is not an object', { point_refs: [ref(1), '1:1'] }, ['invalid-field /point_refs/1']],
    ['the same point twice', { point_refs: [ref(1), ref(2), ref(1)] }, ['duplicate-point /point_refs/2']],
    ['an unknown point', { point_refs: [ref(77)] }, ['unknown-point /point_refs/0']],
    ['an unknown instance', { point_refs: [ref(1, { instance: 9 })] }, ['unknown-point /point_refs/0']],
    [
      'an unknown point twice: unknown, and twice',
      { point_refs: [ref(77), ref(77)] },
      ['unknown-point /point_refs/0', 'duplicate-point /point_refs/1', 'unknown-point /point_refs/1'],
    ],
    [
      'the short form of a point type',
      { point_refs: [ref(1, { point_type: 'M' })] },
      ['invalid-field /point_refs/0/point_type'],
    ],
    ['no point type', { point_refs: [{ instance: 1, point: 1 }] }, ['invalid-field /point_refs/0/point_type']],
    ['a fraction of a point', { point_refs: [ref(1.5)] }, ['invalid-field /point_refs/0/point']],
    ['a negative instance', { point_refs: [ref(1, { instance: -1 })] }, ['invalid-field /point_refs/0/instance']],
    ['an unknown key of a point', { point_refs: [ref(1, { name: 'P' })] }, ['unknown-field /point_refs/0/name']],
    ['no time deadband', { time_deadband_ms: undefined }, ['invalid-field /time_deadband_ms']],
    ['a negative time deadband', { time_deadband_ms: -1 }, ['invalid-field /time_deadband_ms']],
    ['a fraction of a millisecond', { time_deadband_ms: 0.5 }, ['invalid-field /time_deadband_ms']],
    ['a time deadband beyond exact numbers', { time_deadband_ms: 2 ** 53 }, ['invalid-field /time_deadband_ms']],
    ['a band that is a number', { value_deadband: 5 }, ['invalid-field /value_deadband']],
    ['a band that is a list', { value_deadband: [] }, ['invalid-field /value_deadband']],
    [
      'an unknown kind of band',
      { value_deadband: { type: 'relative', threshold: 1 } },
      ['invalid-field /value_deadband/type'],
    ],
    [
      'a negative threshold',
      { value_deadband: { type: 'absolute', threshold: -0.1 } },
      ['invalid-field /value_deadband/threshold'],
    ],
    [
      'a threshold that is not finite',
      { value_deadband: { type: 'absolute', threshold: Number.POSITIVE_INFINITY } },
      ['invalid-field /value_deadband/threshold'],
    ],
    ['no threshold', { value_deadband: { type: 'percent' } }, ['invalid-field /value_deadband/threshold']],
    [
      'an empty band: both members at once',
      { value_deadband: {} },
      ['invalid-field /value_deadband/type', 'invalid-field /value_deadband/threshold'],
    ],
    [
      'an unknown key of a band',
      { value_deadband: { type: 'percent', threshold: 1, of: 'range' } },
      ['unknown-field /value_deadband/of'],
    ],
    ['an unknown key', { interval_ms: 1000 }, ['unknown-field /interval_ms']],
  ])('refused: %s', (_, more, issues) => expect(issuesOf(onChange(more))).toEqual(issues));

  test('-0 is the 0 that it is stored as', () => {
    const parsed = parseTrigger(
      onChange({ time_deadband_ms: -0, value_deadband: { type: 'absolute', threshold: -0 } }),
      catalogue,
    );
    expect(parsed).toEqual({ ok: true, trigger: onChange({ value_deadband: { type: 'absolute', threshold: 0 } }) });
  });

  test('every issue at once', () => {
    const trigger = {
      type: 'on_change',
      point_refs: [ref(77), ref(1), ref(1), { instance: 'a', point: -1, point_type: 'x', extra: 1 }, 5],
      time_deadband_ms: '5',
      value_deadband: { type: 'x', threshold: 'y', z: 1 },
      more: 1,
    };
    expect(issuesOf(trigger)).toEqual([
      'unknown-field /more',
      'invalid-field /point_refs/4',
      'unknown-point /point_refs/0',
      'duplicate-point /point_refs/2',
      'unknown-field /point_refs/3/extra',
      'invalid-field /point_refs/3/instance',
      'invalid-field /point_refs/3/point',
      'invalid-field /point_refs/3/point_type',
      'invalid-field /time_deadband_ms',
      'unknown-field /value_deadband/z',
      'invalid-field /value_deadband/type',
      'invalid-field /value_deadband/threshold',
    ]);
  });
});

describe('[rules §3] anything else', () => {
  test.each([[null], [[]], ['interval'], [1], [undefined]])('a trigger that is not an object: %j', (trigger) => {
    expect(issuesOf(trigger)).toEqual(['invalid-trigger ']);
  });

  test.each([{}, { type: 'cron' }, { type: 'constructor' }, { type: null }, { interval_ms: 1000 }])(
    'unknown type: %j',
    (trigger) => {
      expect(issuesOf(trigger)).toEqual(['unknown-trigger-type /type']);
    },
  );

  test('any value is accepted or refused without an exception; an accepted one is read back unchanged', () => {
    const near = fc.record(
      {
        type: fc.constantFrom('interval', 'on_change', 'x', null),
        interval_ms: fc.oneof(fc.integer(), fc.jsonValue()),
        point_refs: fc.oneof(
          fc.array(
            fc.oneof(
              fc.nat({ max: 7 }).map((point) => ref(point)),
              fc.jsonValue(),
            ),
          ),
          fc.jsonValue(),
        ),
        time_deadband_ms: fc.oneof(fc.nat(), fc.jsonValue()),
        value_deadband: fc.oneof(
          fc.constant(null),
          fc.record({ type: fc.constantFrom('absolute', 'percent'), threshold: fc.double() }, { requiredKeys: [] }),
          fc.jsonValue(),
        ),
        __proto__: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    );
    fc.assert(
      fc.property(fc.oneof(near, fc.jsonValue()), (value) => {
        const parsed = parseTrigger(value, catalogue);
        if (!parsed.ok) expect(parsed.issues.length).toBeGreaterThan(0);
        else expect(parseTrigger(JSON.parse(JSON.stringify(parsed.trigger)), catalogue)).toEqual(parsed);
      }),
      { numRuns: 1000 },
    );
  });
});
