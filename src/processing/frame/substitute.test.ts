/** Bounded substitution [data-processing §4.4]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SubstitutionMethod, substitutionMethods } from '../../contract/missing.ts';
import { type Cells, goodCells, mark, wireQuality, wireValues } from './cells.ts';
import { type SubstituteContext, substitute } from './substitute.ts';

const cells = (...values: (number | null)[]): Cells =>
  goodCells(Float64Array.from(values, (value) => value ?? Number.NaN));
const fill = (
  method: SubstitutionMethod,
  max_cells: number | null,
  values: (number | null)[],
  more: Partial<SubstituteContext> = {},
) =>
  wireValues(
    substitute(cells(...values), {
      substitution: { method, max_cells },
      cadenceSeconds: 21_600,
      range: {},
      earlier: null,
      ...more,
    }),
  );

describe('[data-processing §4.4] named bounded substitutions', () => {
  test('hold_last repeats the last observed value; a gap at the beginning is not filled', () => {
    expect(fill('hold_last', 2, [null, 5, null, null, 7, null])).toEqual([null, 5, 5, 5, 7, 7]);
  });

  test('max_cells bounds one run of consecutive cells; a longer run is not filled at all', () => {
    expect(fill('hold_last', 2, [5, null, null, 6, null, null, null])).toEqual([5, 5, 5, 6, null, null, null]);
  });

  test('linear draws the line between both neighbours; a gap at an end has only one', () => {
    expect(fill('linear', 3, [null, 0, null, null, null, 8, null])).toEqual([null, 0, 2, 4, 6, 8, null]);
  });

  test('seasonal_day and seasonal_week take the same label one season before, observed ones only', () => {
    expect(fill('seasonal_day', null, [1, 2, 3, 4, null, null, 7, 8, null, 10])).toEqual([
      1,
      2,
      3,
      4,
      1,
      2,
      7,
      8,
      null,
      10,
    ]);
    const week = Array.from({ length: 28 }, (_, index) => index);
    expect(fill('seasonal_week', 1, [...week, null])).toEqual([...week, 0]);
  });

  test('a seasonal method of the future reads the history before it, inside the frame only', () => {
    const earlier = cells(1, 2, 3, 4);
    expect(fill('seasonal_day', null, [null, null, 9, null, null], { earlier })).toEqual([1, 2, 9, 4, null]);
    expect(fill('seasonal_week', null, [null], { earlier })).toEqual([null]);
  });

  test('a value outside the declared range is discarded', () => {
    expect(fill('linear', 1, [1, null, 2], { range: { integer: true } })).toEqual([1, null, 2]);
  });

  test('filled cells are labelled and observed ones untouched, for any pattern and method', () => {
    const methods = fc.constantFrom(...substitutionMethods);
    const values = fc.array(fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(methods, values, fc.integer({ min: 1, max: 5 }), (method, given, max_cells) => {
        const before = cells(...given);
        const context = { substitution: { method, max_cells }, cadenceSeconds: 21_600, range: {}, earlier: null };
        const after = substitute(before, context);
        const qualities = wireQuality(after);
        wireValues(after).forEach((value, index) => {
          if (given[index] !== null) expect([value, qualities[index]]).toEqual([given[index], 'good']);
          else expect(qualities[index]).toBe(value === null ? 'missing' : 'substituted');
        });
        expect(before.marks.includes(mark.substituted)).toBe(false);
      }),
    );
  });
});
