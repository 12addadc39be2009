/** How the newest residuals affect the next hours, and which hours are dark. */
import { describe, expect, test } from 'vitest';
import { SeededStream } from '../base/seeded.ts';
import { carryOver, learnCarry } from './carry.ts';
import { groundOf } from './ground.ts';
import { darkSteps } from './night.ts';

const perDay = 48;

/** Residuals with a memory of hours: each is `share` of the one before plus a new part. */
function missesWith(share: number, count: number): Float64Array {
  const stream = new SeededStream(5);
  const misses = new Float64Array(count);
  for (let cell = 1; cell < count; cell++) misses[cell] = share * (misses[cell - 1] ?? 0) + stream.next() - 0.5;
  return misses;
}

describe('carry', () => {
  test('misses with a memory are carried, less at each longer lead', () => {
    const carry = learnCarry(missesWith(0.95, 40 * perDay), perDay);
    expect(carry.hourShare[0]).toBeGreaterThan(0.8);
    for (let index = 1; index < 5; index++)
      expect(carry.hourShare[index]).toBeLessThan(carry.hourShare[index - 1] ?? 0);
    const { added } = carryOver(carry, new Float64Array(perDay).fill(2), perDay);
    expect(added[0]).toBeGreaterThan(1.6);
    expect(added[perDay - 1]).toBeLessThan(added[0] ?? 0);
  });

  test('the spread is the residual of the carry: small at first, full later', () => {
    const carry = learnCarry(missesWith(0.95, 40 * perDay), perDay);
    const { spread } = carryOver(carry, new Float64Array(perDay), 3 * perDay);
    expect(spread[0]).toBeLessThan(0.6);
    expect(spread[perDay - 1]).toBeGreaterThan(spread[0] ?? 1);
    expect(spread[3 * perDay - 1]).toBe(1);
  });

  test('misses without a memory carry nothing', () => {
    const carry = learnCarry(missesWith(0, 40 * perDay), perDay);
    const { added } = carryOver(carry, new Float64Array(perDay).fill(2), perDay);
    expect(Math.max(...added.map(Math.abs))).toBeLessThan(0.2);
  });

  test('a last hour that is missing carries nothing of itself', () => {
    const carry = {
      leads: Float64Array.of(1, 48),
      hourShare: Float64Array.of(1, 1),
      dayShare: Float64Array.of(0, 0),
      left: Float64Array.of(1, 1),
      usual: new Float64Array(perDay).fill(1),
    };
    const misses = new Float64Array(perDay).fill(3).fill(Number.NaN, perDay - 2);
    expect([...carryOver(carry, misses, 4).added]).toEqual([0, 0, 0, 0]);
  });

  test('beyond a day after the longest lead nothing is added', () => {
    const carry = {
      leads: Float64Array.of(1, 48),
      hourShare: Float64Array.of(1, 1),
      dayShare: Float64Array.of(0, 0),
      left: Float64Array.of(1, 1),
      usual: new Float64Array(perDay).fill(1),
    };
    const { added } = carryOver(carry, new Float64Array(perDay).fill(3), 4 * perDay);
    expect(added[47]).toBe(3);
    expect(added.slice(2 * perDay).every((value) => value === 0)).toBe(true);
  });
});

describe('carry over a day whose residuals differ', () => {
  /** Small at night and in a pause at noon, half as large in the afternoon. */
  const usual = Float64Array.from({ length: perDay }, (_, slot) =>
    slot < 16 || slot === 24 || slot >= 36 ? 0.1 : slot < 24 ? 10 : 5,
  );
  const carry = {
    leads: Float64Array.of(1, 48),
    hourShare: Float64Array.of(1, 1),
    dayShare: Float64Array.of(0, 0),
    left: Float64Array.of(1, 1),
    usual,
  };

  test('nothing is carried into a pause, and after it in proportion', () => {
    const { added } = carryOver(carry, new Float64Array(24).fill(-8), 3);
    expect([...added].map(Math.abs)).toEqual([0, 4, 4]);
  });

  test('out of the night no more is carried than it was', () => {
    const { added } = carryOver(carry, new Float64Array(16).fill(0.125), 2);
    expect([...added]).toEqual([0.125, 0.125]);
  });
});

const startMs = Date.UTC(2024, 4, 6) + 1_800_000;

function plant(days: number, covariate: 'light' | 'none', floor = 0): ReturnType<typeof groundOf> {
  const count = days * perDay;
  const light = Float64Array.from({ length: count + perDay }, (_, cell) =>
    Math.max(0, Math.sin((Math.PI * (((cell + 1) % perDay) / 2 - 6)) / 12)),
  );
  const target = light.slice(0, count).map((value) => floor + 5 * value);
  const covariates = covariate === 'light' ? [{ name: 'light', values: light }] : [];
  return groundOf({ startMs, cadenceMs: 1_800_000, count, horizon: perDay, target, covariates, timeZone: 'UTC' });
}

describe('nights', () => {
  test.each(['light', 'none'] as const)(
    'the hours without light are dark, noon is not (covariate: %s)',
    (covariate) => {
      const dark = darkSteps(plant(14, covariate));
      expect(dark?.[0]).toBe(1);
      expect(dark?.[perDay - 1]).toBe(1);
      expect(dark?.[perDay / 2]).toBe(0);
      const lit = Array.from({ length: perDay }, (_, step) => ((step + 1) / 2 > 6 && (step + 1) / 2 < 18 ? 1 : 0));
      for (const [step, flag] of lit.entries()) if (flag === 1) expect(dark?.[step]).toBe(0);
    },
  );

  test('a load that never falls to nothing has no nights', () => {
    expect(darkSteps(plant(14, 'none', 2))).toBeNull();
    expect(darkSteps(plant(14, 'light', 2))).toBeNull();
  });
});
