import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testSnapshot } from '../../testing/site-builder.ts';
import { compileExpression, type ExpressionScope, type Frame, folded } from './compile.ts';
import { type ExpressionNode, expressionLimits, parseExpression } from './parse.ts';
import type { SiteState } from './stateful.ts';

/**
 * Compiles `text` over variables a, b, c and runs it on successive rows of values and times. Parameters are those of the variables that
 * are known when it is compiled.
 */
function runner(text: string, gapMs = 5000, parameters: Readonly<Record<string, number>> = {}) {
  const parsed = parseExpression(text);
  if (!parsed.ok) throw new Error(parsed.issue.message);
  const sites: SiteState[] = [];
  const before: ((frame: Frame) => void)[] = [];
  const constants: number[] = [];
  const scope: ExpressionScope = {
    clock: () => 'Europe/Amsterdam',
    variable: (name) => ['a', 'b', 'c'].indexOf(name),
    parameter: (name) => parameters[name],
    constant: (value) => constants.push(value) + 2,
    site: () => sites.push([]) - 1,
    before: (advance) => void before.push(advance),
  };
  const run = compileExpression(folded(parsed.expression.root, scope), scope);
  const frame: Frame = {
    snapshot: testSnapshot([]),
    slots: Float64Array.of(0, 0, 0, ...constants),
    run: 1,
    reached: new Uint32Array(1),
    calls: new Float64Array(Math.max(1, sites.length)),
    sites,
    gapMs,
    notFinite: false,
  };
  return (values: readonly number[], atMs = 1000, wallMs = 1_700_000_000_000): number | 'not-finite' => {
    frame.snapshot = testSnapshot([], atMs, wallMs);
    frame.slots.set(values);
    frame.notFinite = false;
    for (const advance of before) advance(frame);
    const value = run(frame);
    return frame.notFinite ? 'not-finite' : value;
  };
}

const evaluate = (text: string, ...values: number[]): number | 'not-finite' => runner(text)(values);

describe('[rules §5.1] the language', () => {
  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['-2 ^ 2', -4],
    ['2 ^ 3 ^ 2', 512],
    ['2 ^ -1', 0.5],
    ['7 / 2', 3.5],
    ['7 % 4', 3],
    ['1 < 2 && 2 < 1 || 1', 1],
    ['!0 + !3', 1],
    ['0 ? 1 : 2 ? 3 : 4', 3],
    ['if(1 > 2, 10, 20)', 20],
    ['1e3 + .5', 1000.5],
    ['min(3, 1, 2) + max(1, 5)', 6],
    ['round(-2.5)', -3],
    ['clamp(15, 0, 10)', 10],
    ['scale(5, 0, 10, 100, 200)', 150],
    ['sqrt(16) + ln(exp(2)) + log10(100) + sign(-3) + floor(1.9) + ceil(1.1)', 4 + 2 + 2 - 1 + 1 + 2],
  ])('%s is %d', (text, expected) => {
    expect(evaluate(text)).toBeCloseTo(expected, 12);
  });

  test.each(['1 / 0', 'a % 0', '0 - 1e308 * 10', 'sqrt(-1)', 'ln(0)', 'clamp(1, 5, 2)', '1 / 0 > 3', '1 / (1 / 0)'])(
    'a value that is not finite is noticed: %s',
    (text) => {
      expect(evaluate(text, 1)).toBe('not-finite');
    },
  );

  test('a side that is not evaluated cannot fail', () => {
    expect(evaluate('a != 0 && 1 / a > 0', 0)).toBe(0);
    expect(evaluate('a == 0 ? 0 : 1 / a', 0)).toBe(0);
  });

  test.each([
    ['1 +', 'expression-syntax', 3],
    ['a = 3', 'unknown-operator', 2],
    ['foo(1)', 'unknown-function', 0],
    ['a.b', 'unknown-operator', 1],
    ['"text"', 'unknown-operator', 0],
    ['a > 1 or b > 2', 'unknown-operator', 6],
    ['(a > 1 AND b > 2)', 'unknown-operator', 7],
    ['max(a or b, 2)', 'unknown-operator', 6],
    ['a && not b', 'unknown-operator', 5],
    ['not (a > 1)', 'unknown-operator', 0],
    ['abs', 'expression-syntax', 0],
    ['abs(1, 2)', 'expression-syntax', 0],
    ['1 < 2 < 3', 'expression-syntax', 6],
    ['moving_avg(a, 0)', 'expression-syntax', 0],
    ['constructor(1)', 'unknown-function', 0],
    ['', 'expression-syntax', 0],
  ])('%s is refused', (text, code, at) => {
    const parsed = parseExpression(text);
    expect(parsed.ok ? null : [parsed.issue.code, parsed.issue.at]).toEqual([code, at]);
  });

  test('length and depth are bounded, at their edges', () => {
    const nested = (levels: number): string => `${'('.repeat(levels)}1${')'.repeat(levels)}`;
    expect(parseExpression(nested(expressionLimits.depthMaximum - 1)).ok).toBe(true);
    expect(parseExpression(nested(expressionLimits.depthMaximum)).ok).toBe(false);
    expect(parseExpression('1'.padEnd(expressionLimits.lengthMaximum)).ok).toBe(true);
    expect(parseExpression('1'.padEnd(expressionLimits.lengthMaximum + 1)).ok).toBe(false);
  });

  test('any text parses or is refused, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => typeof parseExpression(text).ok === 'boolean'),
      { numRuns: 500 },
    );
  });
});

