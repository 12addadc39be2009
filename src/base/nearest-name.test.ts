import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editDistance, nearestName } from './nearest-name.ts';

describe('the nearest name', () => {
  test.each([
    ['hysteresys', 'hysteresis'],
    ['sco', 'soc'],
    ['SOC', 'soc'],
    ['net_laod', 'net_load'],
    ['x', undefined],
    ['temperature', undefined],
  ])('%s is %s', (word, meant) => {
    expect(nearestName(word, ['soc', 'hysteresis', 'net_load', 'demand_limit'])).toBe(meant);
  });

  test('no long word, and no more than 200 names of its length are looked at', () => {
    const long = 'a'.repeat(32);
    expect(nearestName(long, [`${long.slice(1)}b`])).toBeDefined();
    expect(nearestName(`${long}a`, [`${long}b`])).toBeUndefined();
    const far = Array.from({ length: 199 }, (_, at) => `z${String(at).padStart(2, '0')}`);
    expect(nearestName('sco', [...far, 'soc'])).toBe('soc');
    expect(nearestName('sco', ['zzz', ...far, 'soc'])).toBeUndefined();
  });

  test('the distance is 0 between equal words, symmetric, and at most the length of the longer word', () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(word, word, (one, other) => {
        expect(editDistance(one, one)).toBe(0);
        expect(editDistance(one, other)).toBe(editDistance(other, one));
        expect(editDistance(one, other)).toBeLessThanOrEqual(Math.max(one.length, other.length));
        if (one !== other) expect(editDistance(one, other)).toBeGreaterThan(0);
      }),
    );
  });
});
