/** One execution, from snapshot to record [rules §7], [rules §4.1]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PointFacts } from '../site/catalogue.ts';
import type { Command, CommandAnswer } from '../site/command-port.ts';
import type { Snapshot } from '../site/snapshot.ts';
import { editorNode, flowDocument, inputNode, testCatalogue, testSnapshot } from '../testing/site-builder.ts';
import { createArbiter } from './arbiter.ts';
import { type CompiledRule, compileRule } from './compile.ts';
import { createPlan } from './evaluate.ts';
import { executeRule } from './executor.ts';
import { parseFlow } from './parse.ts';
import type { ExecutionRecord } from './record.ts';
import { carryRuleState, createRuleState, exportRuleState, type RuleState, restoreRuleState } from './state.ts';
import { settled } from './step.ts';

const write = (value: number | string, point = 1) => ({ instance: 1, point, value });
const action = (id: string, writes: object[], next = ['end']) =>
  editorNode(id, 'action', { writes, wires: { default: next } });

function compiled(
  nodes: Record<string, unknown>[],
  more: { id?: number; priority?: number; first?: string; facts?: Partial<PointFacts>; periodMs?: number } = {},
): CompiledRule {
  const catalogue = testCatalogue(more.facts);
  const parsed = parseFlow(flowDocument(more.first ?? 'in', nodes), catalogue);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const { id = 1, priority = 0, periodMs = 1000 } = more;
  return compileRule({ id, revision: 1, priority, periodMs }, parsed.topology, catalogue);
}

/** An engine of one: keeps arbiter, commands and answers. */
function bench(answer: CommandAnswer = 'accepted') {
  const arbiter = createArbiter();
  const commands: Command[] = [];
  const state = { answer };
  const port = {
    submit(command: Command): CommandAnswer {
      if (state.answer === 'accepted') commands.push(command);
      return state.answer;
    },
  };
  const run = (rule: CompiledRule, snapshot: Snapshot, memory: RuleState = createRuleState(rule)): ExecutionRecord =>
    executeRule(rule, snapshot, memory, arbiter, port, createPlan(), {
      executionId: 'e',
      correlationId: 'c',
      trigger: { type: 'manual' },
      startedAt: '2026-01-01T00:00:00.000Z',
      durationUs: () => 1,
    });
  return { arbiter, commands, state, run };
}

