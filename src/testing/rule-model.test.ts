import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkLinearizable, explain } from './linearizability.ts';
import {
  type ModelState,
  type RecordedOperation,
  type RuleFields,
  type RuleInput,
  type RuleOperation,
  type RuleOutput,
  ruleModel,
  troubleWithRules,
} from './rule-model.ts';

/** The true history, one operation a millisecond, each recorded with some time around its moment. */
interface Step {
  readonly input: RuleInput;
  readonly beforeMs: number;
  readonly afterMs: number;
  /** How it ended: answered, or not, with its effect or without. */
  readonly fate: 'answered' | 'done, unanswered' | 'never done';
}

const field: fc.Arbitrary<Partial<RuleFields>> = fc.oneof(
  fc.integer({ min: 0, max: 999 }).map((priority) => ({ priority })),
  fc.integer({ min: 0, max: 999 }).map((value) => ({ name: `name ${value}` })),
  fc.record({ flow: fc.integer({ min: 0, max: 99 }), cooldown_ms: fc.integer({ min: 0, max: 99 }) }),
);
/** Near the revisions that there will be, so that some fit and some do not. */
const expected = (steps: number) => fc.option(fc.integer({ min: 1, max: Math.max(2, Math.ceil(steps / 2)) }));
const inputOf = (steps: number): fc.Arbitrary<RuleInput> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<RuleInput>({ kind: 'read' }) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('update'), changes: field, expected: expected(steps) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('enable', 'disable'), expected: expected(steps) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete'), expected: expected(steps) }) },
  );
const stepOf = (steps: number): fc.Arbitrary<Step> =>
  fc.record({
    input: inputOf(steps),
    beforeMs: fc.double({ min: 0, max: 4, noNaN: true }),
    afterMs: fc.double({ min: 0, max: 4, noNaN: true }),
    fate: fc.oneof(
      { weight: 12, arbitrary: fc.constant('answered' as const) },
      { weight: 1, arbitrary: fc.constantFrom('done, unanswered' as const, 'never done' as const) },
    ),
  });
const steps = fc
  .integer({ min: 1, max: 60 })
  .chain((count) => fc.array(stepOf(count), { minLength: 1, maxLength: count }));

/** `observe` may tell a client something else than what happened. */
function recorded(
  truth: readonly Step[],
  observe: (index: number, output: RuleOutput) => RuleOutput = (_, output) => output,
): RuleOperation[] {
  let state: ModelState = ruleModel.initial;
  const creation: Step = {
    input: { kind: 'create', name: 'rule', description: null },
    beforeMs: 0,
    afterMs: 0,
    fate: 'answered',
  };
  return [creation, ...truth].map(({ input, beforeMs, afterMs, fate }, index) => {
    const moment = { client: `client-${index % 5}`, input, invokedMs: index - beforeMs };
    if (fate === 'never done') return { ...moment, output: null, returnedMs: null };
    const next = ruleModel.apply(state, input);
    state = next.state;
    if (fate === 'done, unanswered') return { ...moment, output: null, returnedMs: null };
    return { ...moment, output: observe(index, next.output), returnedMs: index + afterMs };
  });
}

const check = (history: readonly RuleOperation[]) => checkLinearizable(ruleModel, history);

describe('histories of a rule that keeps its promises', () => {
  test('any run, recorded by several clients, with answers lost: linearizable', () => {
    fc.assert(
      fc.property(steps, (truth) => {
        const verdict = check(recorded(truth));
        expect(verdict.kind, explain(ruleModel, verdict)).toBe('linearizable');
      }),
      { numRuns: 500 },
    );
  });

  test('the order that is found is one in which the model answers as was recorded', () => {
    fc.assert(
      fc.property(steps, (truth) => {
        const verdict = check(recorded(truth));
        if (verdict.kind !== 'linearizable') throw new Error(explain(ruleModel, verdict));
        let state: ModelState = ruleModel.initial;
        for (const { input, output } of verdict.order) {
          const next = ruleModel.apply(state, input);
          if (output !== null) expect(next.output).toEqual(output);
          state = next.state;
        }
        verdict.order.forEach((operation, index) => {
          for (const later of verdict.order.slice(index + 1))
            expect((later.returnedMs ?? Number.POSITIVE_INFINITY) >= operation.invokedMs).toBe(true);
        });
      }),
    );
  });
});

