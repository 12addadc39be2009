/** The stored rule against its recorded runs [rules §10.3]: equal runs, and a cause for each difference. */
import { describe, expect, test } from 'vitest';
import type { EngineRule } from '../../automation/engine-contract.ts';
import { ruleLoader } from '../../automation/loaded-rule.ts';
import { siteCatalogue } from '../../site/site-catalogue.ts';
import { engineRule, switchFlow, tankSite } from '../../testing/tank-site.ts';
import type { ActionRecord } from '../record.ts';
import type { RecordedRun } from './agreement.ts';
import { CheckedRun } from './checked-run.ts';

const catalogue = siteCatalogue({
  ...tankSite,
  points: tankSite.points.map((point) => ({ ...point, maxAgeMs: 60_000 })),
});
const limits = { tick_interval_ms: 100, event_min_interval_ms: 20, evaluations_max: 1_000_000 };
const beginMs = Date.parse('2026-06-01T12:00:00Z');
const label = (atMs: number): string => new Date(beginMs + atMs).toISOString();

const write: ActionRecord = {
  node_id: 'a',
  instance: 1,
  point_type: 'action',
  point: 1,
  value: 1,
  written: 1,
  success: true,
};
/** A recorded run of `x > limit`, which is 10. */
function recorded(atMs: number, x: number | null, more: Partial<RecordedRun> = {}): RecordedRun {
  const high = x !== null && x > 10;
  return {
    started_at: label(atMs),
    outcome: x === null ? 'skipped' : high ? 'acted' : 'no_action',
    execution_path: x === null ? ['s', 'i'] : high ? ['s', 'i', 'd', 'a', 'e'] : ['s', 'i', 'd', 'e'],
    actions_executed: high ? [write] : [],
    variable_values: { x, ...(x === null ? {} : { limit: 10 }) },
    ...more,
  };
}

type Value = readonly [atMs: number, value: number];

function checked(
  runs: readonly RecordedRun[],
  values: readonly Value[],
  nodes = switchFlow('x > limit', 1),
  toMs = 3000,
  more: Partial<EngineRule> = {},
) {
  const trigger_config = '{"type":"interval","interval_ms":1000}';
  const row = engineRule(1, { nodes_json: nodes, trigger_config, ...more });
  const { scheduled, compiled } = ruleLoader(limits).load(row, catalogue);
  if (compiled === null) throw new Error('the rule does not compile');
  const parts = { scheduled, compiled, recorded: runs, catalogue, limits, recordIntervalMs: 1000, differencesMax: 2 };
  const run = new CheckedRun(parts);
  for (const [atMs, value] of values)
    run.take(beginMs + atMs, [{ atMs: beginMs + atMs, index: 0, value, isUncertain: false }]);
  return run.end(beginMs + toMs);
}
const values: readonly Value[] = [
  [-500, 5],
  [900, 20],
  [1900, 5],
];
const runs = [recorded(0, 5), recorded(1000, 20), recorded(2000, 5)];