describe('a run', () => {
  const decision = editorNode('d', 'decision', {
    branches: [
      { name: 'high', when: 'x > 10' },
      { name: 'low', when: 'x < 5' },
    ],
    wires: { high: ['up'], low: ['down'], else: ['end'] },
  });
  const rule = compiled([inputNode(['d']), decision, action('up', [write(1)]), action('down', [write('x + y', 2)])]);

  test('the first true branch names the output, the record tells the whole run', () => {
    const record = bench().run(rule, testSnapshot([12, 1, 2]));
    expect(record).toMatchObject({
      outcome: 'acted',
      success: true,
      error: null,
      matched_condition: 'high',
      execution_path: ['start', 'in', 'd', 'up', 'end'],
      variable_values: { x: 12, y: 1, z: 2 },
      actions_executed: [
        { node_id: 'up', instance: 1, point_type: 'action', point: 1, value: 1, written: 1, success: true },
      ],
    });
    expect(bench().run(rule, testSnapshot([1, 2, 3])).actions_executed).toMatchObject([
      { node_id: 'down', point: 2, value: 3 },
    ]);
  });

  test('nothing to do is not an error', () => {
    expect(bench().run(rule, testSnapshot([7, 1, 2]))).toMatchObject({
      outcome: 'no_action',
      success: true,
      matched_condition: 'else',
      actions_executed: [],
    });
  });

  test('[rules §7.1] a missing, stale or not finite input ends the run; it is never zero', () => {
    const engine = bench();
    expect(engine.run(rule, testSnapshot([12, null, null]))).toMatchObject({
      outcome: 'skipped',
      success: false,
      error: { code: 'missing-input', missing: ['y', 'z'] },
      variable_values: { x: 12, y: null, z: null },
    });
    const stale = testSnapshot([12, 1, 2], 10_000);
    stale.observedMs[0] = 5000;
    expect(engine.run(rule, stale).outcome).toBe('acted');
    stale.observedMs[0] = 4999;
    expect(engine.run(rule, stale)).toMatchObject({ outcome: 'skipped', error: { missing: ['x'] } });
    const bad = testSnapshot([12, 1, 2]);
    bad.quality[0] = 3;
    expect(engine.run(rule, bad).outcome).toBe('skipped');
    expect(engine.run(rule, testSnapshot([Number.NaN, 1, 2])).outcome).toBe('skipped');
    expect(engine.commands.length).toBe(1);
  });

  test('[rules §5.1] an intermediate that is not finite never decides a branch, and nothing is written', () => {
    const early = compiled([
      inputNode(['first']),
      action('first', [write(5)], ['calc']),
      editorNode('calc', 'calculation', {
        assignments: [{ name: 'q', expression: 'x / y' }],
        wires: { default: ['d'] },
      }),
      editorNode('d', 'decision', { branches: [{ name: 'b', when: 'q > 0' }], wires: { b: ['end'], else: ['end'] } }),
    ]);
    const engine = bench();
    expect(engine.run(early, testSnapshot([1, 0, 0]))).toMatchObject({
      outcome: 'failed',
      error: { code: 'not-finite', node_id: 'calc' },
      actions_executed: [],
    });
    expect(engine.commands).toEqual([]);
  });

  test('[rules §7.3] a value that is not finite or out of range fails its action only', () => {
    const three = compiled([inputNode(['a']), action('a', [write('x / y'), write('x', 2), write(100, 3)])]);
    expect(bench().run(three, testSnapshot([101, 0, 0]))).toMatchObject({
      outcome: 'failed',
      error: { code: 'action-failed' },
      actions_executed: [
        { success: false, reason: 'not-finite', value: null },
        { success: false, reason: 'out-of-range', value: 101 },
        { success: true, value: 100 },
      ],
    });
  });

  test('[rules §7.3] the range is tested before rounding, then the nearest step inside the range is written', () => {
    const one = compiled([inputNode(['a']), action('a', [write('x')])]);
    const outcome = (x: number) => bench().run(one, testSnapshot([x, 0, 0])).actions_executed[0];
    expect(outcome(99.96)).toMatchObject({ success: true, value: 99.96, written: 100 });
    expect(outcome(100.04)).toMatchObject({ success: false, reason: 'out-of-range', value: 100.04 });
    expect(outcome(100 + 1e-7)).toMatchObject({ success: true, written: 100 });
    expect(outcome(100 + 2e-7)).toMatchObject({ success: false, reason: 'out-of-range' });
    expect(outcome(-100)).toMatchObject({ success: true, written: -100 });
  });

  test.each(['unavailable', 'stale-generation', 'offline', 'no-route'] as const)(
    '[rules §7.3] a refused command is recorded as failed: %s',
    (reason) => {
      expect(bench(reason).run(rule, testSnapshot([12, 1, 2]))).toMatchObject({
        outcome: 'failed',
        success: false,
        actions_executed: [{ success: false, reason }],
      });
    },
  );
});

describe('records of runs that have their way in common', () => {
  const ways = 12;
  const nodes = [
    inputNode(['d']),
    editorNode('d', 'decision', {
      branches: Array.from({ length: ways }, (_, index) => ({
        name: `b${index}`,
        when: `1 / (x - ${index}) > 1.5 && x - ${index} > 0`,
      })),
      wires: {
        ...Object.fromEntries(Array.from({ length: ways }, (_, index) => [`b${index}`, ['up']])),
        else: ['end'],
      },
    }),
    action('up', [write('y')]),
  ];

  // A whole number ends the run on a value that is not finite, at a branch that depends on it; NaN is missing.
  test('a rule with more trails than are cached records each run like a new rule', () => {
    const x = fc.oneof(
      fc.integer({ min: 0, max: ways }),
      fc.integer({ min: 0, max: ways }).map((at) => at + 0.5),
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(x, fc.constant(Number.NaN)), { minLength: 1, maxLength: 60 }), (values) => {
        const rule = compiled(nodes);
        for (const value of values) {
          const snapshot = testSnapshot([value, 1, 2]);
          expect(bench().run(rule, snapshot)).toEqual(bench().run(compiled(nodes), snapshot));
        }
      }),
    );
  });
});

