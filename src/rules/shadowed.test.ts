/** Conditions that can only hold together ([rules §4.5], shadowed branch). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExpression } from './expression/parse.ts';
import { comparisonsMaximum, implies as impliesWithin } from './shadowed.ts';

const implies = (later: ReturnType<typeof tree>, earlier: ReturnType<typeof tree>) =>
  impliesWithin(later, earlier, { comparisons: comparisonsMaximum });
const tree = (text: string) => {
  const parsed = parseExpression(text);
  if (!parsed.ok) throw new Error(parsed.issue.message);
  return parsed.expression.root;
};

/** A condition on x and y, as text and as what it means. */
interface Condition {
  readonly text: string;
  readonly holds: (x: number, y: number) => boolean;
}
const operators: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

describe('[rules §4.5] a branch is shadowed when an earlier one holds whenever it does', () => {
  test.each([
    ['x > 10', 'x > 5'],
    ['x > 5', 'x > 5'],
    ['x > 5', 'x >= 5'],
    ['10 < x', '5 <= x'],
    ['x == 7', 'x > 5'],
    ['x < -10', 'x <= -5'],
    ['x > 10 && y > 1', 'x > 5'],
    ['x > 10 || x > 7', 'x > 5'],
    ['x > 10', 'x > 5 || y > 1'],
    ['x > 10 && y > 2', 'x > 5 && y > 1'],
    ['held(x > 1, 5)', 'held( x>1 , 5 )'],
    ['(x + y) * 2 > z', '((x + y) * 2) > z'],
    ['x > 1', '1'],
    ['x > 1', '-1'],
  ])('%s after %s', (later, earlier) => expect(implies(tree(later), tree(earlier))).toBe(true));

  test.each([
    ['x > 5', 'x > 10'],
    ['x >= 5', 'x > 5'],
    ['x < 5', 'x > 5'],
    ['x != 5', 'x != 6'],
    ['y > 10', 'x > 5'],
    ['x > 10 || y > 1', 'x > 5'],
    ['x > 10', 'x > 5 && y > 1'],
    ['x > 1', '0'],
    ['max(x, 1) > y', 'min(x, 1) > y'],
    ['max(x, 1) > y', 'max(x, 1, 2) > y'],
    ['if(x, 1, 2) > y', 'if(x, 2, 1) > y'],
    ['x + 1 > 10', 'x + 1 > 5'],
  ])('not %s after %s', (later, earlier) => expect(implies(tree(later), tree(earlier))).toBe(false));

  test('its yes holds for every value', () => {
    const number = fc.integer({ min: -3, max: 3 });
    const comparison = fc
      .tuple(fc.constantFrom('x', 'y'), fc.constantFrom(...Object.keys(operators)), number, fc.boolean())
      .map(([name, operator, bound, turned]): Condition => {
        const compare = operators[operator] ?? (() => false);
        const valueOf = (x: number, y: number): number => (name === 'x' ? x : y);
        return turned
          ? { text: `${bound} ${operator} ${name}`, holds: (x, y) => compare(bound, valueOf(x, y)) }
          : { text: `${name} ${operator} ${bound}`, holds: (x, y) => compare(valueOf(x, y), bound) };
      });
    const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
      condition: fc.oneof(
        { maxDepth: 2 },
        comparison,
        fc.tuple(tie('condition'), fc.boolean(), tie('condition')).map(
          ([a, both, b]): Condition => ({
            text: `(${a.text} ${both ? '&&' : '||'} ${b.text})`,
            holds: (x, y) => (both ? a.holds(x, y) && b.holds(x, y) : a.holds(x, y) || b.holds(x, y)),
          }),
        ),
      ),
    }));
    const values = [-4, -3, -2.5, -1, -0.5, 0, 0.5, 1, 2, 2.5, 3, 4];
    let found = 0;
    fc.assert(
      fc.property(condition, condition, (later, earlier) => {
        if (!implies(tree(later.text), tree(earlier.text))) return;
        found++;
        for (const x of values)
          for (const y of values) if (later.holds(x, y)) expect([x, y, earlier.holds(x, y)]).toEqual([x, y, true]);
      }),
      { numRuns: 2000 },
    );
    expect(found).toBeGreaterThan(50);
  });

  test('the work is bounded: at the edge it still answers, beyond it says no', () => {
    const later = tree('x > 10');
    const earlier = tree('x > 5');
    expect(impliesWithin(later, earlier, { comparisons: 1 })).toBe(true);
    expect(impliesWithin(later, earlier, { comparisons: 0 })).toBe(false);
    const budget = { comparisons: comparisonsMaximum };
    const wide = (name: string) => tree(Array.from({ length: 300 }, (_, at) => `${name} > ${at}`).join(' && '));
    for (let pair = 0; pair < 1000; pair++) impliesWithin(wide('x'), wide('y'), budget);
    expect(budget.comparisons).toBeLessThan(0);
  });
});
