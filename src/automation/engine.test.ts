import { describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { createArbiter } from '../rules/arbiter.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { createScheduler } from '../rules/scheduler.ts';
import type { PointFacts, SiteCatalogue } from '../site/catalogue.ts';
import type { Command, CommandAnswer } from '../site/command-port.ts';
import { quality } from '../site/quality.ts';
import { createSnapshot, type Snapshot } from '../site/snapshot.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { engineRule, switchFlow as flow } from '../testing/tank-site.ts';
import { seededRandom } from '../testing/world/random.ts';
import { createEngine } from './engine.ts';
import type { EngineRule } from './engine-contract.ts';
import { automationLimits } from './limits.ts';
import { ruleLoader } from './loaded-rule.ts';
import { createRuleSet } from './rule-set.ts';

const point = (index: number, kind: PointFacts['point_type'], number: number): PointFacts => ({
  instance: 1,
  point_type: kind,
  point: number,
  index,
  name: `${kind} ${number}`,
  unit: 'kW',
  isText: false,
  min: undefined,
  max: undefined,
  step: undefined,
  register: undefined,
  writable: kind === 'action',
  maxAgeMs: Number.POSITIVE_INFINITY,
  maxWritesPerMinute: undefined,
  priorityHoldMs: 0,
  holdMaxMs: undefined,
  safeValue: undefined,
});
/** Measurements 1 and 2 at positions 0 and 1, actions 1 and 2 at positions 2 and 3. */
const points = [point(0, 'measurement', 1), point(1, 'measurement', 2), point(2, 'action', 1), point(3, 'action', 2)];
const catalogueWith = (
  parameters: Readonly<Record<string, { value: number; unit: string | undefined }>> = {},
): SiteCatalogue => ({
  timezone: 'UTC',
  points,
  point: (ref) =>
    points.find(
      (facts) => facts.instance === ref.instance && facts.point_type === ref.point_type && facts.point === ref.point,
    ),
  parameter: (name) => parameters[name],
});

const rule = (id: number, more: Partial<EngineRule> = {}): EngineRule =>
  engineRule(id, {
    trigger_config: '{"type":"interval","interval_ms":1000}',
    nodes_json: flow('x > 10', 5),
    ...more,
  });
const onChange = (pointType: 'measurement' | 'action', number: number): string =>
  JSON.stringify({
    type: 'on_change',
    point_refs: [{ instance: 1, point_type: pointType, point: number }],
    time_deadband_ms: 0,
    value_deadband: null,
  });

interface Setup {
  readonly limits?: Partial<typeof automationLimits>;
  readonly stored?: ReadonlyMap<number, string>;
  readonly answer?: CommandAnswer;
  readonly clock?: ReturnType<typeof simulatedClock>;
}

function setup(options: Setup = {}) {
  const clock = options.clock ?? simulatedClock();
  const limits = { ...automationLimits, ...options.limits };
  const values = new Float64Array(points.length).fill(Number.NaN);
  const world = {
    answer: options.answer ?? 'accepted',
    torn: 0,
    lost: false,
    observedAgoMs: 0,
    online: true,
    hurried: 0,
    diskHangs: false,
    claims: new Map<string, string>(),
  };
  const commands: Command[] = [];
  const records: ExecutionRecord[] = [];
  const changes: [number, number][] = [];
  const unchangedRuns: string[] = [];
  /** States stored at once, when a run is recorded. */
  const urgentStates: string[] = [];
  const touched: number[] = [];
  let onRing = (): void => undefined;
  const set = (index: number, value: number): void => {
    values[index] = value;
    changes.push([index, value]);
    onRing();
  };
  /** As `set`, but without room in the ring. */
  const lose = (index: number, value: number): void => {
    values[index] = value;
    onRing();
  };
  const rules = createRuleSet({
    scheduler: createScheduler(limits),
    catalogueWith,
    load: ruleLoader(limits).load,
    limits,
    stored: options.stored ?? new Map(),
    now: () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }),
  });
  const engine = createEngine({
    authority: { cycle: () => undefined, flush: () => undefined },
    clock,
    limits,
    rules,
    arbiter: createArbiter(),
    snapshot: createSnapshot(points.length),
    statusSnapshot: createSnapshot(points.length),
    points: {
      copyInto(snapshot: Snapshot) {
        if (world.torn > 0) {
          world.torn--;
          return false;
        }
        snapshot.values.set(values);
        for (let index = 0; index < values.length; index++) {
          snapshot.quality[index] = Number.isNaN(values[index]) ? quality.missing : quality.good;
          snapshot.observedMs[index] = clock.monotonicMs() - world.observedAgoMs;
        }
        snapshot.generation = 1;
        snapshot.monotonicMs = clock.monotonicMs();
        snapshot.wallMs = clock.wallMs();
        return true;
      },
      isOnline: () => world.online,
      drainChanges(take) {
        for (const [index, value] of changes.splice(0)) take(index, value, Number.isFinite(value));
        const { lost } = world;
        world.lost = false;
        return lost;
      },
    },
    maxAgesMs: points.map((facts) => facts.maxAgeMs),
    port: {
      superseded: () => 0,
      last: () => null,
      bound: () => undefined,
      safeWrites: () => 0,
      submit(command) {
        if (world.answer !== 'accepted') return world.answer;
        commands.push(command);
        // The device layer publishes each accepted value, as the virtual driver does.
        set(command.pointIndex, command.value);
        return 'accepted';
      },
    },
    recorder: {
      record(record, unchanged) {
        urgentStates.push(rules.urgentState(record.rule_id));
        if (unchanged) unchangedRuns.push(record.execution_id);
      },
      touch: (ids) => void touched.push(...ids),
      forget: () => undefined,
      owned: () => undefined,
      claimed: (point, state) => void world.claims.set(point, state),
      settled: () => (world.diskHangs ? new Promise(() => undefined) : Promise.resolve(true)),
      hurry: () => void world.hurried++,
      waiting: () => 0,
      dropped: () => 0,
      close: () => Promise.resolve([]),
    },
    publish: (record) => void records.push(record),
  });
  onRing = () => engine.pointsChanged();
  /** Replaces the rules. */
  let loaded: readonly EngineRule[] = [];
  const load = (...list: EngineRule[]) => {
    const removed = loaded.filter(({ id }) => !list.some((row) => row.id === id)).map(({ id }) => id);
    loaded = list;
    return engine.reload({ changed: list, removed });
  };
  const runs = (id: number): ExecutionRecord[] => records.filter((record) => record.rule_id === id);
  const order = (ruleId: number, correlationId: string, forMs = 5000) =>
    engine.execute({ ruleId, correlationId, untilMs: clock.monotonicMs() + forMs });
  return {
    clock,
    engine,
    rules,
    world,
    commands,
    records,
    set,
    lose,
    load,
    runs,
    order,
    unchangedRuns,
    urgentStates,
    touched,
  };
}

