/** Limits are stated once. */
import Type from 'typebox';
import { expect, test } from 'vitest';
import { decoder } from './decode.ts';
import { defaultsOf, limit } from './limits.ts';
import { strict } from './schema.ts';

const section = strict({
  wait_ms: limit(500, [10, 60_000], 'how long it waits'),
  names: Type.Array(Type.String(), { default: ['a'] }),
});

test('the defaults are those of the section, and it takes them', () => {
  const defaults = defaultsOf(section);
  expect(defaults).toEqual({ wait_ms: 500, names: ['a'] });
  expect(decoder(section)(defaults).ok).toBe(true);
});

test('a value at either end is taken, one beyond it, a fraction and an unknown limit are not', () => {
  const takes = (more: object): boolean => decoder(section)({ ...defaultsOf(section), ...more }).ok;
  expect([10, 60_000].map((wait_ms) => takes({ wait_ms }))).toEqual([true, true]);
  expect([9, 60_001, 10.5, '10'].map((wait_ms) => takes({ wait_ms }))).toEqual([false, false, false, false]);
  expect(takes({ wait: 10 })).toBe(false);
});

test('a limit without a default is a mistake', () => {
  expect(() => defaultsOf(strict({ free: Type.Integer() }))).toThrow('the limit free has no default');
});
