/** Tags of rules, in descriptions. */
import { expect, test } from 'vitest';
import { countedTags, toggledTag } from './tags.ts';

test('tags are counted by rules', () => {
  const rule = { id: 1, name: 'a', enabled: true, mode: 'live', key: null } as const;
  const described = ['#pv #battery', '#battery and #battery again', null].map((description) => ({
    ...rule,
    description,
  }));
  expect(countedTags(described)).toEqual([
    ['battery', 2],
    ['pv', 1],
  ]);
});

test('choosing a tag adds it to the search, and choosing it again takes it away', () => {
  expect(toggledTag('', 'pv')).toBe('#pv');
  expect(toggledTag('night', 'pv')).toBe('night #pv');
  expect(toggledTag('#PV night', 'pv')).toBe('night');
  expect(toggledTag('#pvt', 'pv')).toBe('#pvt #pv');
});