describe('[rules §6.2] cycles', () => {
  test('a tick runs the due rules, in priority order, ties by id, each once', () => {
    const { clock, engine, load, records, set } = setup();
    set(0, 20);
    load(rule(1), rule(2, { priority: 9 }), rule(3, { priority: 9 }), rule(4, { enabled: false, priority: 99 }));
    engine.start();
    clock.advance(100);
    expect(records.map((record) => record.rule_id)).toEqual([2, 3, 1]);
    clock.advance(999);
    expect(records).toHaveLength(3);
    clock.advance(1);
    expect(records).toHaveLength(6);
  });

  test('an engine that was ready for a tick before it may begin begins with one; another one a tick after it was ready', () => {
    for (const [readyMs, firstMs] of [
      [0, 100],
      [40, 60],
      [99, 1],
      [100, 0],
      [1000, 0],
    ] as const) {
      const { clock, engine, load, records, set } = setup();
      set(0, 20);
      load(rule(1));
      clock.advance(readyMs);
      engine.start();
      if (firstMs > 0) clock.advance(firstMs - 1);
      expect(records, `ready for ${readyMs} ms`).toHaveLength(0);
      clock.advance(firstMs > 0 ? 1 : 0);
      expect(records, `ready for ${readyMs} ms`).toHaveLength(1);
    }
  });

  test('two rules, one actuator, one cycle: the higher priority wins in 1000 of 1000 runs', () => {
    const { clock, engine, load, runs, set, commands } = setup();
    set(0, 20);
    load(
      rule(1, { priority: 1, nodes_json: flow('x > 10', 1) }),
      rule(2, { priority: 2, nodes_json: flow('x > 10', 2) }),
    );
    engine.start();
    clock.advance(1_000_000);
    expect(runs(1)).toHaveLength(1000);
    expect(new Set(commands.map((command) => command.value))).toEqual(new Set([2]));
    for (const record of runs(1)) {
      expect(record.actions_executed).toMatchObject([{ success: false, reason: 'outranked', outranked_by: 2 }]);
      expect([record.outcome, record.success]).toEqual(['acted', true]);
    }
  });

  test('writes of a cycle trigger rules in the next cycle, at once and not at the next tick', () => {
    const { clock, engine, load, runs, set } = setup();
    load(
      rule(1, { trigger_config: onChange('measurement', 1) }),
      rule(2, {
        trigger_config: onChange('action', 1),
        nodes_json: flow('x > 0', 7, 2),
      }),
    );
    engine.start();
    clock.advance(10);
    set(0, 20);
    clock.advance(0);
    expect([runs(1).length, runs(2).length]).toEqual([1, 1]);
    expect(runs(2)[0]?.trigger).toEqual({ type: 'on_change', point: { instance: 1, point_type: 'action', point: 1 } });
    expect(clock.monotonicMs()).toBe(1010);
  });

  test('slices of max_concurrent_executions: the loop turns between them', () => {
    const { clock, engine, load, records, set } = setup();
    set(0, 20);
    load(...Array.from({ length: 10 }, (_, index) => rule(index + 1)));
    engine.start();
    const seen: number[] = [];
    clock.after(100, () => {
      const look = (): void => {
        seen.push(records.length);
        if (seen.length < 4) clock.soon(look);
      };
      look();
    });
    clock.advance(100);
    expect(seen).toEqual([4, 8, 10, 10]);
  });

  test('a rule that was deleted or disabled while its cycle ran does not run', () => {
    const { clock, engine, load, records, set } = setup({ limits: { max_concurrent_executions: 1 } });
    set(0, 20);
    load(rule(1), rule(2), rule(3));
    engine.start();
    clock.after(100, () => void load(rule(1), rule(3, { enabled: false, revision: 2 })));
    clock.advance(200);
    expect(records.map((record) => record.rule_id)).toEqual([1]);
  });

  test('lost changes are sampled: the rule runs all the same', () => {
    const { clock, engine, load, runs, set, lose, world } = setup();
    load(rule(1, { trigger_config: onChange('measurement', 1) }));
    engine.start();
    set(0, 5);
    clock.advance(0);
    expect(runs(1)).toHaveLength(1);
    clock.advance(20);
    world.lost = true;
    // The cycle that notices the loss has no snapshot; the next one still samples.
    world.torn = 1;
    lose(0, 6);
    clock.advance(0);
    expect(runs(1)).toHaveLength(2);
  });

  test('a torn snapshot decides nothing, is counted, and loses no change', () => {
    const { clock, engine, load, runs, set, world } = setup();
    load(rule(1, { trigger_config: onChange('measurement', 1) }));
    engine.start();
    world.torn = 2;
    set(0, 20);
    clock.advance(0);
    expect(runs(1)).toHaveLength(1);
    expect(engine.status().torn_snapshots).toBe(2);
  });
});

