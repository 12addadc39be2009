import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkLinearizable, explain, type Model, type Operation, searchLimits } from './linearizability.ts';

type Input = { readonly kind: 'write'; readonly value: number } | { readonly kind: 'read' };
type Register = Operation<Input, number | 'written'>;

/** A register: writes of a value that it has already change nothing, and are not reads all the same. */
const register: Model<number, Input, number | 'written'> = {
  initial: 0,
  apply: (state, input) =>
    input.kind === 'read' ? { state, output: state } : { state: input.value, output: 'written' as const },
  isQuiet: ({ kind }) => kind === 'read',
  describe: (input, output) =>
    `${input.kind === 'read' ? 'read' : `write ${input.value}`} → ${output === null ? 'no answer' : output}`,
};

const write = (value: number, invokedMs: number, returnedMs: number | null): Register => ({
  client: 'w',
  input: { kind: 'write', value },
  output: returnedMs === null ? null : 'written',
  invokedMs,
  returnedMs,
});
const read = (output: number, invokedMs: number, returnedMs: number): Register => ({
  client: 'r',
  input: { kind: 'read' },
  output,
  invokedMs,
  returnedMs,
});
const kindOf = (history: readonly Register[]): string => checkLinearizable(register, history).kind;

describe('textbook examples', () => {
  test('operations that overlap may take effect in either order; those that do not, may not', () => {
    expect(kindOf([write(1, 0, 10), read(0, 5, 6), read(1, 7, 8)])).toBe('linearizable');
    expect(kindOf([write(1, 0, 10), read(1, 5, 6), read(0, 7, 8)])).toBe('not-linearizable');
    expect(kindOf([write(1, 0, 1), read(0, 2, 3)])).toBe('not-linearizable');
    // Two clocks readings that are equal tell no order.
    expect(kindOf([write(1, 0, 2), read(0, 2, 3)])).toBe('linearizable');
  });

  test('a call without an answer may take effect late, or never, but not twice', () => {
    expect(kindOf([write(1, 0, null), read(0, 1, 2), read(1, 50, 51)])).toBe('linearizable');
    expect(kindOf([write(1, 0, null), read(0, 1, 2)])).toBe('linearizable');
    expect(kindOf([write(1, 10, null), read(1, 1, 2)])).toBe('not-linearizable');
    expect(kindOf([write(1, 0, null), read(1, 1, 2), write(2, 3, 4), read(1, 5, 6)])).toBe('not-linearizable');
  });

  test('a write of the present value may be the one that takes effect later', () => {
    expect(kindOf([write(5, 0, 1), write(5, 2, 9), write(6, 3, 4), read(5, 10, 11)])).toBe('linearizable');
  });

  test('nothing at all is linearizable', () => {
    expect(kindOf([])).toBe('linearizable');
  });

  test('the order that is found explains every answer and keeps to the clock', () => {
    const history = [write(1, 0, 10), read(0, 5, 6), read(1, 7, 8), write(2, 9, null), read(2, 11, 12)];
    const verdict = checkLinearizable(register, history);
    if (verdict.kind !== 'linearizable') throw new Error(explain(register, verdict));
    expect(verdict.order.map(({ input, output }) => register.describe(input, output))).toEqual([
      'read → 0',
      'write 1 → written',
      'read → 1',
      'write 2 → no answer',
      'read → 2',
    ]);
  });
});

describe('the smallest offending part', () => {
  test('only the contradicting part is reported, with the number of other changes', () => {
    const calm = Array.from({ length: 60 }, (_, index) => [
      write(index, index * 10, index * 10 + 4),
      read(index, index * 10 + 5, index * 10 + 9),
    ]).flat();
    const verdict = checkLinearizable(register, [...calm, write(99, 300.1, 304), read(3, 597, 598)]);
    expect(verdict).toMatchObject({ kind: 'not-linearizable', offending: { length: 1 }, others: 121 });
    const told = explain(register, verdict).split('\n');
    expect(told.slice(0, 3)).toEqual([
      'no order explains these answers, whatever 121 others were:',
      '  r  0.5970 s to 0.5980 s  read → 3',
      'changes then and right before:',
    ]);
    // The value that is there in truth, last.
    expect(told.at(-1)).toContain('write 59 → written');
    expect(told).toHaveLength(11);
  });
});

