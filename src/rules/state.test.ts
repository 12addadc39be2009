/** What a rule remembers over edits and restarts [rules §4.6], [rules §5.2]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  carryRuleState,
  createRuleState,
  exportRuleState,
  fingerprint,
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

  test('another content, place in the node or kind of memory starts anew', () => {
    for (const edited of [
      site('a', 'hysteresis', { content: 'c2' }),
      site('a', 'hysteresis', { ordinal: 1 }),
      site('a', 'rising'),
      site('b', 'hysteresis'),
    ])
      expect(carryRuleState([[1], [2], [3]], before, rule(edited))).toEqual([[]]);
  });

  test('the carried memory is a copy: what the old version still counts does not reach the new one', () => {
    const state = [[1], [2], [4, 5, 0, 6]];
    const next = carryRuleState(state, before, before);
    state[2]?.splice(0, 4, 9, 9, 9, 9);
    expect(next[2]).toEqual([4, 5, 0, 6]);
  });
});

describe('[rules §5.2] state survives a restart', () => {
  test('counters and on/off states go on', () => {
    const both = rule(site('p', 'period-delta'), site('h', 'hysteresis'));
    expect(restoreRuleState(both, stored(both, [[20_000, 100.5, -0.25, 130], [1]]))).toEqual([
      [20_000, 100.5, -0.25, 130],
      [1],
    ]);
  });

  test('a site that has not run yet is not stored, and starts anew', () => {
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
    ['a memory that is no number', [['p#0#period-delta#c1', 1, '2']]],
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