describe('histories of a rule that does not', () => {
  /** A run in which nothing overlaps and everything is answered. */
  const calm = (truth: readonly Step[]): Step[] =>
    truth.map((step) => ({ ...step, beforeMs: 0.2, afterMs: 0.2, fate: 'answered' }));

  test('two changes that both made one revision', () => {
    fc.assert(
      fc.property(steps, fc.nat(), (truth, pick) => {
        const history = recorded(truth);
        const made = history.flatMap((operation) =>
          operation.output?.status === 200 && ['update', 'enable', 'disable'].includes(operation.input.kind)
            ? [operation]
            : [],
        );
        const one = made[pick % Math.max(1, made.length)];
        fc.pre(one !== undefined);
        const verdict = check([...history, { ...one, client: 'another', returnedMs: (one.returnedMs ?? 0) + 1 }]);
        expect(verdict).toMatchObject({ kind: 'not-linearizable' });
        if (verdict.kind === 'not-linearizable') expect(verdict.offending.length).toBeLessThanOrEqual(4);
      }),
      { numRuns: 300 },
    );
  });

  test('a read of a change before it started', () => {
    fc.assert(
      fc.property(steps, fc.nat(), (truth, pick) => {
        const earlier: RuleOutput[] = [];
        const history = recorded([...calm(truth), ...calm([read, raise, read])], (_, output) => {
          if (output.status === 200 && output.revision !== null && output.document) earlier.push(output);
          return output;
        });
        const [last, stale] = [history.at(-1), earlier[pick % Math.max(1, earlier.length - 1)]];
        fc.pre(last?.output?.status === 200 && stale !== undefined && earlier.length > 1);
        const verdict = check([...history.slice(0, -1), { ...last, output: stale }]);
        expect(verdict).toMatchObject({ kind: 'not-linearizable' });
        if (verdict.kind === 'not-linearizable') expect(verdict.offending.length).toBeLessThanOrEqual(3);
      }),
      { numRuns: 300 },
    );
  });

  const read: Step = { input: { kind: 'read' }, beforeMs: 0.2, afterMs: 0.2, fate: 'answered' };
  const raise: Step = { ...read, input: { kind: 'update', changes: { priority: 1000 }, expected: null } };

  const at = (client: string, invokedMs: number, returnedMs: number, input: RuleInput, output: RuleOutput) => ({
    client,
    input,
    output,
    invokedMs,
    returnedMs,
  });
  const made = at('a', 0, 1, { kind: 'create', name: 'rule', description: null }, { status: 200, revision: 1 });
  const document = { name: 'rule', description: null, priority: 0, cooldown_ms: 0, flow: null, enabled: false };
  const update = (changes: Partial<RuleFields>, revision: number | null = null): RuleInput => ({
    kind: 'update',
    changes,
    expected: revision,
  });

  test('a lost update: both calls succeeded, and one change is missing', () => {
    const verdict = check([
      made,
      at('a', 2, 9, update({ priority: 7 }), { status: 200, revision: 2 }),
      at('b', 3, 8, update({ name: 'new' }), { status: 200, revision: 3 }),
      at(
        'a',
        10,
        11,
        { kind: 'read' },
        { status: 200, revision: 3, document: { ...document, name: 'new', revision: 3 } },
      ),
    ]);
    expect(explain(ruleModel, verdict).split('\n')).toEqual([
      'no order explains these answers, whatever 3 others were:',
      expect.stringContaining('a  0.0100 s to 0.0110 s  read → {"status":200,"revision":3'),
      'changes then and right before:',
      expect.stringContaining('create'),
      expect.stringContaining('update {"changes":{"priority":7},"expected":null} → {"status":200,"revision":2}'),
      expect.stringContaining('update {"changes":{"name":"new"},"expected":null} → {"status":200,"revision":3}'),
    ]);
  });

  test('two successes with one expected revision, as the only finding', () => {
    const verdict = check([
      made,
      at('a', 2, 3, update({ priority: 1 }), { status: 200, revision: 2 }),
      at('a', 4, 9, update({ priority: 7 }, 2), { status: 200, revision: 3 }),
      at('b', 5, 8, update({ name: 'new' }, 2), { status: 200, revision: 3 }),
      at(
        'c',
        5,
        8,
        { kind: 'read' },
        { status: 200, revision: 2, document: { ...document, priority: 1, revision: 2 } },
      ),
      at('c', 9, 12, update({ name: 'newer' }), { status: 200, revision: 4 }),
    ]);
    expect(verdict).toMatchObject({ offending: [{ client: 'a' }, { client: 'b' }], others: 4 });
  });

  test.each<[string, RuleInput, RuleOutput]>([
    ['a conflict with the revision that the rule had', update({ priority: 1 }, 1), { status: 409, revision: 1 }],
    ['a success without the next revision', update({ priority: 1 }), { status: 200, revision: 3 }],
    ['a rule that is not there any more', { kind: 'read' }, { status: 404 }],
    ['an id given twice', { kind: 'create', name: 'x', description: null }, { status: 200, revision: 1 }],
  ])('%s', (_, input, output) => {
    expect(check([made, at('b', 2, 3, input, output)]).kind).toBe('not-linearizable');
  });

  test('a deleted rule that is read, changed or deleted again', () => {
    const gone = at('a', 2, 3, { kind: 'delete', expected: null }, { status: 200, revision: null });
    expect(check([made, gone, at('b', 4, 5, { kind: 'read' }, { status: 404 })]).kind).toBe('linearizable');
    for (const input of [update({ priority: 1 }), { kind: 'enable', expected: null }] satisfies RuleInput[])
      expect(check([made, gone, at('b', 4, 5, input, { status: 200, revision: 2 })]).kind).toBe('not-linearizable');
    expect(check([made, gone, { ...gone, client: 'b', invokedMs: 4, returnedMs: 5 }]).kind).toBe('not-linearizable');
  });

  test('rules are checked one by one; a creation without an answer explains a rule without a creator', () => {
    const lost: RecordedOperation = { ...made, ruleId: null, output: null, returnedMs: null };
    const seen: RecordedOperation = {
      ...at('b', 4, 5, { kind: 'read' }, { status: 200, revision: 1, document: { ...document, revision: 1 } }),
      ruleId: 8,
    };
    const known: RecordedOperation = { ...made, ruleId: 7 };
    expect(troubleWithRules([known, lost, seen])).toEqual([]);
    expect(troubleWithRules([known, seen])).toEqual([expect.stringMatching(/^rule 8: no order explains/)]);
  });
});