/** The obvious interpreter, against which the compiled form is compared. */
function naive(node: ExpressionNode, values: Readonly<Record<string, number>>): number {
  const truth = (condition: boolean): number => (condition ? 1 : 0);
  switch (node.kind) {
    case 'number':
      return node.value;
    case 'variable':
      return values[node.name] ?? Number.NaN;
    case 'unary':
      return node.operator === '-' ? -naive(node.operand, values) : truth(naive(node.operand, values) === 0);
    case 'choice':
      return naive(node.condition, values) !== 0 ? naive(node.then, values) : naive(node.otherwise, values);
    case 'call':
      throw new Error('calls are tested apart');
    case 'binary': {
      const [a, b] = [naive(node.left, values), naive(node.right, values)];
      const table = { '+': a + b, '-': a - b, '*': a * b, '/': a / b, '%': a % b, '^': a ** b };
      if (node.operator in table) return table[node.operator as keyof typeof table];
      const logic = {
        '==': a === b,
        '!=': a !== b,
        '<': a < b,
        '<=': a <= b,
        '>': a > b,
        '>=': a >= b,
        '&&': a !== 0 && b !== 0,
        '||': a !== 0 || b !== 0,
      };
      return truth(logic[node.operator as keyof typeof logic]);
    }
  }
}

