/** Tags of rules, in descriptions. */
import { expect, test } from 'vitest';
import { countedTags, tagsOf, toggledTag, withoutTags } from './tags.ts';

test('a tag is a word that begins with # and a letter', () => {
  expect(tagsOf('Charges at night. #Battery #night-rate #battery')).toEqual(['battery', 'night-rate']);
  expect(tagsOf('#Wärme: see ticket #12, plan/#3, https://plant/#boiler, a#b and ##no')).toEqual(['wärme']);
  expect(tagsOf('Pumps (#water, #pumps).')).toEqual(['water', 'pumps']);
  expect(tagsOf(null)).toEqual([]);
});

test('a description is shown without its tags', () => {
  expect(withoutTags('Charges at night. #battery  #night')).toBe('Charges at night.');
  expect(withoutTags('#battery')).toBe('');
  expect(withoutTags('Ticket #12')).toBe('Ticket #12');
});

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