describe('[rules §6] scheduling', () => {
  test('after a stall one run and no burst: a timer 250 ms late is one late tick and two overruns, and the grid of ticks stays', () => {
    const base = simulatedClock();
    let late = false;
    const clock = {
      ...base,
      after: (delayMs: number, task: () => void) => base.after(late ? delayMs + 250 : delayMs, task),
    };
    const { engine, load, runs, set } = setup({ clock });
    set(0, 20);
    load(rule(1, { trigger_config: '{"type":"interval","interval_ms":100}' }));
    engine.start();
    late = true;
    base.advance(100);
    late = false;
    base.advance(350);
    expect(engine.status()).toMatchObject({
      ticks: 2,
      late_ticks: 1,
      overruns: 2,
      max_lateness_ms: 250,
      tick_interval_ms: 100,
    });
    expect(runs(1)).toHaveLength(2);
    // The grid of ticks did not move: 1100, 1450 (late, for 1200), then 1500.
    base.advance(50);
    expect(engine.status().ticks).toBe(3);
  });

  test('cooldown starts only after a success with at least one action', () => {
    const { clock, engine, load, runs, set } = setup();
    set(0, 1);
    load(rule(1, { cooldown_ms: 5000 }));
    engine.start();
    clock.advance(2100);
    expect(runs(1).map((record) => record.outcome)).toEqual(['no_action', 'no_action', 'no_action']);
    set(0, 20);
    clock.advance(1000);
    expect(runs(1).at(-1)?.outcome).toBe('acted');
    clock.advance(4999);
    expect(runs(1)).toHaveLength(4);
    clock.advance(101);
    expect(runs(1)).toHaveLength(5);
  });

  test('an unchanged no_action is distinguished from a change of outcome', () => {
    const { clock, engine, load, set, unchangedRuns, runs } = setup();
    set(0, 1);
    load(rule(1));
    engine.start();
    clock.advance(2100);
    expect(unchangedRuns).toEqual(
      runs(1)
        .slice(1)
        .map((record) => record.execution_id),
    );
    set(0, 20);
    clock.advance(1000);
    set(0, 1);
    clock.advance(1000);
    expect(unchangedRuns).toHaveLength(2);
  });
});