describe('compiled against naive', () => {
  const { tree } = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom('a', 'b', 'c'),
      fc.integer({ min: 0, max: 20 }).map(String),
      fc
        .tuple(
          tie('tree'),
          fc.constantFrom('+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!=', '&&', '||'),
          tie('tree'),
        )
        .map(([l, o, r]) => `(${l} ${o} ${r})`),
      tie('tree').map((inner) => `-${inner}`),
      tie('tree').map((inner) => `!${inner}`),
      fc.tuple(tie('tree'), tie('tree'), tie('tree')).map(([c, t, e]) => `(${c} ? ${t} : ${e})`),
    ),
  }));

  test('finite results agree', () => {
    fc.assert(
      fc.property(
        tree,
        fc.tuple(fc.integer({ min: -5, max: 5 }), fc.integer({ min: -5, max: 5 }), fc.integer({ min: -5, max: 5 })),
        (text, [a, b, c]) => {
          const parsed = parseExpression(text);
          if (!parsed.ok) throw new Error(parsed.issue.message);
          const result = evaluate(text, a, b, c);
          if (result !== 'not-finite') expect(result === naive(parsed.expression.root, { a, b, c })).toBe(true);
          // Parameters change nothing but when a part is computed.
          for (const parameters of [{ c }, { b, c }, { a, b, c }])
            expect(runner(text, 5000, parameters)([a, b, c])).toEqual(result);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('numbers and parameters alone are folded into one number; a value that is not finite, or has state, is left to the run', () => {
    const scope = { parameter: (name: string) => (name === 'c' ? 3 : undefined) } as ExpressionScope;
    const foldedText = (text: string): ExpressionNode => {
      const parsed = parseExpression(text);
      if (!parsed.ok) throw new Error(parsed.issue.message);
      return folded(parsed.expression.root, scope);
    };
    expect(foldedText('-(c + 2)')).toEqual({ kind: 'number', value: -5 });
    expect(foldedText('clamp(c * 10, 0, c ? 20 : 5) + (1 < 2)')).toEqual({ kind: 'number', value: 21 });
    expect(foldedText('a + c * 2')).toMatchObject({ left: { name: 'a' }, right: { kind: 'number', value: 6 } });
    for (const text of ['1 / (c - 3)', 'moving_avg(c, 2)', 'weekday()', '-(c - 3)', '0 && moving_avg(a, 2)'])
      expect(foldedText(text).kind, text).not.toBe('number');
    expect(foldedText('c')).toEqual({ kind: 'variable', name: 'c' });
  });
});

describe('[rules §5.2] functions that remember', () => {
  test('integrate adds trapezoids and nothing for a gap of more than 5 periods', () => {
    const run = runner('integrate(a, 3600)', 5000);
    expect(run([10], 0)).toBe(0);
    expect(run([20], 3600)).toBeCloseTo(15 * 0.001, 12);
    expect(run([20], 8600)).toBeCloseTo(0.015 + 20 * (5 / 3600), 12);
    const before = run([20], 8600);
    expect(run([20], 8600 + 5001)).toBe(before);
  });

  test('[rules §5.2] a sum that overflows fails the run and does not change the state', () => {
    const run = runner('integrate(a)', 5000);
    expect(run([1], 0)).toBe(0);
    expect(run([Number.MAX_VALUE], 1000)).toBeCloseTo(Number.MAX_VALUE / 2, 5);
    const afterwards = runner('integrate(a * b)', 5000);
    expect(afterwards([1, 1], 0)).toBe(0);
    expect(afterwards([1, 1], 1000)).toBe(1);
    expect(afterwards([1e308, 1], 2000)).toBeGreaterThan(1e307);
    expect(afterwards([1e308, 1], 4000)).toBe('not-finite');
    expect(Number.isFinite(afterwards([0, 1], 4100))).toBe(true);
  });

  test('moving_avg averages the last n', () => {
    const run = runner('moving_avg(a, 3)');
    expect([1, 2, 3, 10].map((value) => run([value]))).toEqual([1, 1.5, 2, 5]);
  });

  test('rate_of_change is per second, and starts again after a gap', () => {
    const run = runner('rate_of_change(a)', 5000);
    expect([run([1], 0), run([3], 500), run([100], 5501)]).toEqual([0, 4, 0]);
  });

  test('hysteresis holds between its thresholds', () => {
    const run = runner('hysteresis(a, 10, 5)');
    expect([7, 11, 7, 5, 4, 7, 10].map((value) => run([value]))).toEqual([0, 1, 1, 1, 0, 0, 0]);
  });

  test('held counts only unbroken truth', () => {
    const run = runner('held(a > 0, 2)', 5000);
    expect([
      run([1], 0),
      run([1], 1999),
      run([1], 2000),
      run([0], 2100),
      run([1], 2200),
      run([1], 4199),
      run([1], 4200),
    ]).toEqual([0, 0, 1, 0, 0, 0, 1]);
    expect([run([1], 9201), run([1], 11_201)]).toEqual([0, 1]);
  });

  test('edges fire once, not at the first run', () => {
    const rising = runner('rising(a > 0)');
    expect([1, 1, 0, 1].map((value, index) => rising([value], index))).toEqual([0, 0, 0, 1]);
    const falling = runner('falling(a > 0)');
    expect([0, 1, 0, 0].map((value, index) => falling([value], index))).toEqual([0, 0, 1, 0]);
  });

  test('every call site advances, also on a side that is not evaluated', () => {
    const run = runner('b > 0 && moving_avg(a, 2) > 5');
    run([10, 0], 0);
    expect(run([2, 1], 1)).toBe(1);
  });

  test('time of day follows the local clock through a day of 25 hours', () => {
    const run = runner('time_of_day() + 100 * weekday() + 1000 * month()');
    // 2026-10-25 00:30Z is 02:30 summer time, 01:30Z is 02:30 winter time; a Sunday.
    expect(run([], 0, Date.UTC(2026, 9, 25, 0, 30))).toBe(2.5 + 700 + 10_000);
    expect(run([], 0, Date.UTC(2026, 9, 25, 1, 30))).toBe(2.5 + 700 + 10_000);
  });
});
