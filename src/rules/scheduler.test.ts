/** The scheduler against an obvious model of [rules §6] and [rules §3], on simulated time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testSnapshot } from '../testing/site-builder.ts';
import type { ScheduledRule } from './scheduled-rule.ts';
import { createScheduler } from './scheduler.ts';
import type { Trigger } from './trigger/index.ts';
import type { OnChangeTrigger } from './trigger/on-change.ts';

/** Event runs as often as changes come: most tests are about other gates. */
const unlimited = { event_min_interval_ms: 0 };

function scheduled(id: number, trigger: Trigger, more: Partial<ScheduledRule> = {}): ScheduledRule {
  const refs = trigger.type === 'on_change' ? trigger.point_refs : [];
  return {
    id,
    priority: 0,
    enabled: true,
    runnable: true,
    cooldown_ms: 0,
    trigger,
    triggerText: JSON.stringify(trigger),
    points: refs.map((ref) => ({ index: ref.point - 1, maxAgeMs: 5000, ref })),
    ...more,
  };
}
const onChange = (
  points: readonly number[],
  timeDeadbandMs: number,
  band: { type: 'absolute' | 'percent'; threshold: number } | null,
): Trigger => ({
  type: 'on_change',
  point_refs: points.map((point) => ({ instance: 1, point_type: 'measurement', point })),
  time_deadband_ms: timeDeadbandMs,
  value_deadband: band,
});

/** [rules §3.2] in plain words: one rule, its last values, gaps and gates. It knows one clock only, which never jumps. */
class NaiveRule {
  readonly rule: ScheduledRule;
  readonly last = new Map<number, number>();
  readonly gaps = new Set<number>();
  lastScheduled = Number.NEGATIVE_INFINITY;
  lastActed = Number.NEGATIVE_INFINITY;

  constructor(rule: ScheduledRule) {
    this.rule = rule;
  }

  isDue(values: readonly (number | null)[], nowMs: number): boolean {
    const { trigger } = this.rule;
    const cold = nowMs - this.lastActed >= this.rule.cooldown_ms;
    if (trigger.type === 'interval') return cold && nowMs - this.lastScheduled >= trigger.interval_ms;
    return this.isChanged(values, trigger) && cold && nowMs - this.lastScheduled >= trigger.time_deadband_ms;
  }

  isChanged(values: readonly (number | null)[], trigger: OnChangeTrigger): boolean {
    let changed = false;
    for (const { index } of this.rule.points) {
      const value = values[index] ?? null;
      const last = this.last.get(index);
      if (value === null) this.gaps.add(index);
      else if (last === undefined || this.gaps.has(index)) changed = true;
      else if (trigger.value_deadband === null) changed ||= value !== last;
      else if (trigger.value_deadband.type === 'absolute')
        changed ||= Math.abs(value - last) > trigger.value_deadband.threshold;
      else changed ||= Math.abs(value - last) > (trigger.value_deadband.threshold / 100) * Math.abs(last);
    }
    return changed;
  }

  ran(values: readonly (number | null)[], nowMs: number, how: { scheduled: boolean; acted: boolean }): void {
    if (how.scheduled) this.lastScheduled = nowMs;
    if (how.acted) this.lastActed = nowMs;
    for (const { index } of this.rule.points) {
      const value = values[index] ?? null;
      if (value === null) continue;
      this.last.set(index, value);
      this.gaps.delete(index);
    }
  }
}