describe('[rules §10.3] agreement', () => {
  test('runs that match the recorded values agree', () => {
    expect(checked(runs, values)).toEqual({
      compared: 3,
      equal: 3,
      ratio: 1,
      refused: 0,
      unrecorded: 0,
      differences: [],
      causes: {},
    });
  });

  test('the grid of runs begins at the first recorded one, and runs of one moment may be half a period apart', () => {
    const late = [recorded(0, 5), recorded(1499, 20), recorded(2000, 5)];
    expect(checked(late, values).equal).toBe(3);
    const missed = [recorded(0, 5), recorded(1000, 20), recorded(7000, 5)];
    expect(checked(missed, values)).toMatchObject({
      equal: 2,
      causes: { 'no-run': 1 },
      differences: [{ at: label(7000), field: 'run', recorded: 'no_action', computed: null, cause: 'no-run' }],
    });
  });

  test('a simulated run without a recorded one is counted, after the last recorded one no more', () => {
    const gap = [recorded(0, 5), recorded(3000, 5)];
    expect(checked(gap, values, undefined, 6000)).toMatchObject({ compared: 2, equal: 2, ratio: 1, unrecorded: 2 });
  });

  test('within a tick the record says which of a value and a run came first', () => {
    // The value of 900 was not there yet at 1000 for this run, and the next one had not seen that of 1900.
    const order: readonly Value[] = [
      [-500, 5],
      [950, 20],
      [1950, 5],
    ];
    expect(checked([recorded(0, 5), recorded(1000, 5), recorded(2000, 20)], order).equal).toBe(3);
    // More than a tick before, it was.
    const long = order.map(([atMs, value]): Value => [atMs < 0 ? atMs : atMs - 51, value]);
    expect(checked([recorded(0, 5), recorded(1000, 5)], long).causes).toEqual({ input: 1 });
  });

  test.each([
    ['input', recorded(1000, 25)],
    [
      'parameter',
      recorded(1000, 20, { outcome: 'no_action', actions_executed: [], variable_values: { x: 20, limit: 30 } }),
    ],
    ['unexplained', recorded(1000, 20, { outcome: 'no_action', actions_executed: [] })],
  ])('cause: %s', (cause, run) => {
    // A value that differs matters only where it changes what the rule does.
    const low = values.map(([atMs, value]): Value => [atMs, cause === 'input' && value === 20 ? 5 : value]);
    expect(checked([recorded(0, 5), run], low)).toMatchObject({ equal: 1, causes: { [cause]: 1 } });
  });

  const overridden: ActionRecord = { ...write, success: false, reason: 'overridden' };
  const offline: ActionRecord = { ...write, success: false, reason: 'offline' };

  test.each([
    ['an override', recorded(1000, 20, { actions_executed: [overridden] })],
    [
      'another rule',
      recorded(1000, 20, { actions_executed: [{ ...overridden, reason: 'outranked', outranked_by: 2 }] }),
    ],
    ['a limit', recorded(1000, 20, { actions_executed: [{ ...write, written: 0.5, reason: 'limited' }] })],
    ['a channel', recorded(1000, 20, { outcome: 'failed', actions_executed: [offline] })],
  ])('what %s did with a write is no difference: the rule asked for the same', (_name, run) => {
    const all = [recorded(0, 5), run, recorded(2000, 5)];
    expect(checked(all, values)).toMatchObject({ compared: 3, equal: 3, refused: 1, causes: {} });
  });

  test('a refused write of another value is a difference, and so is one that the rule does not make', () => {
    const other = recorded(1000, 20, { actions_executed: [{ ...overridden, value: 2 }] });
    expect(checked([recorded(0, 5), other], values)).toMatchObject({
      equal: 1,
      refused: 1,
      causes: { unexplained: 1 },
    });
    const more = recorded(1000, 20, { actions_executed: [overridden, { ...overridden, point: 2 }] });
    expect(checked([recorded(0, 5), more], values)).toMatchObject({ equal: 1, causes: { unexplained: 1 } });
  });

  test('[rules §6.3] a run whose write no channel took starts no cooldown', () => {
    const failing = { outcome: 'failed', actions_executed: [offline] } as const;
    const runs = Array.from({ length: 10 }, (_, at) => recorded(at * 500, 20, failing));
    const more = { cooldown_ms: 4000, trigger_config: '{"type":"interval","interval_ms":500}' };
    const agreement = checked(runs, [[-500, 20]], undefined, 5000, more);
    expect(agreement).toMatchObject({ compared: 10, equal: 10, refused: 10 });
  });

  test('cause: input, also if the recorded values were too old for the rule to reach its parameters', () => {
    const fresh = [recorded(0, 5), recorded(70_000, 20)];
    expect(checked(fresh, [[-500, 5]], undefined, 71_000)).toMatchObject({ equal: 1, causes: { input: 1 } });
  });

  test('[rules §6.3] the cooldown counts from the end of a run, so that the tick one cooldown after it is too early', () => {
    const acting = Array.from({ length: 15 }, (_, at) => recorded(at * 4100, 20));
    const more = { cooldown_ms: 4000, trigger_config: '{"type":"interval","interval_ms":500}' };
    expect(checked(acting, [[-500, 20]], undefined, 60_000, more)).toMatchObject({ compared: 15, equal: 15 });
  });

  test('cause: memory, and all differences are counted although only the first are named', () => {
    const nodes = switchFlow('moving_avg(x, 3) > limit', 1);
    const all = [0, 1000, 2000].map((atMs) => recorded(atMs, 20, { outcome: 'no_action', actions_executed: [] }));
    const agreement = checked(all, [[-500, 20]], nodes);
    expect(agreement.causes).toEqual({ memory: 3 });
    expect(agreement.differences).toHaveLength(2);
  });

  test('the baseline of a period delta follows from the first recorded run', () => {
    const nodes = JSON.stringify({
      start_node: 's',
      nodes: {
        s: { type: 'start', wires: { default: ['i'] } },
        i: {
          type: 'input',
          variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
          parameters: [],
          wires: { default: ['p'] },
        },
        p: { type: 'period-delta', input: 'x', period: 'daily', name: 'today', wires: { default: ['a'] } },
        a: {
          type: 'change',
          writes: [{ instance: 1, point_type: 'action', point: 1, value: 'today' }],
          wires: { default: ['e'] },
        },
        e: { type: 'end', wires: {} },
      },
    });
    const counted = (atMs: number, x: number, today: number): RecordedRun => ({
      started_at: label(atMs),
      outcome: 'acted',
      execution_path: ['s', 'i', 'p', 'a', 'e'],
      actions_executed: [{ ...write, value: today, written: today }],
      variable_values: { x, today },
    });
    expect(checked([counted(0, 5, 3), counted(1000, 20, 18)], values, nodes, 2000).equal).toBe(2);
  });
});
