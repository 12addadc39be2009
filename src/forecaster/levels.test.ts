/** Distributions given at quantile levels: reading them, and mixing two. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { levels, mixtureOf, probabilityOf } from './levels.ts';

const distribution = fc
  .array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: levels.length, maxLength: levels.length })
  .map((values) => Float64Array.from(values).sort());

test('a mixture rises, lies between its parts, and has their probabilities', () => {
  fc.assert(
    fc.property(distribution, distribution, fc.double({ min: 0, max: 1, noNaN: true }), (one, other, share) => {
      const mixed = mixtureOf(one, other, share);
      for (const [index, value] of mixed.entries()) {
        expect(value).toBeGreaterThanOrEqual(Math.min(one[0] ?? 0, other[0] ?? 0));
        expect(value).toBeLessThanOrEqual(Math.max(one.at(-1) ?? 0, other.at(-1) ?? 0));
        if (index > 0) expect(value).toBeGreaterThanOrEqual(mixed[index - 1] ?? 0);
        const above = value + 1e-6;
        const reached = share * probabilityOf(one, above) + (1 - share) * probabilityOf(other, above);
        expect(reached).toBeGreaterThanOrEqual((levels[index] ?? 0) - 1e-9);
      }
    }),
  );
});

test('two distributions far apart: each tenth of the mixture is a fifth of one of them', () => {
  const low = Float64Array.from(levels, (level) => level);
  const high = Float64Array.from(levels, (level) => 100 + level);
  const mixed = mixtureOf(low, high, 0.5);
  expect(mixed[levels.indexOf(0.1)]).toBeCloseTo(0.2, 6);
  expect(mixed[levels.indexOf(0.9)]).toBeCloseTo(100.8, 6);
});
