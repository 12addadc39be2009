/** Values of several points at common moments [rules §10.2]. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Readings, ReadingsRequest } from '../historian/historian.ts';
import type { SampledValue } from '../rules/backtest/simulation.ts';
import { recordedQuality } from '../site/quality.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { tankSite } from '../testing/tank-site.ts';
import { eachMoment } from './recorded-values.ts';

const [first, second] = siteCatalogue(tankSite).points;
if (first === undefined || second === undefined) throw new Error('the tank has two points');
const points = [first, second];
const window = { fromMs: 0, toMs: 50, recordIntervalMs: 10 };

/** For each point, its blocks of event times; each value is made of the time and the point. */
type Portions = readonly (readonly number[])[];

class Recorded {
  readonly #portions: readonly Portions[];
  open = 0;

  constructor(portions: readonly Portions[]) {
    this.#portions = portions;
  }

  async *readings({ series }: ReadingsRequest): AsyncIterableIterator<Readings> {
    const place = points.findIndex(({ point_type: kind }) => (kind === 'action') === (series.kind === 'action'));
    this.open++;
    try {
      for (const times of this.#portions[place] ?? [])
        yield {
          eventMs: Float64Array.from(times),
          values: Float64Array.from(times, (ms) => ms * 10 + place),
          quality: Uint8Array.from(times, (ms) => (ms % 3 === 0 ? recordedQuality.uncertain : recordedQuality.good)),
        };
    } finally {
      this.open--;
    }
  }
}

/** Rising times, cut into blocks, some of them empty. */
const portions: fc.Arbitrary<Portions> = fc
  .tuple(fc.uniqueArray(fc.integer({ min: -20, max: 60 }), { maxLength: 30 }), fc.array(fc.nat(30), { maxLength: 5 }))
  .map(([times, cuts]) => {
    const sorted = times.toSorted((a, b) => a - b);
    const ends = [0, ...cuts.map((cut) => Math.min(cut, sorted.length)).toSorted((a, b) => a - b), sorted.length];
    return ends.slice(1).map((end, index) => sorted.slice(ends[index], end));
  });

test("each moment once, in order, with the values of all points that have one; the window's end is not in it", async () => {
  await fc.assert(
    fc.asyncProperty(portions, portions, async (one, other) => {
      const recorded = new Recorded([one, other]);
      const seen: (readonly [number, readonly SampledValue[]])[] = [];
      const isDone = await eachMoment(recorded, points, window, (atMs, values) => {
        seen.push([atMs, values.map((value) => ({ ...value }))]);
        return true;
      });
      expect([isDone, recorded.open]).toEqual([true, 0]);
      const moments = [...new Set([...one.flat(), ...other.flat()])].filter((ms) => ms < window.toMs);
      expect(seen).toEqual(
        moments
          .toSorted((a, b) => a - b)
          .map((atMs) => [
            atMs,
            [one, other].flatMap((of, place) =>
              of.flat().includes(atMs)
                ? [{ atMs, index: points[place]?.index, value: atMs * 10 + place, isUncertain: atMs % 3 === 0 }]
                : [],
            ),
          ]),
      );
    }),
    { numRuns: 200 },
  );
});

test('nothing is read on once no more is wanted', async () => {
  const recorded = new Recorded([
    [[1, 2], [3]],
    [[2], [9]],
  ]);
  const seen: number[] = [];
  const isDone = await eachMoment(recorded, points, window, (atMs) => {
    seen.push(atMs);
    return atMs < 2;
  });
  expect([isDone, seen, recorded.open]).toEqual([false, [1, 2], 0]);
});