const hourMs = 3_600_000;
const value = fc.oneof(fc.constant(null), fc.constantFrom(0, -0, 1, 2, 5, 10, 10.5, 100, -3));
const step = fc.record({
  point: fc.integer({ min: 0, max: 2 }),
  value,
  silent: fc.boolean(),
  waitMs: fc.constantFrom(0, 10, 100, 250, 1000, hourMs),
  acted: fc.boolean(),
  manual: fc.option(fc.nat({ max: 3 }), { freq: 4 }),
  wallJumpMs: fc.constantFrom(0, 0, 0, 1, -1, 5 * hourMs, -3 * hourMs),
  then: fc.constantFrom('go on', 'go on', 'reload', 'restart'),
});
const trigger = fc.oneof(
  fc.record({ type: fc.constant('interval' as const), interval_ms: fc.constantFrom(1, 100, 350, 2000) }),
  fc
    .record({
      points: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
      timeDeadbandMs: fc.constantFrom(0, 100, 300),
      band: fc.oneof(
        fc.constant(null),
        fc.record({
          type: fc.constantFrom('absolute' as const, 'percent' as const),
          threshold: fc.constantFrom(0, 1, 20),
        }),
      ),
    })
    .map((given) => onChange(given.points, given.timeDeadbandMs, given.band)),
);
const rule = fc.record({
  trigger,
  cooldown_ms: fc.constantFrom(0, 200, 1000),
  priority: fc.integer({ min: 0, max: 2 }),
});

/** A scheduler in processes that come and go, each with its own monotonic origin, beside a wall clock that jumps. */
function restartable(rules: readonly ScheduledRule[]) {
  let originMs = 0;
  let scheduler = createScheduler(unlimited);
  scheduler.change(rules, []);
  return {
    now: (modelMs: number): number => modelMs - originMs,
    get scheduler() {
      return scheduler;
    },
    restart(modelMs: number, wallMs: number, downMs: number): void {
      const stored = rules.map(({ id }) => scheduler.exportState(id, modelMs - originMs, wallMs));
      const texts = stored.map((state) => JSON.stringify(state));
      originMs = modelMs + downMs - 77;
      scheduler = createScheduler(unlimited);
      scheduler.change(rules, []);
      rules.forEach(({ id }, index) => {
        scheduler.restoreState(id, JSON.parse(texts[index] ?? ''), true, 77, wallMs + downMs);
      });
    },
  };
}