describe('[rules §7.3] range, step and register of a write', () => {
  const free = { min: undefined, max: undefined, step: undefined, register: undefined };
  const whole = { scale: 0.1, offset: 0, whole: true, low: 0, high: 65_535 };

  test('without bounds: the nearest multiple of the step, half away from zero', () => {
    const to = (step: number | undefined, value: number) => settled(value, { ...free, step });
    expect([to(0.1, 0.30000001), to(0.1, -0.25), to(5, 7), to(undefined, 1.23)]).toEqual([0.3, -0.3, 5, 1.23]);
    expect(Object.is(to(0.1, -0.01), 0)).toBe(true);
  });

  test('a step that does not divide the bounds: the last multiple inside, never one outside', () => {
    const point = { ...free, min: -7, max: 8, step: 5 };
    expect([8, 7.6, -7, -6, 0.1].map((value) => settled(value, point))).toEqual([5, 5, -5, -5, 0]);
    expect(settled(6.5, { ...free, min: 6, max: 7, step: 5 })).toBeNull();
  });

  test('with a register: the nearest raw value, never beyond its type or the range', () => {
    expect(settled(12.34, { ...free, register: whole })).toBeCloseTo(12.3, 12);
    expect(settled(0.3, { ...free, step: 0.1, register: whole })).toBe(0.3);
    expect(settled(10.04, { ...free, max: 10.04, register: whole })).toBe(10);
    expect(settled(10.06, { ...free, max: 10.06, register: { ...whole, scale: 0.1 } })).toBe(10);
    expect(settled(6553.6, { ...free, register: whole })).toBeNull();
    const single = { scale: 1, offset: 0, whole: false, low: -3.4e38, high: 3.4e38 };
    expect(settled(1.1, { ...free, register: single })).toBe(Math.fround(1.1));
    expect(settled(1e39, { ...free, register: single })).toBeNull();
  });

  test('a written value lies in the range, within half a step and a raw unit of the requested one, and is stable when written again', () => {
    const bound = fc.integer({ min: -1000, max: 1000 });
    fc.assert(
      fc.property(
        fc.tuple(
          bound,
          bound,
          fc.constantFrom(undefined, 0.1, 0.25, 0.3, 1, 5),
          fc.boolean(),
          fc.double({ min: 0, max: 1, noNaN: true }),
        ),
        ([a, b, step, isWhole, at]) => {
          const [min, max] = [Math.min(a, b), Math.max(a, b)];
          const register = isWhole ? { scale: 0.5, offset: 1, whole: true, low: -32_768, high: 32_767 } : undefined;
          const point = { min, max, step, register };
          const written = settled(min + at * (max - min), point);
          if (written === null) return;
          expect(written >= min && written <= max).toBe(true);
          expect(Math.abs(written - (min + at * (max - min)))).toBeLessThanOrEqual((step ?? 0) + 1 + 1e-6);
          if (step === undefined || register === undefined) expect(settled(written, point)).toBe(written);
        },
      ),
    );
  });
});

