import { expect, test } from 'vitest';
import { countDurations } from './duration-counts.ts';

test('[platform §4.2] durations are counted by class, bounds belonging to the class below', () => {
  const counter = countDurations([0.001, 0.01]);
  for (const ms of [0, 1, 1.1, 10, 11, 1000]) counter.add(ms);
  const before = counter.read();
  expect(before).toMatchObject({ boundsSeconds: [0.001, 0.01], counts: [2, 2, 2] });
  expect(before.sumSeconds).toBeCloseTo(1.0231, 9);
  counter.add(5);
  expect(before.counts).toEqual([2, 2, 2]);
});
