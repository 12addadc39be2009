import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type WritingRule, writeCycle } from './write-cycle.ts';

const rule = (id: number, startedBy: readonly number[], writes: readonly number[]): WritingRule => ({
  id,
  startedBy,
  writes,
});

describe('[rules §4.5] rules that start each other', () => {
  test('two, three, no cycle', () => {
    const [a, b, c] = [rule(1, [10], [20]), rule(2, [20], [30]), rule(3, [30], [10])];
    expect(writeCycle(1, [a, b, c])).toEqual([1, 2, 3]);
    expect(writeCycle(2, [a, b, c])).toEqual([2, 3, 1]);
    expect(writeCycle(1, [a, b])).toBeNull();
    expect(writeCycle(1, [a, rule(2, [20], [10])])).toEqual([1, 2]);
    expect(writeCycle(4, [a, b, c])).toBeNull();
  });

  test('a rule that starts itself is not a circle of several, and the shortest is named', () => {
    expect(writeCycle(1, [rule(1, [10], [10])])).toBeNull();
    const rules = [rule(1, [10], [10, 20]), rule(2, [20], [30]), rule(3, [30, 20], [10])];
    expect(writeCycle(1, rules)).toEqual([1, 3]);
  });

  test('a circle that the rule leads to but is not in is not its own', () => {
    expect(writeCycle(1, [rule(1, [10], [20]), rule(2, [20, 30], [30]), rule(3, [30], [20])])).toBeNull();
  });

  test('against every way of up to five rules', () => {
    const points = fc.uniqueArray(fc.nat(5), { maxLength: 3 });
    const drawn = fc.array(fc.record({ startedBy: points, writes: points }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(drawn, (bodies) => {
        const rules = bodies.map((body, id) => ({ id, ...body }));
        const starts = (from: WritingRule, to: WritingRule): boolean =>
          from.writes.some((point) => to.startedBy.includes(point));
        let shortest = Number.POSITIVE_INFINITY;
        const walk = (way: readonly WritingRule[]): void => {
          const [first, last] = [way[0], way.at(-1)];
          if (first === undefined || last === undefined) return;
          if (way.length > 1 && starts(last, first)) shortest = Math.min(shortest, way.length);
          for (const next of rules) if (!way.includes(next) && starts(last, next)) walk([...way, next]);
        };
        walk(rules.slice(0, 1));
        const circle = writeCycle(0, rules);
        expect(circle?.length ?? Number.POSITIVE_INFINITY).toBe(shortest);
        if (circle === null) return;
        expect(circle[0]).toBe(0);
        expect(new Set(circle).size).toBe(circle.length);
      }),
    );
  });
});
