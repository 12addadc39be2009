/** Samples of a process that numbers points and channels differently. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quality } from '../site/quality.ts';
import { type Numbering, numberingOf, renumbered } from './numbering.ts';
import type { TableSample } from './sample.ts';

/** Of these numbers; each is its own value, and its age in seconds. */
const sampleOf = ({ points, channels }: Numbering): TableSample => ({
  atMs: 5,
  values: points.map(Number),
  quality: points.map(() => quality.uncertain),
  agesMs: points.map((point) => 1000 * Number(point)),
  online: channels.map((channel) => Number(channel) % 2 === 0),
});
const numbering = (points: readonly number[], channels: readonly number[]): Numbering => ({
  points: points.map(String),
  channels: channels.map(String),
  digest: '',
});
const some = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 });

test('each point has its own value, quality and age; one that the sample lacks is missing, and a channel offline', () => {
  fc.assert(
    fc.property(some, some, some, some, (fromPoints, fromChannels, toPoints, toChannels) => {
      const from = numbering(fromPoints, fromChannels);
      const {
        atMs,
        values,
        quality: codes,
        agesMs,
        online,
      } = renumbered(sampleOf(from), from, numbering(toPoints, toChannels));
      expect(atMs).toBe(5);
      const has = (point: number): boolean => fromPoints.includes(point);
      expect(values).toEqual(toPoints.map((point) => (has(point) ? point : null)));
      expect(codes).toEqual(toPoints.map((point) => (has(point) ? quality.uncertain : quality.missing)));
      expect(agesMs).toEqual(toPoints.map((point) => (has(point) ? 1000 * point : null)));
      expect(online).toEqual(toChannels.map((channel) => fromChannels.includes(channel) && channel % 2 === 0));
    }),
  );
});

test('the digest follows the order of points and of channels', () => {
  const point = (id: number) => ({ instance: 1, kind: 'measurement', id }) as const;
  const of = (points: readonly number[], channels: readonly string[]): string =>
    numberingOf({ points: points.map(point), channels: channels.map((id) => ({ id })) } as never).digest;
  const all = [
    of([1, 2], ['a', 'b']),
    of([2, 1], ['a', 'b']),
    of([1, 2], ['b', 'a']),
    of([1], ['a', 'b']),
    of([1, 2], ['a']),
  ];
  expect(new Set(all).size).toBe(5);
  expect(of([1, 2], ['a', 'b'])).toBe(all[0]);
});