describe('[rules §7.1] skipped: every missing input of the run is named', () => {
  const reads = (id: string, names: Record<string, number>, next: string[]) =>
    editorNode(id, 'input', {
      variables: Object.entries(names).map(([name, point]) => ({
        name,
        instance: 1,
        point_type: 'measurement',
        point,
      })),
      wires: { default: next },
    });
  const missing = (rule: CompiledRule, values: (number | null)[]) =>
    bench().run(rule, testSnapshot(values)).error?.missing;

  test('of parallel inputs and of inputs one behind the other, each name once', () => {
    const fork = editorNode('fork', 'calculation', {
      assignments: [{ name: 'k', expression: '1' }],
      wires: { default: ['in', 'beside'] },
    });
    const sum = editorNode('sum', 'calculation', {
      assignments: [{ name: 's', expression: 'a + b + c' }],
      wires: { default: ['end'] },
    });
    const parallel = [fork, reads('in', { a: 1 }, ['sum']), reads('beside', { b: 2, c: 3 }, ['sum']), sum];
    expect(missing(compiled(parallel, { first: 'fork' }), [null, null, null])).toEqual(['b', 'c', 'a']);
    const chain = [reads('in', { a: 1 }, ['more']), reads('more', { a: 1, b: 2 }, ['end'])];
    expect(missing(compiled(chain), [null, null])).toEqual(['a', 'b']);
  });

  test('not of branches, because the taken one is unknown', () => {
    const rule = compiled([
      reads('in', { a: 1 }, ['d']),
      editorNode('d', 'decision', {
        branches: [{ name: 'yes', when: 'a > 1' }],
        wires: { yes: ['more'], else: ['end'] },
      }),
      reads('more', { b: 2 }, ['end']),
    ]);
    expect(missing(rule, [null, null])).toEqual(['a']);
  });
});

describe('[rules §4.1] fan-out, fan-in and names', () => {
  test('a node runs once, after everything upstream was decided', () => {
    const rule = compiled(
      [
        inputNode(['sum'], ['x'], 'in'),
        editorNode('more', 'input', {
          variables: [{ name: 'y', instance: 1, point_type: 'measurement', point: 2 }],
          wires: { default: ['sum'] },
        }),
        editorNode('sum', 'calculation', {
          assignments: [{ name: 's', expression: 'x + y' }],
          wires: { default: ['a'] },
        }),
        action('a', [write('s')]),
        editorNode('fork', 'calculation', {
          assignments: [{ name: 'unused', expression: '1' }],
          wires: { default: ['in', 'more'] },
        }),
      ],
      { first: 'fork' },
    );
    const record = bench().run(rule, testSnapshot([3, 4]));
    expect(record.execution_path).toEqual(['start', 'fork', 'in', 'more', 'sum', 'a', 'end']);
    expect(record.actions_executed).toMatchObject([{ value: 7 }]);
  });

  test('a name declared again shadows from there on, and only there', () => {
    const rule = compiled([
      inputNode(['d', 'plain'], ['x']),
      editorNode('d', 'decision', {
        branches: [{ name: 'big', when: 'x > 10' }],
        wires: { big: ['again'], else: ['late'] },
      }),
      editorNode('again', 'calculation', {
        assignments: [{ name: 'x', expression: 'x * 2' }],
        wires: { default: ['late'] },
      }),
      action('late', [write('x')]),
      action('plain', [write('x', 2)]),
    ]);
    const values = (x: number) =>
      bench()
        .run(rule, testSnapshot([x]))
        .actions_executed.map(({ node_id, value }) => [node_id, value]);
    expect(values(20)).toEqual(
      expect.arrayContaining([
        ['late', 40],
        ['plain', 20],
      ]),
    );
    expect(values(5)).toEqual(
      expect.arrayContaining([
        ['late', 5],
        ['plain', 5],
      ]),
    );
  });
});