describe('[rules §6.1] the event path and the tick path give the same decisions', () => {
  test('as a naive model does: random rules, changes, gaps, manual runs, reloads, restarts and jumps of the wall clock', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { minLength: 1, maxLength: 4 }),
        fc.array(step, { minLength: 1, maxLength: 40 }),
        (rules, steps) => {
          const all = rules.map(({ trigger: given, ...more }, index) => scheduled(index + 1, given, more));
          const [byEvent, byTick] = [restartable(all), restartable(all)];
          const both = [byEvent, byTick];
          const naive = all
            .map((each) => new NaiveRule(each))
            .sort((a, b) => b.rule.priority - a.rule.priority || a.rule.id - b.rule.id);
          const values: (number | null)[] = [null, null, null];
          let modelMs = 0;
          let wallMs = 1_700_000_000_000;
          for (const { point, value: written, silent, waitMs, acted, manual, wallJumpMs, then } of steps) {
            // A process that is down measures its absence by the wall clock, which is right meanwhile.
            if (then === 'restart') for (const each of both) each.restart(modelMs, wallMs, waitMs);
            modelMs += waitMs;
            wallMs += waitMs + wallJumpMs;
            values[point] = written;
            if (then === 'reload') for (const each of both) each.scheduler.change(all, []);
            const nowMs = byEvent.now(modelMs);
            const snapshot = testSnapshot(values, nowMs, wallMs);
            const finish = (each: NaiveRule, how: { scheduled: boolean; acted: boolean }): void => {
              for (const { scheduler } of both)
                scheduler.finished(each.rule.id, { ...how, snapshot, dueAtMs: nowMs, endedMs: nowMs });
              each.ran(values, modelMs, how);
            };

            // A value that becomes too old makes no event: the next tick finds that it is gone.
            const isSilent = silent && written === null && waitMs > 0;
            if (!isSilent) byEvent.scheduler.observe(point, written ?? Number.NaN, written !== null, nowMs);
            // Gates open with time too: the fallback tick comes between events, as in the engine.
            const events = [
              ...byEvent.scheduler.due(snapshot, 'event'),
              ...(waitMs > 0 ? byEvent.scheduler.due(snapshot, 'tick', nowMs) : []),
            ];
            const fromEvents = new Set(events.map(({ ruleId }) => ruleId));
            const fromTick = byTick.scheduler.due(snapshot, 'tick', nowMs).map(({ ruleId }) => ruleId);
            const expected = naive.filter((each) => each.isDue(values, modelMs));
            const ids = expected.map((each) => each.rule.id);
            expect(fromTick).toEqual(ids);
            if (waitMs > 0) expect([...fromEvents].sort((a, b) => a - b)).toEqual([...ids].sort((a, b) => a - b));
            for (const each of expected) finish(each, { scheduled: true, acted });
            const byHand = manual === null ? undefined : naive[manual];
            if (byHand !== undefined) finish(byHand, { scheduled: false, acted });
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

test('[rules §3.2] a point that is lost between a start and its first tick has a gap, even if a rule ran before that tick', () => {
  const rule = scheduled(1, onChange([1, 2], 0, null));
  const stored = {
    last_scheduled: 0,
    last_trigger: 0,
    last_acted: null,
    points: [1, 2].map((point) => ({ key: `1:measurement:${point}`, last: 5, gap: false })),
  };
  for (const isScheduled of [true, false]) {
    const scheduler = createScheduler(unlimited);
    scheduler.change([rule], []);
    scheduler.restoreState(1, stored, true, 0, 0);
    // By hand, or because the other point changed.
    if (isScheduled) scheduler.observe(1, 6, true, 10);
    const ran = testSnapshot([5, isScheduled ? 6 : 5], 10);
    expect(scheduler.due(ran, 'event')).toHaveLength(isScheduled ? 1 : 0);
    scheduler.finished(1, { scheduled: isScheduled, acted: false, snapshot: ran, dueAtMs: 10, endedMs: 10 });
    const lost = testSnapshot([null, isScheduled ? 6 : 5], 20);
    expect(scheduler.due(lost, 'tick')).toEqual([]);
    scheduler.observe(0, 5, true, 10);
    expect(scheduler.due(ran, 'event')).toHaveLength(1);
  }
});

test('[rules §3.2] a value that is too old at a run leaves a gap: the same value, once it is fresh, asks for another run', () => {
  const scheduler = createScheduler(unlimited);
  scheduler.change([scheduled(1, onChange([1], 0, null))], []);
  const snapshot = testSnapshot([5], 1000);
  const ran = (): number => {
    const due = scheduler.due(snapshot, 'tick');
    const atMs = snapshot.monotonicMs;
    // By hand where it is not due.
    scheduler.finished(1, { scheduled: due.length > 0, acted: false, snapshot, dueAtMs: atMs, endedMs: atMs });
    return due.length;
  };
  expect(ran()).toBe(1);
  snapshot.monotonicMs = 6001;
  expect(ran()).toBe(0);
  snapshot.observedMs.fill(6001);
  expect([ran(), ran()]).toEqual([1, 0]);
});

test('[rules §3.2] a rule that watches a point as another one does, and is new or back, is judged at the next tick', () => {
  const scheduler = createScheduler(unlimited);
  const [first, second] = [1, 2].map((id) => scheduled(id, onChange([1], 0, null))) as [ScheduledRule, ScheduledRule];
  const snapshot = testSnapshot([5], 1000);
  const ticked = (): number[] => {
    const due = scheduler.due(snapshot, 'tick', 1000);
    for (const { ruleId } of due)
      scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs: 1000, endedMs: 1000 });
    return due.map(({ ruleId }) => ruleId);
  };
  scheduler.change([first], []);
  expect([ticked(), ticked()]).toEqual([[1], []]);
  scheduler.change([second], []);
  expect([ticked(), ticked()]).toEqual([[2], []]);
  scheduler.change([], [2]);
  expect(scheduler.exportState(2, 1000, 1000)).toBeNull();
  scheduler.change([second], []);
  expect([ticked(), ticked()]).toEqual([[2], []]);
});

describe('[rules §3.3] intervals', () => {
  const everySecond = scheduled(1, { type: 'interval', interval_ms: 1000 });
  const run = (scheduler: ReturnType<typeof createScheduler>, nowMs: number): boolean => {
    const snapshot = testSnapshot([], nowMs);
    const due = scheduler.due(snapshot, 'tick', nowMs);
    for (const { ruleId, dueAtMs } of due)
      scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs, endedMs: dueAtMs });
    return due.length > 0;
  };

  test('never run: due at once; then when the time has passed; after a stall one run and no burst', () => {
    const scheduler = createScheduler(unlimited);
    scheduler.change([everySecond], []);
    expect([0, 900, 999, 1000, 1100, 2000, 9000, 9100, 9999, 10_000].map((ms) => run(scheduler, ms))).toEqual([
      true,
      false,
      false,
      true,
      false,
      true,
      true,
      false,
      false,
      true,
    ]);
  });

  test('manual runs do not move the interval, but start the cooldown', () => {
    const scheduler = createScheduler(unlimited);
    scheduler.change([{ ...everySecond, cooldown_ms: 800 }], []);
    run(scheduler, 0);
    scheduler.finished(1, {
      scheduled: false,
      acted: true,
      snapshot: testSnapshot([], 500),
      dueAtMs: 500,
      endedMs: 500,
    });
    expect([1000, 1200, 1300].map((ms) => run(scheduler, ms))).toEqual([false, false, true]);
  });

  test('[rules §6.3] the cooldown counts from the end of the execution that acted, not from its tick', () => {
    const scheduler = createScheduler(unlimited);
    scheduler.change([{ ...everySecond, cooldown_ms: 1000 }], []);
    const snapshot = testSnapshot([], 0);
    scheduler.finished(1, { scheduled: true, acted: true, snapshot, dueAtMs: 0, endedMs: 40 });
    expect([run(scheduler, 1000), run(scheduler, 1039), run(scheduler, 1040)]).toEqual([false, false, true]);
  });

  test('a stored state of another trigger keeps its cooldown and nothing else', () => {
    const before = createScheduler(unlimited);
    before.change([{ ...everySecond, cooldown_ms: 60_000 }], []);
    before.finished(1, { scheduled: true, acted: true, snapshot: testSnapshot([], 0), dueAtMs: 0, endedMs: 0 });
    const stored = JSON.parse(JSON.stringify(before.exportState(1, 1000, 1_001_000)));
    const scheduler = createScheduler(unlimited);
    scheduler.change([{ ...scheduled(1, { type: 'interval', interval_ms: hourMs }), cooldown_ms: 60_000 }], []);
    scheduler.restoreState(1, stored, false, 100, 1_001_000);
    // An hour counted from the stored run would still have to pass.
    expect([run(scheduler, 200), run(scheduler, 59_099), run(scheduler, 59_100)]).toEqual([false, false, true]);
  });

  test('an edit of the trigger keeps the cooldown and nothing else; an edit beside it keeps the interval too', () => {
    const [cooling, hourly] = [60_000, { type: 'interval', interval_ms: hourMs } as const];
    const edited = (more: Partial<ScheduledRule>, trigger: Trigger): boolean[] => {
      const scheduler = createScheduler(unlimited);
      scheduler.change([{ ...everySecond, cooldown_ms: cooling }], []);
      scheduler.finished(1, { scheduled: true, acted: true, snapshot: testSnapshot([], 0), dueAtMs: 0, endedMs: 0 });
      scheduler.change([scheduled(1, trigger, more)], []);
      return [run(scheduler, 999), run(scheduler, 1000), run(scheduler, 59_999), run(scheduler, 60_000)];
    };
    expect(edited({ cooldown_ms: cooling }, hourly)).toEqual([false, false, false, true]);
    expect(edited({ cooldown_ms: 0, priority: 5 }, everySecond.trigger)).toEqual([false, true, true, false]);
  });

  test('editing, disabling or breaking one rule does not affect the others', () => {
    const scheduler = createScheduler(unlimited);
    const other = scheduled(2, { type: 'interval', interval_ms: 300 });
    scheduler.change([everySecond, other], []);
    run(scheduler, 0);
    scheduler.change([everySecond, { ...other, enabled: false }], []);
    expect([run(scheduler, 999), run(scheduler, 1000)]).toEqual([false, true]);
    scheduler.change([everySecond, { ...other, runnable: false }], []);
    expect([run(scheduler, 1999), run(scheduler, 2000)]).toEqual([false, true]);
  });

  test('state survives a restart, and a wall clock that jumped neither fires nor starves', () => {
    const before = createScheduler(unlimited);
    before.change([everySecond], []);
    run(before, 5000);
    const stored = JSON.parse(JSON.stringify(before.exportState(1, 5400, 1_000_400)));
    const restarted = (wallMs: number): boolean[] => {
      const scheduler = createScheduler(unlimited);
      scheduler.change([everySecond], []);
      scheduler.restoreState(1, stored, true, 100, wallMs);
      return [run(scheduler, 100), run(scheduler, 699), run(scheduler, 700), run(scheduler, 1100)];
    };
    expect(restarted(1_000_400)).toEqual([false, false, true, false]);
    // Back by an hour: as if it had run just now.
    expect(restarted(1_000_400 - 3_600_000)).toEqual([false, false, false, true]);
  });

  test('[rules §3.4] a damaged stored state is ignored', () => {
    const watching = scheduled(1, onChange([1], 0, null));
    const good = { last_scheduled: null, last_trigger: null, last_acted: null };
    const entry = { key: '1:measurement:1', last: 5, gap: false };
    const fires = (stored: unknown): boolean => {
      const scheduler = createScheduler(unlimited);
      scheduler.change([watching], []);
      scheduler.restoreState(1, stored, true, 0, 0);
      return scheduler.due(testSnapshot([5]), 'tick', 1000).length > 0;
    };
    expect(fires({ ...good, points: [entry] })).toBe(false);
    for (const points of [null, [null], [{ ...entry, last: '5' }], [{ ...entry, gap: 0 }], [{ last: 5, gap: false }]])
      expect(fires({ ...good, points })).toBe(true);
    expect(fires({ ...good, last_acted: '0', points: [entry] })).toBe(true);
    expect(fires(null)).toBe(true);
  });
});