describe('the limits of the search', () => {
  /** Nobody reads, then somebody reads what nobody wrote: every order is tried. */
  const stubborn = [...Array.from({ length: 6 }, (_, index) => write(index + 1, 0, 10)), read(99, 11, 12)];
  const needed = (): number => {
    let low = 1;
    while (checkLinearizable(register, stubborn, { ...searchLimits, configurations_max: low }).kind === 'undecided')
      low++;
    return low;
  };

  test('configurations_max: at its edge decided, one below undecided, and never taken for a pass', () => {
    const edge = needed();
    const at = (configurations_max: number) =>
      checkLinearizable(register, stubborn, { ...searchLimits, configurations_max });
    expect(at(edge).kind).toBe('not-linearizable');
    expect(at(edge - 1)).toMatchObject({ kind: 'undecided' });
    expect(explain(register, at(edge - 1))).toContain('undecided');
  });

  test('shrink_configurations_max: with nothing to look with, the whole history is the offending part', () => {
    const at = (shrink_configurations_max: number) =>
      checkLinearizable(register, stubborn, { ...searchLimits, shrink_configurations_max });
    expect(at(0)).toMatchObject({ offending: { length: stubborn.length }, others: 0, around: [] });
    expect(at(searchLimits.shrink_configurations_max)).toMatchObject({ offending: [{ input: { kind: 'read' } }] });
  });
});

/** All orders, tried one by one: what the search must agree with. */
function obviously(history: readonly Register[]): boolean {
  const from = (state: number, left: readonly Register[]): boolean => {
    if (left.every(({ returnedMs }) => returnedMs === null)) return true;
    const untilMs = Math.min(...left.map(({ returnedMs }) => returnedMs ?? Number.POSITIVE_INFINITY));
    return left.some((operation) => {
      if (operation.invokedMs > untilMs) return false;
      const next = register.apply(state, operation.input);
      if (operation.output !== null && operation.output !== next.output) return false;
      return from(
        next.state,
        left.filter((other) => other !== operation),
      );
    });
  };
  return from(register.initial, history);
}

const anyOperation: fc.Arbitrary<Register> = fc
  .record({
    value: fc.integer({ min: 0, max: 2 }),
    isRead: fc.boolean(),
    isLost: fc.integer({ min: 0, max: 4 }),
    invokedMs: fc.integer({ min: 0, max: 20 }),
    tookMs: fc.integer({ min: 0, max: 8 }),
  })
  .map(({ value, isRead, isLost, invokedMs, tookMs }) =>
    isRead
      ? read(value, invokedMs, invokedMs + tookMs)
      : write(value, invokedMs, isLost === 0 ? null : invokedMs + tookMs),
  );

test('any short history: the verdict is that of trying all orders', () => {
  let refused = 0;
  fc.assert(
    fc.property(fc.array(anyOperation, { maxLength: 7 }), (history) => {
      const verdict = checkLinearizable(register, history);
      expect(verdict.kind === 'linearizable').toBe(obviously(history));
      if (verdict.kind !== 'not-linearizable') return;
      refused++;
      // The remaining history has no order either, whatever the other operations answered.
      const { offending } = verdict;
      const forgetting = (kept: readonly Register[]): Register[] =>
        history.map((operation) =>
          kept.some((one) => one === operation) ? operation : { ...operation, output: null },
        );
      expect(checkLinearizable(register, forgetting(offending)).kind).toBe('not-linearizable');
    }),
    { numRuns: 2000 },
  );
  expect(refused).toBeGreaterThan(100);
});
