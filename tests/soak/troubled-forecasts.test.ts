/** [data-processing §8] loads with a level shift, lost inputs, or a wrong newest value: coverage of the 80% band, and the warning. */
import { describe, expect, test } from 'vitest';
import {
  judgeForecasts,
  type LoadShape,
  meanLoad,
  quietCase,
  shifted,
  type TroubledCase,
  withGlitch,
  withoutTemperature,
} from '../../src/testing/troubled-load.ts';

const ways = [
  { cadenceMs: 900_000, path: 'regression' },
  { cadenceMs: 3_600_000, path: 'regression' },
  { cadenceMs: 3_600_000, path: 'series' },
] as const;
const origins = [0, 1, 2, 3, 4, 5, 6].map((day) => ({ day, hour: (day * 5) % 24, seed: 40 + day }));

const casesOf = (way: Pick<LoadShape, 'cadenceMs' | 'path'>): TroubledCase[] =>
  origins.map((origin) => quietCase({ ...way, ...origin }));

const changes = [
  { name: 'halved', change: (value: number) => value / 2 },
  { name: 'doubled', change: (value: number) => value * 2 },
  { name: 'plus the mean', change: (value: number) => value + meanLoad },
];

describe.each(ways)('$path every $cadenceMs ms', (way) => {
  const quiet = judgeForecasts(casesOf(way));

  test('nothing happened: the band covers, and nothing is said', () => {
    console.log(
      `${way.path} ${way.cadenceMs / 60_000} min: MAE ${quiet.error.toFixed(2)}, ${quiet.coverage.toFixed(2)}`,
    );
    expect(quiet.coverage).toBeGreaterThan(0.7);
    expect(quiet.warnings).toEqual([]);
  });

  test.each(changes.flatMap((each) => [6, 12, 24, 72, 168].map((hours) => ({ ...each, hours }))))(
    '$name since $hours h',
    ({ name, hours, change }) => {
      const found = judgeForecasts(casesOf(way).map((own) => shifted(own, hours, change)));
      const line = `MAE ${found.error.toFixed(2)}, coverage ${found.coverage.toFixed(2)}, ${found.warnings.join(' ')}`;
      console.log(`${way.path} ${way.cadenceMs / 60_000} min, ${name} since ${hours} h: ${line}`);
      expect(found.warnings).toContain('LEVEL_SHIFT');
      if (hours >= 24) expect(found.coverage).toBeGreaterThanOrEqual(0.65);
    },
  );

  test('one wrong value at the end changes nothing but the warning', () => {
    const found = judgeForecasts(casesOf(way).map((own) => withGlitch(own, 5 * meanLoad)));
    expect(found.warnings).toEqual(['NEWEST_CELL_DOUBTED']);
    // Its newest value would have carried on: without it the forecast is a little worse.
    expect(found.error).toBeLessThan(1.25 * quiet.error);
    expect(found.coverage).toBeGreaterThanOrEqual(0.7);
  });
});

describe.each(ways.filter(({ path }) => path === 'regression'))('the temperature every $cadenceMs ms', (way) => {
  const perHalf = 43_200_000 / way.cadenceMs;
  const losses = [
    { name: 'its second half', isLost: (step: number) => step >= perHalf },
    { name: 'its first half', isLost: (step: number) => step < perHalf },
    { name: 'all of it', isLost: () => true },
  ];
  test.each(losses)('without $name', ({ name, isLost }) => {
    const found = judgeForecasts(casesOf(way).map((own) => withoutTemperature(own, isLost)));
    console.log(
      `${way.cadenceMs / 60_000} min, without ${name}: MAE ${found.error.toFixed(2)}, ${found.coverage.toFixed(2)}`,
    );
    expect(found.warnings).toContain('INPUT_LOST');
    expect(found.coverage).toBeGreaterThanOrEqual(0.7);
  });
});