describe('[rules §3.2] event runs', () => {
  const watching = scheduled(1, onChange([1], 0, null));
  const everyTick = scheduled(3, { type: 'interval', interval_ms: 100 });
  const paced = (): ReturnType<typeof createScheduler> => {
    const scheduler = createScheduler({ event_min_interval_ms: 20 });
    scheduler.change([watching], []);
    return scheduler;
  };
  const event = (scheduler: ReturnType<typeof createScheduler>, value: number, nowMs: number): boolean => {
    scheduler.observe(0, value, true, nowMs);
    return judged(scheduler, value, nowMs, 'event');
  };
  const judged = (
    scheduler: ReturnType<typeof createScheduler>,
    value: number,
    nowMs: number,
    mode: 'event' | 'tick',
  ): boolean => {
    const snapshot = testSnapshot([value], nowMs);
    const due = scheduler.due(snapshot, mode, nowMs);
    for (const { ruleId, dueAtMs } of due)
      scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs, endedMs: dueAtMs });
    return due.length > 0;
  };

  test('at most once in event_min_interval_ms; a change in between is held and fires when the interval has passed', () => {
    const scheduler = paced();
    expect(event(scheduler, 1, 1000)).toBe(true);
    expect(scheduler.heldUntilMs()).toBeUndefined();
    expect(event(scheduler, 2, 1005)).toBe(false);
    expect(scheduler.heldUntilMs()).toBe(1020);
    expect(judged(scheduler, 2, 1019, 'event')).toBe(false);
    expect(judged(scheduler, 2, 1020, 'event')).toBe(true);
    expect(scheduler.heldUntilMs()).toBeUndefined();
    expect(judged(scheduler, 2, 1040, 'event')).toBe(false);
  });

  test('a change that was back before the interval had passed fires too, once, on either path', () => {
    for (const mode of ['event', 'tick'] as const) {
      const scheduler = paced();
      event(scheduler, 1, 1000);
      expect(event(scheduler, 2, 1005)).toBe(false);
      expect(event(scheduler, 1, 1010)).toBe(false);
      expect(judged(scheduler, 1, 1020, mode)).toBe(true);
      expect(judged(scheduler, 1, 1100, mode)).toBe(false);
    }
  });

  test('a change, and a gap, that was over before anybody looked fires too', () => {
    for (const passing of [2, Number.NaN]) {
      for (const mode of ['event', 'tick'] as const) {
        const scheduler = paced();
        event(scheduler, 1, 1000);
        scheduler.observe(0, passing, Number.isFinite(passing), 1030);
        scheduler.observe(0, 1, true, 1031);
        expect(judged(scheduler, 1, 1040, mode)).toBe(true);
        expect(judged(scheduler, 1, 1100, mode)).toBe(false);
      }
    }
  });

  test('a change that is held back outlives an edit of anything but the trigger, and falls with the rule', () => {
    const after = (rules: readonly ScheduledRule[], removed: readonly number[]): boolean => {
      const scheduler = paced();
      event(scheduler, 1, 1000);
      event(scheduler, 2, 1005);
      event(scheduler, 1, 1010);
      scheduler.change(rules, removed);
      return judged(scheduler, 1, 1020, 'event');
    };
    expect(after([{ ...watching, priority: 7 }], [])).toBe(true);
    expect(after([scheduled(2, onChange([2], 0, null))], [])).toBe(true);
    expect(after([], [1])).toBe(false);
  });

  test('the run says which point has changed', () => {
    const scheduler = createScheduler(unlimited);
    scheduler.change([scheduled(1, onChange([3, 1], 0, null)), scheduled(2, onChange([3], 0, null))], []);
    const triggers = (values: readonly number[]) => {
      const snapshot = testSnapshot(values, 1000);
      const due = scheduler.due(snapshot, 'tick', 1000);
      for (const { ruleId } of due)
        scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs: 1000, endedMs: 1000 });
      return due.map(({ trigger }) => trigger);
    };
    const by = (point: number) => ({ type: 'on_change', point: { instance: 1, point_type: 'measurement', point } });
    expect(triggers([1, 2, 3])).toEqual([by(3), by(3)]);
    expect(triggers([9, 2, 3])).toEqual([by(1)]);
    expect(triggers([9, 2, 4])).toEqual([by(3), by(3)]);
    scheduler.change([everyTick], [1, 2]);
    expect(triggers([])).toEqual([{ type: 'interval' }]);
  });

  test('a tick holds a change back as an event does, and an interval never', () => {
    const scheduler = paced();
    event(scheduler, 1, 1000);
    expect(judged(scheduler, 2, 1010, 'tick')).toBe(false);
    expect(scheduler.heldUntilMs()).toBe(1020);
    expect(judged(scheduler, 2, 1020, 'event')).toBe(true);
  });
});

