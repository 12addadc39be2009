/** [processor §7]: a cached fit is used exactly when its inputs are the same, and memory stays bounded. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fittingPart } from '../outlook.ts';
import type { Sample } from '../sample.ts';
import { fitBytes, fitCache, sampleDigest } from './fit-cache.ts';

const hourMs = 3_600_000;

function sample(startMs: number, count: number, shift = 0): Sample {
  const value = (ms: number): number => Math.sin(ms / hourMs) + shift;
  const cells = (length: number) => Float64Array.from({ length }, (_, cell) => value(startMs + cell * hourMs));
  const covariates = [{ name: 'weather', values: cells(count + 24) }];
  return { startMs, cadenceMs: hourMs, count, horizon: 24, target: cells(count), covariates, timeZone: 'UTC' };
}

test('every hour of one UTC day asks for the same fit, the next day for another', () => {
  const midnightMs = Date.UTC(2026, 4, 1);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 23 }), (one, other) => {
      const asked = (asOfMs: number) => sampleDigest(fittingPart(sample(asOfMs - 719 * hourMs, 720)));
      expect(asked(midnightMs + one * hourMs)).toBe(asked(midnightMs + other * hourMs));
      expect(asked(midnightMs + (24 + one) * hourMs)).not.toBe(asked(midnightMs + other * hourMs));
    }),
  );
});

test('any value, name, time or zone makes another digest', () => {
  const base = sample(0, 48);
  const changed: Sample[] = [
    sample(0, 48, 1e-12),
    sample(hourMs, 48),
    { ...base, horizon: 48 },
    { ...base, timeZone: 'Europe/Amsterdam' },
    { ...base, covariates: [] },
    { ...base, covariates: base.covariates.map((each) => ({ ...each, name: 'other' })) },
    { ...base, target: base.target.map((value, cell) => (cell === 5 ? Number.NaN : value)) },
  ];
  const digests = [base, ...changed].map(sampleDigest);
  expect(new Set(digests).size).toBe(digests.length);
  expect(sampleDigest(sample(0, 48))).toBe(digests[0]);
});

test('at the byte limit the least recently used entries are removed', () => {
  const made: string[] = [];
  const [a, b, c] = [sample(0, 48), sample(hourMs, 48), sample(2 * hourMs, 48)];
  const make = (name: string) => () => {
    made.push(name);
    return name;
  };
  const cache = fitCache<string>(2 * fitBytes(a));
  expect([cache.recall(a, make('a')), cache.recall(b, make('b')), cache.recall(a, make('a'))]).toEqual(['a', 'b', 'a']);
  cache.recall(c, make('c'));
  expect([cache.size, cache.recall(a, make('a')), cache.recall(b, make('b'))]).toEqual([2, 'a', 'b']);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
});

test('a fit that alone is too large is used and not kept', () => {
  const cache = fitCache<number>(fitBytes(sample(0, 48)) - 1);
  expect([cache.recall(sample(0, 48), () => 1), cache.size]).toEqual([1, 0]);
});
