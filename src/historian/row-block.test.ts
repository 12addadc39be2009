/** A block returns exactly the rows that were put into it (docs/formats/history.md). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quality } from '../site/quality.ts';
import { type BlockRow, packRows, RowBlock } from './row-block.ts';
import { placesIn } from './row-parts.ts';

const afterMs = Date.UTC(2026, 6, 11);

/** Numbers of the kinds that registers, meters and computed points give. */
const value = fc.oneof(
  fc.integer({ min: -200, max: 200 }),
  fc.integer({ min: -40_000, max: 40_000 }),
  fc.integer(),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

function rows(of: fc.Arbitrary<number | null>): fc.Arbitrary<readonly BlockRow[]> {
  const row = fc.record({
    step: fc.oneof(fc.constant(1000), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 5_000_000 })),
    lead: fc.oneof(fc.constant(20), fc.integer({ min: -100_000, max: 100_000_000 })),
    value: of,
    isUncertain: fc.boolean(),
    observations: fc.option(
      fc.record({ count: fc.integer({ min: 1, max: 40_000 }), beforeMs: fc.integer({ min: 1, max: 7_200_000 }) }),
    ),
  });
  return fc.array(row, { minLength: 1, maxLength: 40 }).map((list) => {
    let eventMs = afterMs + 1;
    return list.map(({ step, lead, value: number, isUncertain, observations }) => {
      eventMs += step;
      const code = number === null ? quality.missing : isUncertain ? quality.uncertain : quality.good;
      return {
        eventMs,
        ingestedMs: eventMs + lead,
        value: number === null ? null : number + 0,
        quality: code,
        ...(observations !== null && {
          observations: { count: observations.count, sinceMs: eventMs - observations.beforeMs },
        }),
      };
    });
  });
}

/** Most blocks hold only one kind of number. */
const blocks = fc.oneof(
  rows(value),
  rows(fc.option(value)),
  rows(fc.integer({ min: 0, max: 100 })),
  rows(fc.constant(7)),
  rows(fc.constant(null)),
  rows(fc.float({ noNaN: true, noDefaultInfinity: true })),
);

test('every row is read back unchanged', () => {
  fc.assert(
    fc.property(blocks, (given) => {
      const block = new RowBlock(packRows(given, afterMs), afterMs);
      expect(Array.from({ length: block.count }, (_, place) => block.row(place))).toEqual(given);
    }),
    { numRuns: 300 },
  );
});

test('it is read from any place in a larger buffer', () => {
  const given = [1, 2, 3].map((second) => ({
    eventMs: afterMs + second * 1000,
    ingestedMs: afterMs + second * 1000 + 5,
    value: second / 3,
    quality: quality.good,
  }));
  const bytes = packRows(given, afterMs);
  for (const offset of [1, 8]) {
    const larger = new Uint8Array(bytes.length + offset);
    larger.set(bytes, offset);
    expect([...new RowBlock(larger.subarray(offset), afterMs).values()]).toEqual([1 / 3, 2 / 3, 1]);
  }
});

test('one value a second takes nothing for its times', () => {
  const given = Array.from({ length: 900 }, (_, second) => ({
    eventMs: afterMs + (second + 1) * 1000,
    ingestedMs: afterMs + (second + 1) * 1000 + 20,
    value: second % 100,
    quality: quality.good,
  }));
  expect(packRows(given, afterMs).length).toBeLessThan(900 + 100);
});

test('the rows of a span are found at its ends', () => {
  const given = [1, 1, 2, 4].map((second) => ({
    eventMs: afterMs + second,
    ingestedMs: afterMs,
    value: 1,
    quality: quality.good,
  }));
  const block = new RowBlock(packRows(given, afterMs), afterMs);
  const places = (from: number, to: number): readonly number[] =>
    placesIn(block, { afterMs: afterMs + from, throughMs: afterMs + to });
  expect(places(0, 4)).toEqual([0, 4]);
  expect(places(0, 1)).toEqual([0, 2]);
  expect(places(1, 3)).toEqual([2, 3]);
  expect(places(2, 3)).toEqual([3, 3]);
  expect(places(4, 9)).toEqual([4, 4]);
});

test('a block of a later format is refused', () => {
  const bytes = packRows([{ eventMs: afterMs + 1, ingestedMs: afterMs, value: 1, quality: quality.good }], afterMs);
  expect(
    () =>
      new RowBlock(
        Uint8Array.from(bytes, (byte, place) => (place === 0 ? 9 : byte)),
        afterMs,
      ),
  ).toThrow('format 9');
  expect(
    () =>
      new RowBlock(
        Uint8Array.from(bytes, (byte, place) => (place === 3 ? 9 : byte)),
        afterMs,
      ),
  ).toThrow('kind 9');
});

test('a block that was released has no rows left, and the bytes it came from none either', () => {
  const given = [0, 1, 2].map((index): BlockRow => {
    const eventMs = afterMs + 1 + index;
    return { eventMs, ingestedMs: eventMs + index, value: index + 0.5, quality: index % 2 === 0 ? 0 : 1 };
  });
  const bytes = packRows(given, afterMs);
  const block = new RowBlock(bytes, afterMs);
  const columns = [block.eventMs, block.values(), block.quality(), block.ingestedMs()];
  expect(columns.map((column) => [...column])).toEqual([
    given.map(({ eventMs }) => eventMs),
    [0.5, 1.5, 2.5],
    [0, 1, 0],
    given.map(({ ingestedMs }) => ingestedMs),
  ]);
  block.release();
  expect([bytes, ...columns].map(({ length }) => length)).toEqual([0, 0, 0, 0, 0]);
  // Bytes that share their buffer with others are left alone.
  const shared = new Uint8Array(new ArrayBuffer(4096), 8, packRows(given, afterMs).length);
  shared.set(packRows(given, afterMs));
  const other = new RowBlock(shared, afterMs);
  other.release();
  expect([shared.length > 0, other.eventMs.length]).toEqual([true, 0]);
});