test('a scheduler that was changed step by step decides as one that was given the final rules at once', () => {
  const change = fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    priority: fc.integer({ min: 0, max: 2 }),
    point: fc.integer({ min: 0, max: 2 }),
    isRemoved: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
      const stepwise = createScheduler(unlimited);
      const rules = new Map<number, ScheduledRule>();
      for (const { id, priority, point, isRemoved } of changes) {
        const rule = { ...scheduled(id, onChange([point + 1], 0, null)), priority };
        if (isRemoved) rules.delete(id);
        else rules.set(id, rule);
        stepwise.change(isRemoved ? [] : [rule], isRemoved ? [id] : []);
      }
      const whole = createScheduler(unlimited);
      whole.change([...rules.values()], []);
      const snapshot = testSnapshot([1, 2, 3], 1000);
      const decided = [stepwise, whole].map((scheduler) => {
        const byPoint = [0, 1, 2].flatMap((point) => {
          scheduler.observe(point, point + 1, true, 1000);
          return scheduler.due(snapshot, 'event').map(({ ruleId }) => [point, ruleId]);
        });
        return { byPoint, byTick: scheduler.due(snapshot, 'tick', 1000).map(({ ruleId }) => ruleId) };
      });
      expect(decided[0]).toEqual(decided[1]);
    }),
  );
});