describe('[rules §6.2] two rules, one actuator', () => {
  const writing = (id: number, priority: number, facts: Partial<PointFacts> = {}) =>
    compiled([inputNode(['a'], ['x']), action('a', [write(`x + ${id}`)])], { id, priority, facts });

  test('the higher priority wins, the other is outranked: 1000 of 1000', () => {
    const engine = bench();
    const [high, low] = [writing(7, 5), writing(3, 1)];
    for (let cycle = 0; cycle < 1000; cycle++) {
      engine.arbiter.beginCycle(testSnapshot([1]));
      expect(engine.run(high, testSnapshot([1])).actions_executed).toMatchObject([{ success: true, written: 8 }]);
      expect(engine.run(low, testSnapshot([1]))).toMatchObject({
        outcome: 'acted',
        success: true,
        actions_executed: [{ success: false, reason: 'outranked', outranked_by: 7 }],
      });
    }
    expect(engine.commands.length).toBe(1000);
  });

  test('a write that was refused claims nothing', () => {
    const engine = bench('offline');
    engine.arbiter.beginCycle(testSnapshot([1]));
    engine.run(writing(7, 5), testSnapshot([1]));
    engine.state.answer = 'accepted';
    expect(engine.run(writing(3, 1), testSnapshot([1])).actions_executed).toMatchObject([{ success: true }]);
  });

  test('priority_hold_ms keeps lower priorities out until its edge, equal ones not', () => {
    const engine = bench();
    const facts = { priorityHoldMs: 500 };
    const at = (rule: CompiledRule, ms: number) => {
      engine.arbiter.beginCycle(testSnapshot([1], ms));
      return engine.run(rule, testSnapshot([1], ms)).actions_executed[0]?.reason;
    };
    expect(at(writing(7, 5, facts), 1000)).toBeUndefined();
    expect(at(writing(3, 1, facts), 1499)).toBe('outranked');
    expect(at(writing(4, 5, facts), 1499)).toBeUndefined();
    expect(at(writing(3, 1, facts), 1999)).toBeUndefined();
  });

  test('max_writes_per_minute, at its edge', () => {
    const engine = bench();
    const rule = writing(7, 5, { maxWritesPerMinute: 2 });
    const at = (ms: number) => {
      engine.arbiter.beginCycle(testSnapshot([1], ms));
      return engine.run(rule, testSnapshot([1], ms)).actions_executed[0]?.reason;
    };
    expect([at(0), at(1000), at(59_999), at(60_000), at(60_999), at(61_000)]).toEqual([
      undefined,
      undefined,
      'rate-limited',
      undefined,
      'rate-limited',
      undefined,
    ]);
  });
});

describe('[rules §4.6], [rules §5.2] state of a rule', () => {
  const nodes = (threshold = 10) => [
    inputNode(['p'], ['x']),
    editorNode('p', 'period-delta', { input: 'x', period: 'daily', name: 'today', wires: { default: ['h'] } }),
    editorNode('h', 'calculation', {
      assignments: [
        { name: 'on', expression: `hysteresis(x, ${threshold}, 5)` },
        { name: 'rate', expression: 'rate_of_change(x)' },
      ],
      wires: { default: ['end'] },
    }),
  ];
  const day = (hours: number) => Date.UTC(2026, 2, 28, 22) + hours * 3_600_000;

  test('a period starts at local midnight with 0, on days of 23 hours too, and counts over a counter reset', () => {
    const rule = compiled(nodes());
    const memory = createRuleState(rule);
    const today = (x: number, hours: number) =>
      bench().run(rule, testSnapshot([x], 1000, day(hours)), memory).variable_values.today;
    // 22:00Z is 23:00 in Amsterdam; midnight comes at 1 h, the next one 23 h later: 2026-03-29 is short.
    expect([today(100, 0), today(110, 0.9), today(111, 1), today(121, 23.9), today(122, 24), today(130, 25)]).toEqual([
      0, 10, 0, 10, 0, 8,
    ]);
    expect([today(2, 26), today(7, 27)]).toEqual([8, 13]);
  });

  test('memories survive other edits and restarts, and are dropped with their own node', () => {
    const rule = compiled(nodes());
    const memory = createRuleState(rule);
    const engine = bench();
    engine.run(rule, testSnapshot([11], 1000, day(2)), memory);
    engine.run(rule, testSnapshot([15], 2000, day(2)), memory);
    const edited = compiled(nodes(20));
    const carried = engine.run(edited, testSnapshot([7], 3000, day(2)), carryRuleState(memory, rule, edited));
    expect(carried.variable_values).toMatchObject({ today: 4, on: 0 });
    const restored = restoreRuleState(rule, JSON.parse(JSON.stringify(exportRuleState(rule, memory))));
    expect(engine.run(rule, testSnapshot([17], 50, day(3)), restored).variable_values).toMatchObject({
      today: 6,
      on: 1,
      rate: 0,
    });
  });
});
