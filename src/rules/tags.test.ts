import { expect, test } from 'vitest';
import { tagsOf, withoutTags } from './tags.ts';

test('a tag is a word that begins with # and a letter', () => {
  expect(tagsOf('Charges at night. #Battery #night-rate #battery')).toEqual(['battery', 'night-rate']);
  expect(tagsOf('#Wärme: see ticket #12, plan/#3, https://plant/#boiler, a#b and ##no')).toEqual(['wärme']);
  expect(tagsOf('Pumps (#water, #pumps).')).toEqual(['water', 'pumps']);
  expect(tagsOf(null)).toEqual([]);
});

test('a description without its tags, or without one of them', () => {
  expect(withoutTags('Charges at night. #battery  #night')).toBe('Charges at night.');
  expect(withoutTags('#battery')).toBe('');
  expect(withoutTags('Ticket #12')).toBe('Ticket #12');
  expect(withoutTags('Charges. #Template #battery #templates', 'template')).toBe('Charges. #battery #templates');
  expect(withoutTags('First line.\nSecond #template line.', 'template')).toBe('First line.\nSecond line.');
});
