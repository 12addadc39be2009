/** The scheduler against an obvious model of §6 and decisions §2.2, on simulated time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testSnapshot } from '../testing/site-builder.ts';
import { createScheduler, type ScheduledRule } from './scheduler.ts';
import type { Trigger } from './trigger/parse.ts';

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

/** §6 in plain words: one rule, its last values, gaps and gates. */
class NaiveRule {
  readonly rule: ScheduledRule;
  readonly last = new Map<number, number>();
  readonly gaps = new Set<number>();
  lastTrigger = Number.NEGATIVE_INFINITY;
  lastActed = Number.NEGATIVE_INFINITY;

  constructor(rule: ScheduledRule) {
    this.rule = rule;
  }

  isDue(values: readonly (number | null)[], nowMs: number): boolean {
    const { trigger, points } = this.rule;
    if (trigger.type !== 'on_change') throw new Error('only on-change rules');
    let changed = false;
    for (const { index } of points) {
      const value = values[index] ?? null;
      const last = this.last.get(index);
      if (value === null) this.gaps.add(index);
      else if (last === undefined || this.gaps.has(index)) changed = true;
      else if (trigger.value_deadband === null) changed ||= value !== last;
      else if (trigger.value_deadband.type === 'absolute')
        changed ||= Math.abs(value - last) > trigger.value_deadband.threshold;
      else changed ||= Math.abs(value - last) > (trigger.value_deadband.threshold / 100) * Math.abs(last);
    }
    return (
      changed && nowMs - this.lastTrigger >= trigger.time_deadband_ms && nowMs - this.lastActed >= this.rule.cooldown_ms
    );
  }

  ran(values: readonly (number | null)[], nowMs: number, acted: boolean): void {
    this.lastTrigger = nowMs;
    if (acted) this.lastActed = nowMs;
    for (const { index } of this.rule.points) {
      const value = values[index] ?? null;
      if (value === null) continue;
      this.last.set(index, value);
      this.gaps.delete(index);
    }
  }
}

const value = fc.oneof(fc.constant(null), fc.constantFrom(0, -0, 1, 2, 5, 10, 10.5, 100, -3));
const step = fc.record({
  point: fc.integer({ min: 0, max: 2 }),
  value,
  waitMs: fc.constantFrom(0, 10, 100, 250, 1000),
  acted: fc.boolean(),
  reload: fc.boolean(),
});
const rule = fc.record({
  points: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
  timeDeadbandMs: fc.constantFrom(0, 100, 300),
  cooldown: fc.constantFrom(0, 200, 1000),
  priority: fc.integer({ min: 0, max: 2 }),
  band: fc.oneof(
    fc.constant(null),
    fc.record({ type: fc.constantFrom('absolute' as const, 'percent' as const), threshold: fc.constantFrom(0, 1, 20) }),
  ),
});

describe('§6 the event path and the tick path give the same decisions', () => {
  test('as a naive model does: random rules, changes, gaps and reloads', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { minLength: 1, maxLength: 4 }),
        fc.array(step, { minLength: 1, maxLength: 40 }),
        (rules, steps) => {
          const all = rules.map((given, index) =>
            scheduled(index + 1, onChange(given.points, given.timeDeadbandMs, given.band), {
              cooldown_ms: given.cooldown,
              priority: given.priority,
            }),
          );
          const byEvent = createScheduler();
          const byTick = createScheduler();
          const naive = all
            .map((each) => new NaiveRule(each))
            .sort((a, b) => b.rule.priority - a.rule.priority || a.rule.id - b.rule.id);
          for (const scheduler of [byEvent, byTick]) scheduler.replace(all, 0);
          const values: (number | null)[] = [null, null, null];
          let nowMs = 0;
          for (const { point, value: written, waitMs, acted, reload } of steps) {
            nowMs += waitMs;
            values[point] = written;
            if (reload) for (const scheduler of [byEvent, byTick]) scheduler.replace(all, nowMs);
            const snapshot = testSnapshot(values, nowMs);
            // Gates open with time too: the fallback tick comes between events, as in the engine.
            byEvent.observe(point, written ?? Number.NaN, written !== null, nowMs);
            const events = [
              ...byEvent.due(snapshot, 'event'),
              ...(waitMs > 0 ? byEvent.due(snapshot, 'tick', nowMs) : []),
            ];
            const seen = new Set<number>();
            const fromEvents = events.map(({ ruleId }) => ruleId).filter((id) => !seen.has(id) && seen.add(id));
            const fromTick = byTick.due(snapshot, 'tick', nowMs).map(({ ruleId }) => ruleId);
            const expected = naive.filter((each) => each.isDue(values, nowMs)).map((each) => each.rule.id);
            expect(fromTick).toEqual(expected);
            if (waitMs > 0) expect([...fromEvents].sort((a, b) => a - b)).toEqual([...expected].sort((a, b) => a - b));
            for (const id of expected) {
              for (const scheduler of [byEvent, byTick])
                scheduler.finished(id, { scheduled: true, acted, snapshot, dueAtMs: nowMs });
              naive.find((each) => each.rule.id === id)?.ran(values, nowMs, acted);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('decisions §2.2 intervals', () => {
  const everySecond = scheduled(1, { type: 'interval', interval_ms: 1000 });
  const run = (scheduler: ReturnType<typeof createScheduler>, nowMs: number): boolean => {
    const snapshot = testSnapshot([], nowMs);
    const due = scheduler.due(snapshot, 'tick', nowMs);
    for (const { ruleId, dueAtMs } of due)
      scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs });
    return due.length > 0;
  };

  test('never run: due at once; then when the time has passed; after a stall one run and no burst', () => {
    const scheduler = createScheduler();
    scheduler.replace([everySecond], 0);
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
    const scheduler = createScheduler();
    scheduler.replace([{ ...everySecond, cooldown_ms: 800 }], 0);
    run(scheduler, 0);
    scheduler.finished(1, { scheduled: false, acted: true, snapshot: testSnapshot([], 500), dueAtMs: 500 });
    expect([1000, 1200, 1300].map((ms) => run(scheduler, ms))).toEqual([false, false, true]);
  });

  test('editing, disabling or breaking one rule leaves the others as they were', () => {
    const scheduler = createScheduler();
    const other = scheduled(2, { type: 'interval', interval_ms: 300 });
    scheduler.replace([everySecond, other], 0);
    run(scheduler, 0);
    scheduler.replace([everySecond, { ...other, enabled: false }], 500);
    expect([run(scheduler, 999), run(scheduler, 1000)]).toEqual([false, true]);
    scheduler.replace([everySecond, { ...other, runnable: false }], 1500);
    expect([run(scheduler, 1999), run(scheduler, 2000)]).toEqual([false, true]);
  });

  test('state survives a restart, and a wall clock that jumped neither fires nor starves', () => {
    const before = createScheduler();
    before.replace([everySecond], 0);
    run(before, 5000);
    const stored = JSON.parse(JSON.stringify(before.exportState(1, 5400, 1_000_400)));
    const restarted = (wallMs: number): boolean[] => {
      const scheduler = createScheduler();
      scheduler.replace([everySecond], 0);
      scheduler.restoreState(1, stored, 100, wallMs);
      return [run(scheduler, 100), run(scheduler, 699), run(scheduler, 700), run(scheduler, 1100)];
    };
    expect(restarted(1_000_400)).toEqual([false, false, true, false]);
    // Back by an hour: as if it had run just now.
    expect(restarted(1_000_400 - 3_600_000)).toEqual([false, false, false, true]);
  });
});
