/** The memory of a rule over edits and restarts [rules §4.6], [rules §5.2]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, inputNode, testCatalogue, testSnapshot } from '../testing/site-builder.ts';
import { createArbiter } from './arbiter.ts';
import { type CompiledRule, compileRule } from './compile.ts';
import { createPlan } from './evaluate.ts';
import { runRule } from './executor.ts';
import { isFields } from './issues.ts';
import { parseFlow } from './parse.ts';
import {
  carryRuleState,
  createRuleState,
  exportRuleState,
  fingerprint,
  type RuleState,
  restoreRuleState,
  type SiteFacts,
} from './state.ts';

const site = (nodeId: string, kind: SiteFacts['kind'], more: Partial<SiteFacts> = {}): SiteFacts => ({
  nodeId,
  content: 'c1',
  ordinal: 0,
  kind,
  ...more,
});
const rule = (...sites: SiteFacts[]) => ({ sites });
const stored = (of: ReturnType<typeof rule>, state: number[][]): unknown =>
  JSON.parse(JSON.stringify(exportRuleState(of, state)));

describe('[rules §5.2] state is dropped when its node is edited', () => {
  const before = rule(site('a', 'hysteresis'), site('a', 'integrate', { ordinal: 1 }), site('p', 'period-delta'));

  test('other nodes, and the order of nodes, may change', () => {
    const after = rule(site('new', 'integrate'), site('p', 'period-delta'), site('a', 'hysteresis'));
    expect(carryRuleState([[1], [2, 3], [4, 5, 0, 6]], before, after)).toEqual([[], [4, 5, 0, 6], [1]]);
  });

  test('another content, place in the node or kind of memory starts again', () => {
    for (const edited of [
      site('a', 'hysteresis', { content: 'c2' }),
      site('a', 'hysteresis', { ordinal: 1 }),
      site('a', 'rising'),
      site('b', 'hysteresis'),
    ])
      expect(carryRuleState([[1], [2], [3]], before, rule(edited))).toEqual([[]]);
  });

  test('the carried state is a copy: later changes of the old version do not reach the new one', () => {
    const state = [[1], [2], [4, 5, 0, 6]];
    const next = carryRuleState(state, before, before);
    state[2]?.splice(0, 4, 9, 9, 9, 9);
    expect(next[2]).toEqual([4, 5, 0, 6]);
  });
});

describe('[rules §5.2] edits of the drawing', () => {
  const catalogue = testCatalogue({ min: 0, max: 100 });
  const nodes = [
    inputNode(['calc'], ['x']),
    editorNode('calc', 'calculation', {
      assignments: [{ name: 'mean', expression: 'moving_avg(x, 5) + integrate(x, 3600)' }],
      wires: { default: ['d'] },
    }),
    editorNode('d', 'decision', {
      branches: [{ name: 'on', when: 'hysteresis(mean, 30, 20) > 0 || rising(x > 50) > 0' }],
      wires: { on: ['act'], else: ['end'] },
    }),
    editorNode('act', 'action', { writes: [{ instance: 1, point: 1, value: 'mean' }], wires: { default: ['end'] } }),
  ];
  interface Drawing {
    readonly x: number;
    readonly label: string;
    readonly turn: number;
    readonly zoom: number;
  }

  function compiled({ x, label, turn, zoom }: Drawing): CompiledRule {
    const document = flowDocument('in', nodes);
    const listed = Array.isArray(document['nodes']) ? document['nodes'].filter(isFields) : [];
    const drawn = listed.map((node, index) => {
      const data = isFields(node['data']) ? node['data'] : {};
      return { ...node, position: { x: x + index, y: -x }, data: { ...data, label } };
    });
    const flow = { nodes: [...drawn.slice(turn), ...drawn.slice(0, turn)], edges: [], viewport: { x, y: x, zoom } };
    const parsed = parseFlow(flow, catalogue);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    return compileRule({ id: 1, revision: 1, priority: 0, periodMs: 1000 }, parsed.topology, catalogue);
  }

  function runAt(of: CompiledRule, state: RuleState, second: number, value: number) {
    const snapshot = testSnapshot([value], 1000 * (second + 1), 1_700_000_000_000 + 1000 * second);
    const plan = createPlan();
    const { outcome, actions } = runRule(
      of,
      snapshot,
      state,
      createArbiter(),
      { submit: () => 'accepted' },
      plan,
      true,
    );
    return { outcome, writes: actions.map(({ written }) => written) };
  }

  const memories = (of: CompiledRule, state: RuleState) =>
    new Map(of.sites.map(({ nodeId, kind, ordinal }, index) => [`${nodeId} ${kind} ${ordinal}`, state[index]]));

  test('1000 of them between runs: the rule continues as one that was never edited', () => {
    const drawing = fc.record({
      x: fc.integer({ min: -2000, max: 2000 }),
      label: fc.constantFrom('', 'Mean', 'Above?'),
      turn: fc.nat({ max: 5 }),
      zoom: fc.integer({ min: 1, max: 3 }),
    });
    const step = fc.record({ value: fc.integer({ min: 0, max: 60 }), drawing });
    const outcomes = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 10 }), (steps) => {
        const untouched = compiled({ x: 0, label: '', turn: 0, zoom: 1 });
        const own = createRuleState(untouched);
        let edited = untouched;
        let state = createRuleState(edited);
        steps.forEach(({ value, drawing: next }, second) => {
          const after = compiled(next);
          state = carryRuleState(state, edited, after);
          edited = after;
          const run = runAt(untouched, own, second, value);
          outcomes.add(run.outcome);
          expect(runAt(edited, state, second, value)).toEqual(run);
          expect(memories(edited, state)).toEqual(memories(untouched, own));
        });
      }),
      { numRuns: 100 },
    );
    // Both ways of the decision were taken.
    expect([...outcomes].toSorted()).toEqual(['acted', 'no_action']);
  });
});

describe('[rules §5.2] state survives a restart', () => {
  test('counters and on/off states continue', () => {
    const both = rule(site('p', 'period-delta'), site('h', 'hysteresis'));
    expect(restoreRuleState(both, stored(both, [[20_000, 100.5, -0.25, 130], [1]]))).toEqual([
      [20_000, 100.5, -0.25, 130],
      [1],
    ]);
  });

  test('a site that has not run yet is not stored, and starts again', () => {
    const both = rule(site('p', 'period-delta'), site('h', 'hysteresis'));
    expect(stored(both, createRuleState(both))).toEqual([]);
    expect(restoreRuleState(both, [])).toEqual([[], []]);
  });

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'x'],
    ['an object', { 0: ['p#0#period-delta#c1', 1] }],
    ['entries that are no lists', [null, 1, 'x', {}]],
    ['an empty entry', [[]]],
    ['a memory that is not a number', [['p#0#period-delta#c1', 1, '2']]],
    ['another node’s memory', [['q#0#period-delta#c1', 1, 2, 0, 3]]],
  ])('damaged: %s counts as none', (_, damaged) => {
    expect(restoreRuleState(rule(site('p', 'period-delta')), damaged)).toEqual([[]]);
  });

  test('no stored value stops a restart', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(restoreRuleState(rule(site('p', 'period-delta'), site('h', 'held')), value)).toHaveLength(2);
      }),
    );
  });
});

describe('fingerprints', () => {
  test('differ when a text does, also in one character and in order', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(fingerprint(one) === fingerprint(other)).toBe(one === other);
      }),
    );
    const texts = ['', ' ', 'x > 1', 'x > 2', 'x < 1', '1 > x', 'x > 1 ', 'X > 1'];
    expect(new Set(texts.map(fingerprint)).size).toBe(texts.length);
  });
});
