import { expect, test } from 'vitest';
import { testChanges } from './test-changes.ts';

test('tests that differ, by their names', () => {
  const named = (name: string, value: number) => ({ name, given: [{ value }] });
  const before = [named('a', 1), named('b', 1), named('c', 1)];
  expect(testChanges(before, [named('c', 1), named('b', 2), named('d', 1)])).toEqual({
    added: ['d'],
    removed: ['a'],
    changed: ['b'],
  });
  expect(testChanges(null, before)).toEqual({ added: ['a', 'b', 'c'], removed: [], changed: [] });
  expect(testChanges(before, [])).toEqual({ added: [], removed: ['a', 'b', 'c'], changed: [] });
});
