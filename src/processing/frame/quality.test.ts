/** The figures of a frame [data-processing §3.4]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Cells, emptyCells, goodCells, mark, setCell } from './cells.ts';
import { largestGap, maxGapSeconds, missingRatio, missingSpan, substitutedSamples } from './quality.ts';

const cells = (...values: (number | null)[]): Cells =>
  goodCells(Float64Array.from(values, (value) => value ?? Number.NaN));

describe('[data-processing §3.4] max_gap_seconds', () => {
  test('H17: from as_of − N·c to the first, between neighbours, from the last to as_of; N·c without observations', () => {
    expect(maxGapSeconds([cells(null, 1, null, null), cells(null, null, null, null)], 1)).toBe(4);
    expect(maxGapSeconds([cells(null, 1, null, null)], 1)).toBe(2);
    expect(maxGapSeconds([cells(null, null, 1, 1)], 1)).toBe(3);
    expect(maxGapSeconds([cells(1, null, null, 1)], 1)).toBe(3);
  });

  test('H19: no gap at all is one cadence, with no labels to name', () => {
    expect(largestGap(cells(1, 2, 3), 900)).toEqual({ seconds: 900, missing: null });
  });

  test('the cells that make it are named, the first of equal gaps', () => {
    expect(largestGap(cells(1, null, 1, null, 1), 900)).toEqual({ seconds: 1800, missing: { first: 1, last: 1 } });
  });

  test('equals the longest distance between neighbouring labels, for any pattern', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }), (pattern) => {
        const observed = pattern.flatMap((there, index) => (there ? [index] : []));
        const marks = [-1, ...observed, ...(observed.length === 0 ? [] : [pattern.length - 1])];
        const distances = marks.slice(1).map((label, index) => label - (marks[index] ?? 0));
        const longest = observed.length === 0 ? pattern.length : Math.max(1, ...distances);
        expect(largestGap(cells(...pattern.map((there) => (there ? 0 : null))), 60).seconds).toBe(longest * 60);
      }),
    );
  });
});

test('missing_ratio counts every cell of every feature; 0 is a value, null is not', () => {
  expect(missingRatio([cells(0, null), cells(1, 2, 3)])).toBe(1 / 5);
});

test('substituted_samples counts labels, not values', () => {
  const filled = emptyCells(3);
  setCell(filled, 0, 1, mark.good);
  setCell(filled, 1, 1, mark.substituted);
  expect(substitutedSamples([filled, filled])).toBe(2);
  expect(missingSpan(filled)).toEqual({ first: 2, last: 2 });
});

test('a value that is not finite is missing, whatever its quality', () => {
  const one = emptyCells(2);
  setCell(one, 0, Number.POSITIVE_INFINITY, mark.good);
  expect([one.marks[0], one.values[0]]).toEqual([mark.missing, Number.NaN]);
});
