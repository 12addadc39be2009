/** The list of rules: which are shown, and in what order. */
import { expect, test } from 'vitest';
import type { ListedRule } from '../server/queries.ts';
import { shownRules } from './rule-order.ts';

const rule = (id: number, name: string, enabled = true): ListedRule => ({
  id,
  name,
  enabled,
  mode: 'live',
  description: null,
  key: null,
});
const rules = [rule(1, 'Charge at night'), rule(2, 'Start the genset', false), rule(3, 'Night set-back')];
const ids = (chosen: Partial<Parameters<typeof shownRules>[1]>): number[] =>
  shownRules(rules, { search: '', users: null, filter: 'all', sort: 'priority', ...chosen }).map(({ id }) => id);

test('words, state and the users of a point narrow the list together', () => {
  expect(ids({})).toEqual([1, 2, 3]);
  expect(ids({ search: 'NIGHT' })).toEqual([1, 3]);
  expect(ids({ users: new Set([2, 3]) })).toEqual([2, 3]);
  expect(ids({ users: new Set([2, 3]), search: 'night' })).toEqual([3]);
  expect(ids({ users: new Set([2, 3]), filter: 'off' })).toEqual([2]);
  expect(ids({ users: new Set() })).toEqual([]);
});

test('by name', () => {
  expect(ids({ sort: 'name' })).toEqual([1, 3, 2]);
});

test('a word with # is a whole tag', () => {
  const tagged = [
    { ...rule(4, 'Pumps'), description: 'Only by day. #water #pumps' },
    { ...rule(5, 'Boiler #7'), description: '#waterworks' },
  ];
  const found = (search: string): number[] =>
    shownRules(tagged, { search, users: null, filter: 'all', sort: 'priority' }).map(({ id }) => id);
  expect(found('#water')).toEqual([4]);
  expect(found('#WATER day')).toEqual([4]);
  expect(found('water')).toEqual([4, 5]);
  expect(found('#7')).toEqual([5]);
  expect(found('#water #waterworks')).toEqual([]);
});