describe('manual execution', () => {
  test('ignores trigger, cooldown and enabled, carries the correlation id, and does not move the interval', async () => {
    const { clock, engine, load, order, runs, set } = setup();
    set(0, 20);
    load(rule(1, { cooldown_ms: 60_000 }), rule(2, { enabled: false }));
    engine.start();
    clock.advance(100);
    const first = order(1, 'correlation-a');
    const second = order(2, 'correlation-b');
    clock.advance(0);
    expect(await first).toMatchObject({
      rule_id: 1,
      trigger: { type: 'manual' },
      correlation_id: 'correlation-a',
      outcome: 'acted',
    });
    expect(await second).toMatchObject({ rule_id: 2, outcome: 'acted' });
    expect(runs(1)).toHaveLength(2);
  });

  test('manual runs do not count for the interval', () => {
    const { clock, engine, load, order, runs, set } = setup();
    set(0, 1);
    load(rule(1));
    engine.start();
    clock.advance(600);
    void order(1, 'correlation-a');
    clock.advance(500);
    expect(runs(1).map((record) => record.trigger.type)).toEqual(['interval', 'manual', 'interval']);
  });

  test('unknown rule, no runnable flow, stopped engine, too many waiting', async () => {
    const { clock, engine, load, order } = setup({ limits: { max_waiting_executions: 2 } });
    await expect(order(1, 'correlation-a')).rejects.toMatchObject({ code: 'engine-unavailable' });
    load(rule(1, { nodes_json: '{}' }));
    engine.start();
    const codes = [order(9, 'correlation-a'), order(1, 'correlation-b'), order(1, 'correlation-c')].map((result) =>
      result.then(
        () => 'ran',
        (error: unknown) => (error instanceof Fault ? error.code : 'bug'),
      ),
    );
    clock.advance(0);
    expect(await Promise.all(codes)).toEqual(['not-found', 'no-runnable-flow', 'engine-unavailable']);
  });

  test('live values that cannot be read are tried again, then refused', async () => {
    const { clock, engine, load, order, set, world } = setup();
    set(0, 20);
    load(rule(1, { enabled: false }));
    engine.start();
    world.torn = 4;
    const fine = order(1, 'correlation-a');
    clock.advance(0);
    expect((await fine).outcome).toBe('acted');
    world.torn = 1000;
    const refused = order(1, 'correlation-b');
    const code = refused.catch((error: unknown) => (error instanceof Fault ? error.code : 'bug'));
    clock.advance(0);
    expect(await code).toBe('engine-unavailable');
  });

  test('[rules §2.5] an order whose deadline has passed is dropped, and says that nothing was carried out', async () => {
    const { clock, engine, load, order, runs, set } = setup();
    set(0, 20);
    load(rule(1, { enabled: false }));
    engine.start();
    const late = order(1, 'correlation-a', 0).catch((error: unknown) => error);
    clock.advance(0);
    expect(await late).toMatchObject({ code: 'engine-unavailable', details: { order: 'expired' } });
    expect(runs(1)).toHaveLength(0);
    const inTime = order(1, 'correlation-b', 1);
    clock.advance(0);
    expect((await inTime).outcome).toBe('acted');
  });

  test('[rules §6.3] a hanging disk does not turn a completed order into a refusal: the answer waits for it until the deadline only', async () => {
    const { clock, engine, load, order, set, world } = setup();
    set(0, 20);
    world.diskHangs = true;
    load(rule(1, { enabled: false }));
    engine.start();
    const answer = { outcome: '' };
    void order(1, 'correlation-a', 5000).then(({ outcome }) => void (answer.outcome = outcome));
    clock.advance(4999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(answer.outcome).toBe('');
    clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(answer.outcome).toBe('acted');
  });
});

describe('reload', () => {
  test('[rules §6.4], [rules §3.4] a broken row is reported and the others run; a stub is no-runnable-flow', () => {
    const { clock, engine, load, records, set } = setup();
    set(0, 20);
    const report = load(
      rule(1),
      rule(2, { nodes_json: '{}' }),
      rule(3, { nodes_json: 'not json' }),
      rule(4, { trigger_config: '{"type":"never"}' }),
      rule(5, { nodes_json: '{}', enabled: false }),
    );
    expect(report).toEqual({
      rules_loaded: 1,
      rules_failed: [
        { id: 2, code: 'no-runnable-flow' },
        { id: 3, code: 'invalid-flow' },
        { id: 4, code: 'invalid-trigger' },
      ],
    });
    engine.start();
    clock.advance(100);
    expect(records.map((record) => record.rule_id)).toEqual([1]);
    expect(engine.status()).toMatchObject({ total_rules: 5, enabled_rules: 4, runnable_rules: 1 });
    expect(engine.explain([2, 99])).toMatchObject([
      { state: 'not-runnable', reasons: [{ code: 'no-runnable-flow' }] },
      null,
    ]);
  });

  test('[rules §3.4] editing, enabling or breaking one rule does not affect the others', () => {
    const { clock, engine, load, runs, set } = setup();
    set(0, 20);
    load(rule(1, { cooldown_ms: 3000 }), rule(2));
    engine.start();
    clock.advance(100);
    for (let step = 0; step < 25; step++) {
      const broken = step % 2 === 0;
      load(
        rule(1, { cooldown_ms: 3000 }),
        rule(2, { revision: 2 + step, enabled: step % 3 === 0, nodes_json: broken ? 'broken' : flow('x > 10', step) }),
      );
      clock.advance(100);
    }
    expect(runs(1)).toHaveLength(1);
    clock.advance(600);
    expect(runs(1)).toHaveLength(2);
  });

  test('a reload with parameters compiles every rule again and keeps its schedule', () => {
    const { clock, engine, rules, runs, set } = setup();
    const withParameter = rule(1, {
      nodes_json: flow('x > limit', 5).replace(
        '"parameters":[]',
        '"parameters":[{"name":"limit","parameter":"limit"}]',
      ),
      cooldown_ms: 2000,
    });
    set(0, 20);
    const change = { removed: [], changed: [withParameter], parameters: { limit: { value: 10, unit: undefined } } };
    expect(engine.reload(change)).toEqual({ rules_loaded: 1, rules_failed: [] });
    engine.start();
    clock.advance(100);
    expect(runs(1)[0]?.outcome).toBe('acted');
    engine.reload({ removed: [], changed: [], parameters: { limit: { value: 30, unit: undefined } } });
    clock.advance(1900);
    expect(runs(1)).toHaveLength(1);
    clock.advance(100);
    expect(runs(1).at(-1)).toMatchObject({ outcome: 'no_action', variable_values: { x: 20, limit: 30 } });
    expect(engine.reload({ removed: [], changed: [], parameters: {} })).toMatchObject({
      rules_failed: [{ id: 1, code: 'invalid-flow' }],
    });
    expect(rules.get(1)?.compiled).toBeNull();
  });

  test('[rules §5.2] the state of a rule survives a temporarily missing parameter, also over a restart', () => {
    const limit = { limit: { value: 10, unit: undefined } };
    const hysteretic = rule(1, {
      nodes_json: flow('hysteresis(x, limit, 5)', 5).replace(
        '"parameters":[]',
        '"parameters":[{"name":"limit","parameter":"limit"}]',
      ),
    });
    const before = setup();
    before.set(0, 20);
    before.engine.reload({ removed: [], changed: [hysteretic], parameters: limit });
    before.engine.start();
    before.clock.advance(100);
    before.set(0, 7);
    before.engine.reload({ removed: [], changed: [], parameters: {} });
    before.clock.advance(5000);
    const stored = new Map([[1, before.rules.exportState(1) ?? '']]);
    before.engine.reload({ removed: [], changed: [], parameters: limit });
    before.clock.advance(1000);
    expect(before.runs(1).map((record) => record.outcome)).toEqual(['acted', 'acted']);

    const after = setup({ stored });
    after.set(0, 7);
    after.engine.reload({ removed: [], changed: [hysteretic], parameters: {} });
    after.engine.reload({ removed: [], changed: [], parameters: limit });
    after.engine.start();
    after.clock.advance(1000);
    expect(after.runs(1)[0]?.outcome).toBe('acted');
  });

  test('[rules §5.2] a rule of 1 ms remembers from tick to tick: the gap counts in ticks', () => {
    const { clock, engine, load, runs, set } = setup();
    set(0, 20);
    const each = (id: number, when: string) =>
      rule(id, { trigger_config: '{"type":"interval","interval_ms":1}', nodes_json: flow(when, 5) });
    load(each(1, 'held(x > 10, 0.3)'), each(2, 'integrate(x) > 5'), each(3, 'rising(x > 30)'));
    engine.start();
    clock.advance(400);
    set(0, 40);
    clock.advance(100);
    expect(runs(1).map((record) => record.outcome)).toEqual(['no_action', 'no_action', 'no_action', 'acted', 'acted']);
    expect(runs(2).at(-1)?.outcome).toBe('acted');
    expect(
      runs(3)
        .map((record) => record.outcome)
        .at(-1),
    ).toBe('acted');
  });
});

describe('restart', () => {
  test('[rules §3.4] cooldowns, intervals and last runs survive; an edited trigger starts again', () => {
    const before = setup();
    before.set(0, 20);
    before.load(rule(1, { cooldown_ms: 60_000 }), rule(2, { cooldown_ms: 60_000 }));
    before.engine.start();
    before.clock.advance(100);
    const stored = new Map([1, 2].map((id) => [id, before.rules.exportState(id) ?? '']));
    before.engine.stop();

    // Ten seconds later, on another monotonic clock.
    const clock = simulatedClock(before.clock.wallMs() + 10_000, 5);
    const after = setup({ clock, stored });
    after.set(0, 20);
    after.load(
      rule(1, { cooldown_ms: 60_000 }),
      rule(2, { cooldown_ms: 0, trigger_config: '{"type":"interval","interval_ms":500}' }),
    );
    after.engine.start();
    const status = after.engine.explain([1])[0];
    expect(status).toMatchObject({ state: 'cooldown', last_run: { outcome: 'acted' } });
    expect(Date.parse(status?.cooldown_until ?? '') - before.clock.wallMs()).toBe(60_000);
    clock.advance(49_900);
    expect(after.runs(1)).toHaveLength(0);
    // An earlier cooldown does not apply where the edited rule has none.
    expect(after.runs(2).length).toBeGreaterThan(90);
    clock.advance(200);
    expect(after.runs(1)).toHaveLength(1);
  });

  test('[rules §3.4] a cooldown survives an edited trigger and a restart', () => {
    const before = setup();
    before.set(0, 20);
    before.load(rule(1, { cooldown_ms: 60_000 }), rule(2));
    before.engine.start();
    before.clock.advance(100);
    const touchedAtFirst = [...before.touched];
    const edited = rule(1, {
      revision: 2,
      cooldown_ms: 60_000,
      trigger_config: '{"type":"interval","interval_ms":500}',
    });
    before.engine.reload({ removed: [], changed: [edited] });
    expect(touchedAtFirst).toEqual([]);
    expect(before.touched).toEqual([1]);
    const stored = new Map([[1, before.rules.exportState(1) ?? '']]);
    before.engine.stop();

    const clock = simulatedClock(before.clock.wallMs() + 10_000, 5);
    const after = setup({ clock, stored });
    after.load(edited);
    expect(after.engine.explain([1])[0]).toMatchObject({ state: 'cooldown' });
  });

  test('a damaged state is ignored', () => {
    const { clock, engine, load, runs, set } = setup({
      stored: new Map([
        [1, '{"trigger":1}'],
        [2, 'x'],
      ]),
    });
    set(0, 20);
    load(rule(1), rule(2));
    engine.start();
    clock.advance(100);
    expect([runs(1).length, runs(2).length]).toEqual([1, 1]);
  });
});

describe('[platform §4.2] measures', () => {
  test('executions by outcome, commands by answer, ticks, and how long a change takes to become commands', () => {
    const { clock, engine, load, set, world } = setup();
    load(rule(1, { trigger_config: onChange('measurement', 1) }), rule(2, { enabled: false }));
    engine.start();
    world.observedAgoMs = 3;
    set(0, 20);
    clock.advance(20);
    world.answer = 'offline';
    set(0, 21);
    clock.advance(20);
    set(0, 5);
    clock.advance(20);
    set(0, Number.NaN);
    clock.advance(940);
    const { executions, commands, eventPath, tickLateness } = engine.measures();
    expect(executions).toEqual({ acted: 1, no_action: 1, skipped: 0, failed: 1 });
    expect(commands).toMatchObject({ accepted: 1, offline: 1, unavailable: 0 });
    const classes = Object.fromEntries(eventPath.boundsSeconds.map((bound, index) => [bound, eventPath.counts[index]]));
    expect(classes).toMatchObject({ '0.002': 0, '0.005': 3, '0.01': 0 });
    expect(eventPath.sumSeconds).toBeCloseTo(0.009, 9);
    expect(tickLateness.counts.reduce((sum, count) => sum + count, 0)).toBe(10);
  });
});

describe('[rules §6.3] a cooldown that begins is stored', () => {
  const after = (more: Partial<EngineRule>, level = 20): number => {
    const { clock, engine, set, load, world } = setup();
    set(0, level);
    load(rule(1, { trigger_config: '{"type":"interval","interval_ms":100}', ...more }));
    engine.start();
    clock.advance(100);
    return world.hurried;
  };

  test('at once, on one machine as on several', () => {
    expect(after({ cooldown_ms: 60_000 })).toBe(1);
  });

  test('with the run that started it: the stored state includes the cooldown, and changes with each run that acts', () => {
    const { clock, engine, set, load, urgentStates } = setup();
    set(0, 20);
    const trigger = '{"type":"interval","interval_ms":100}';
    load(rule(1, { trigger_config: trigger, cooldown_ms: 250 }));
    engine.start();
    clock.advance(1000);
    expect(urgentStates).toHaveLength(4);
    expect(new Set(urgentStates).size).toBe(4);
    expect(urgentStates[0]).toContain('1100');
  });

  test('no cooldown, or a run that did nothing, is no haste', () => {
    expect([after({ cooldown_ms: 0 }), after({ cooldown_ms: 60_000 }, 0)]).toEqual([0, 0]);
  });
});

describe('[rules §6.3] labels and event runs', () => {
  test('a cooldown of 2^53-1 ms in a stored row is explained with a label in year 9999', () => {
    const { clock, engine, load, set } = setup();
    set(0, 20);
    load(rule(1, { cooldown_ms: Number.MAX_SAFE_INTEGER }));
    engine.start();
    clock.advance(200);
    expect(engine.explain([1])).toMatchObject([
      { state: 'cooldown', cooldown_until: '9999-12-31T23:59:59.999Z', next_due_at: '9999-12-31T23:59:59.999Z' },
    ]);
  });

  test('two rules that trigger each other run at most once in event_min_interval_ms each, and ticks are kept', () => {
    const { clock, engine, load, runs, set } = setup({ limits: { event_min_interval_ms: 25 } });
    const toggles = (id: number, from: 'measurement' | 'action', target: number) =>
      rule(id, { trigger_config: onChange('action', from === 'action' ? 1 : 2), nodes_json: counting(target) });
    load(toggles(1, 'action', 2), toggles(2, 'measurement', 1));
    engine.start();
    set(0, 1);
    set(2, 1);
    set(3, 1);
    clock.advance(1000);
    for (const id of [1, 2]) {
      expect(runs(id).length).toBeGreaterThan(30);
      expect(runs(id).length).toBeLessThanOrEqual(41);
    }
    expect(engine.status()).toMatchObject({ ticks: 10, late_ticks: 0, overruns: 0 });
  });
});

/** Writes another value to action `target` in each run: the number of runs so far. */
function counting(target: number): string {
  return JSON.stringify({
    start_node: 's',
    nodes: {
      s: { type: 'start', wires: { default: ['c'] } },
      c: {
        type: 'calculation',
        assignments: [{ name: 'n', expression: 'integrate(1)' }],
        wires: { default: ['a'] },
      },
      a: {
        type: 'change',
        writes: [{ instance: 1, point_type: 'action', point: target, value: 'n' }],
        wires: { default: ['e'] },
      },
      e: { type: 'end', wires: {} },
    },
  });
}

describe('[rules §1.6] a rule in shadow', () => {
  test('10,000 runs beside live rules, with holds, orders, promotions and restarts: only live rules command', async () => {
    const random = seededRandom(20261124);
    let stored: ReadonlyMap<number, string> = new Map();
    const clock = simulatedClock();
    let shadowRuns = 0;
    for (let restart = 0; shadowRuns < 10_000; restart++) {
      const site = setup({ clock, stored });
      const rows = [1, 2, 3, 4].map((id) =>
        rule(id, {
          mode: random.below(4) === 0 ? 'live' : 'shadow',
          revision: restart + 1,
          priority: random.below(3),
          cooldown_ms: random.below(3) * 100,
          trigger_config: random.below(2) === 0 ? '{"type":"interval","interval_ms":100}' : onChange('measurement', 1),
          nodes_json: flow('x > 10', id, 1 + random.below(2)),
        }),
      );
      site.load(...rows);
      site.engine.start();
      for (let step = 0; step < 150; step++) {
        site.set(0, random.below(30));
        clock.advance(100);
        const row = rows[random.below(rows.length)];
        if (row === undefined || random.below(10) > 0) continue;
        void site.order(row.id, 'c').catch(() => undefined);
        clock.advance(1);
      }
      site.engine.stop();
      const live = new Set(rows.filter(({ mode }) => mode === 'live').map(({ id }) => String(id)));
      expect(site.commands.filter(({ by }) => !live.has(by.id))).toEqual([]);
      for (const record of site.records) {
        const isShadow = !live.has(String(record.rule_id));
        expect(record.shadow).toBe(isShadow ? true : undefined);
        if (!isShadow) continue;
        shadowRuns++;
        for (const { success, reason } of record.actions_executed) expect([success, reason]).toEqual([true, 'shadow']);
      }
      stored = new Map(rows.flatMap(({ id }) => [[id, site.rules.exportState(id) ?? '']]));
      expect([...site.world.claims.values()].filter((claim) => !live.has(String(JSON.parse(claim).rule)))).toEqual([]);
    }
    expect(shadowRuns).toBeGreaterThan(10_000);
  });

  test('its outcome and its cooldown are those of accepted writes, and other rules do not see it as a writer', () => {
    const site = setup();
    site.load(rule(1, { mode: 'shadow', cooldown_ms: 5000 }), rule(2, { nodes_json: flow('x > 10', 7) }));
    site.engine.start();
    site.set(0, 20);
    site.clock.advance(1000);
    expect(site.runs(1).at(-1)).toMatchObject({ outcome: 'acted', shadow: true, success: true });
    site.clock.advance(3000);
    expect(site.runs(1)).toHaveLength(1);
    expect(site.runs(2).length).toBeGreaterThan(2);
    expect(site.engine.explain([1])).toMatchObject([{ mode: 'shadow', state: 'cooldown' }]);
    const written = { instance: 1, point_type: 'action', point: 1 } as const;
    expect(site.engine.writers([written])).toEqual([{ rule_id: 2, point: written }]);
    // A write out of range fails in shadow too.
    site.load(rule(1, { mode: 'shadow', revision: 2, nodes_json: flow('x > 10', '1 / 0') }));
    site.clock.advance(5000);
    expect(site.runs(1).at(-1)).toMatchObject({ outcome: 'failed', actions_executed: [{ reason: 'not-finite' }] });
    site.engine.stop();
  });
});

test('[alarms §2.2] inputs without a usable value, with the enabled rules that read them, whatever starts these', () => {
  const site = setup();
  site.load(
    rule(3, {
      trigger_config: onChange('measurement', 1),
      nodes_json: flow('x > 10', 5).replace('"point":1}', '"point":1,"max_age_ms":100}'),
    }),
    rule(1, { mode: 'shadow' }),
    rule(2, { enabled: false }),
    rule(4, { nodes_json: '{' }),
  );
  const level = { instance: 1, point_type: 'measurement', point: 1 };
  expect(site.engine.unusableInputs()).toEqual([{ point: level, rules: 2, rule_ids: [3, 1] }]);
  site.set(0, 20);
  expect(site.engine.unusableInputs()).toEqual([]);
  // Each rule has its own maximum age.
  site.world.observedAgoMs = 100;
  expect(site.engine.unusableInputs()).toEqual([]);
  site.world.observedAgoMs = 101;
  expect(site.engine.unusableInputs()).toEqual([{ point: level, rules: 1, rule_ids: [3] }]);
  // Of many rules the first five are named.
  site.load(...Array.from({ length: 6 }, (_, at) => rule(at + 1)));
  site.set(0, Number.NaN);
  expect(site.engine.unusableInputs()).toEqual([{ point: level, rules: 6, rule_ids: [1, 2, 3, 4, 5] }]);
  site.world.online = false;
  expect(site.engine.unusableInputs()).toEqual([]);
  site.world.torn = 1;
  expect(() => site.engine.unusableInputs()).toThrow('live values cannot be read now');
});
