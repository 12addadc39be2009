/**
 * Rules over recorded values [rules §10.2], against an interpreter that knows the contract alone and looks at every tick and every
 * value: a gap, a clock change and a cooldown included.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ruleLoader } from '../../automation/loaded-rule.ts';
import { siteCatalogue } from '../../site/site-catalogue.ts';
import { engineRule, switchFlow, tankSite } from '../../testing/tank-site.ts';
import { RunTotals, type TotalledRuns } from './report.ts';
import { type RunnableRule, type SampledValue, Simulation } from './simulation.ts';

const tickMs = 100;
const recordIntervalMs = 1000;
const timezone = 'Europe/Amsterdam';
const maxAgeMs = 2000;
const site = { ...tankSite, timezone, points: tankSite.points.map((point) => ({ ...point, maxAgeMs })) };
const catalogue = siteCatalogue(site);
const threeAMinute = siteCatalogue({
  ...site,
  points: site.points.map((point) => (point.kind === 'action' ? { ...point, maxWritesPerMinute: 3 } : point)),
});
const limits = { tick_interval_ms: tickMs, event_min_interval_ms: 20, evaluations_max: 1_000_000 };

type Condition =
  | { readonly kind: 'above' | 'rising' | 'falling'; readonly level: number }
  | { readonly kind: 'average' | 'held' | 'integral'; readonly level: number; readonly n: number }
  | { readonly kind: 'hysteresis'; readonly level: number }
  | { readonly kind: 'hour'; readonly level: number };

interface Drawn {
  readonly trigger:
    | { readonly type: 'interval'; readonly interval_ms: number }
    | { readonly type: 'on_change'; readonly time_deadband_ms: number; readonly threshold: number };
  readonly cooldownMs: number;
  readonly condition: Condition;
  readonly value: number | 'x * 2';
}

/** From the window's begin; null is a point without a usable value. */
interface Sample {
  readonly atMs: number;
  readonly value: number | null;
}

const textOf = (condition: Condition): string => {
  const { level } = condition;
  switch (condition.kind) {
    case 'above':
      return `x > ${level}`;
    case 'rising':
    case 'falling':
      return `${condition.kind}(x > ${level})`;
    case 'average':
      return `moving_avg(x, ${condition.n}) > ${level}`;
    case 'held':
      return `held(x > ${level}, ${condition.n})`;
    case 'integral':
      return `integrate(x, ${condition.n}) > ${level}`;
    case 'hysteresis':
      return `hysteresis(x, ${level + 1}, ${level - 1}) == 1`;
    case 'hour':
      return `time_of_day() >= ${level}`;
  }
};

type Run = readonly [atMs: number, outcome: string, written: number | null];

interface Simulated {
  readonly runs: readonly Run[];
  readonly totals: TotalledRuns;
  /** Of the runs, those that were not carried out, because they only repeat another one. */
  readonly told: number;
}

function simulated(
  rule: Drawn,
  samples: readonly Sample[],
  fromMs: number,
  toMs: number,
  { tellsRepeats = false, catalogue: points = catalogue } = {},
): Simulated {
  const { trigger } = rule;
  const given =
    trigger.type === 'interval'
      ? trigger
      : {
          type: 'on_change',
          point_refs: [{ instance: 1, point_type: 'measurement', point: 1 }],
          time_deadband_ms: trigger.time_deadband_ms,
          value_deadband: trigger.threshold === 0 ? null : { type: 'absolute', threshold: trigger.threshold },
        };
  const row = engineRule(1, {
    cooldown_ms: rule.cooldownMs,
    trigger_config: JSON.stringify(given),
    nodes_json: switchFlow(textOf(rule.condition), rule.value),
  });
  const { scheduled, compiled } = ruleLoader(limits).load(row, points);
  if (compiled === null) throw new Error(`the rule does not compile: ${textOf(rule.condition)}`);
  const runnable: RunnableRule = { scheduled, compiled };
  const runs: Run[] = [];
  const totals = new RunTotals(compiled);
  let told = 0;
  const simulation = new Simulation({
    ...runnable,
    catalogue: points,
    limits,
    recordIntervalMs,
    fromMs,
    onRun: (atMs, run, plan) => {
      totals.add(atMs, run, plan);
      runs.push([atMs, run.outcome, run.actions[0]?.written ?? null]);
    },
    ...(tellsRepeats && {
      onRepeated: (lastMs, run, plan, count) => {
        totals.add(lastMs, run, plan, count);
        const beforeMs = runs.at(-1)?.[0] ?? Number.NaN;
        const stepMs = (lastMs - beforeMs) / count;
        for (let index = 1; index <= count; index++)
          runs.push([beforeMs + index * stepMs, run.outcome, run.actions[0]?.written ?? null]);
        told += count;
      },
    }),
  });
  for (const { atMs, value } of samples.filter((sample) => fromMs + sample.atMs < toMs)) {
    const recorded: SampledValue = { atMs: fromMs + atMs, index: 0, value: value ?? Number.NaN, isUncertain: false };
    simulation.take(recorded.atMs, [recorded]);
  }
  simulation.runUntil(toMs);
  return { runs, totals: totals.totals(1000), told };
}

const hourIn = new Intl.DateTimeFormat('en-GB', {
  timeZone: timezone,
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
  hourCycle: 'h23',
});

/** [rules §3], [rules §5.2], [rules §6.3], word for word. */
class Interpreter {
  readonly #rule: Drawn;
  readonly runs: Run[] = [];
  #value = Number.NaN;
  #rowMs = Number.NaN;
  #last: number | null = null;
  #gap = false;
  #ranMs = Number.NEGATIVE_INFINITY;
  #actedMs = Number.NEGATIVE_INFINITY;
  /** Of the function with memory: when it ran last, and what it remembers. */
  #memoryMs: number | null = null;
  #memory: number[] = [];

  constructor(rule: Drawn) {
    this.#rule = rule;
  }

  take(atMs: number, value: number | null): void {
    this.#value = value ?? Number.NaN;
    this.#rowMs = atMs;
  }

  judge(atMs: number, isTick: boolean): void {
    const { trigger, cooldownMs } = this.#rule;
    const isUsable = this.#isUsable(atMs);
    let isDue: boolean;
    if (trigger.type === 'interval') isDue = isTick && atMs - this.#ranMs >= trigger.interval_ms;
    else {
      if (!isUsable) this.#gap = true;
      const distance = this.#last === null ? Number.POSITIVE_INFINITY : Math.abs(this.#value - this.#last);
      const hasChanged =
        isUsable && (this.#gap || (trigger.threshold === 0 ? distance !== 0 : distance > trigger.threshold));
      isDue = hasChanged && atMs - this.#ranMs >= trigger.time_deadband_ms;
    }
    if (!isDue || atMs - this.#actedMs < cooldownMs) return;
    this.#ranMs = atMs;
    if (isUsable) {
      this.#last = this.#value;
      this.#gap = false;
    }
    this.runs.push(this.#run(atMs, isUsable));
  }

  #isUsable(atMs: number): boolean {
    return Number.isFinite(this.#value) && atMs - this.#rowMs <= recordIntervalMs + maxAgeMs;
  }

  #run(atMs: number, isUsable: boolean): Run {
    if (!isUsable) return [atMs, 'skipped', null];
    if (!this.#holds(atMs, this.#value)) return [atMs, 'no_action', null];
    // A run ends behind its tick, and the cooldown counts from there [rules §6.3].
    this.#actedMs = this.#rule.cooldownMs > 0 ? atMs + 1 : atMs;
    return [atMs, 'acted', typeof this.#rule.value === 'number' ? this.#rule.value : this.#value * 2];
  }

  #holds(atMs: number, x: number): boolean {
    const { trigger, condition } = this.#rule;
    const periodMs =
      trigger.type === 'interval' ? Math.max(trigger.interval_ms, tickMs) : Math.max(60_000, trigger.time_deadband_ms);
    const elapsedMs = this.#memoryMs === null ? Number.POSITIVE_INFINITY : atMs - this.#memoryMs;
    const goesOn = elapsedMs <= 5 * periodMs;
    this.#memoryMs = atMs;
    const isAbove = x > condition.level;
    const [before, second] = this.#memory;
    switch (condition.kind) {
      case 'above':
        return isAbove;
      case 'rising':
        this.#memory = [Number(isAbove)];
        return goesOn && before === 0 && isAbove;
      case 'falling':
        this.#memory = [Number(isAbove)];
        return goesOn && before === 1 && !isAbove;
      case 'average': {
        this.#memory = [...this.#memory, x].slice(-condition.n);
        return this.#memory.reduce((sum, each) => sum + each, 0) / this.#memory.length > condition.level;
      }
      case 'held': {
        const sinceMs = isAbove ? (goesOn && before !== undefined ? before : atMs) : undefined;
        this.#memory = sinceMs === undefined ? [] : [sinceMs];
        return sinceMs !== undefined && atMs - sinceMs >= condition.n * 1000;
      }
      case 'integral': {
        const area = goesOn ? (((before ?? x) + x) / 2) * (elapsedMs / 1000 / condition.n) : 0;
        const sum = (second ?? 0) + area;
        this.#memory = [x, sum];
        return sum > condition.level;
      }
      case 'hysteresis': {
        const isOn = x > condition.level + 1 ? 1 : x < condition.level - 1 ? 0 : (before ?? 0);
        this.#memory = [isOn];
        return isOn === 1;
      }
      case 'hour': {
        const part = Object.fromEntries(hourIn.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
        const hours = (part['hour'] ?? 0) + (part['minute'] ?? 0) / 60 + (part['second'] ?? 0) / 3600;
        return hours + (atMs % 1000) / 3_600_000 >= condition.level;
      }
    }
  }
}

function interpreted(rule: Drawn, samples: readonly Sample[], fromMs: number, toMs: number): readonly Run[] {
  const interpreter = new Interpreter(rule);
  const byTime = new Map(samples.map(({ atMs, value }) => [fromMs + atMs, value]));
  const first = Math.min(fromMs, ...byTime.keys());
  for (let atMs = first; atMs < toMs; atMs += tickMs / 2) {
    const isTick = atMs >= fromMs && (atMs - fromMs) % tickMs === 0;
    if (byTime.has(atMs)) {
      interpreter.take(atMs, byTime.get(atMs) ?? null);
      if (atMs >= fromMs && rule.trigger.type === 'on_change') interpreter.judge(atMs, false);
    }
    if (isTick) interpreter.judge(atMs, true);
  }
  return interpreter.runs;
}

const level = fc.integer({ min: -2, max: 2 });
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ kind: fc.constantFrom('above', 'rising', 'falling'), level }),
  fc.record({ kind: fc.constantFrom('average', 'held', 'integral'), level, n: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('hysteresis'), level }),
  fc.record({ kind: fc.constant('hour'), level: fc.constantFrom(0, 1, 2, 3) }),
);
const rules: fc.Arbitrary<Drawn> = fc.record({
  trigger: fc.oneof(
    fc.record({ type: fc.constant('interval'), interval_ms: fc.constantFrom(1, 100, 250, 700, 2000) }),
    fc.record({
      type: fc.constant('on_change'),
      time_deadband_ms: fc.constantFrom(0, 100, 350, 1500),
      threshold: fc.constantFrom(0, 0.5, 1),
    }),
  ),
  cooldownMs: fc.constantFrom(0, 0, 150, 1000),
  condition,
  value: fc.oneof(fc.constantFrom(1, 7), fc.constant('x * 2')),
});
/** Steps of half a tick, from before the window; long ones are gaps. */
const samples: fc.Arbitrary<readonly Sample[]> = fc
  .array(
    fc.record({
      steps: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 60, max: 120 })),
      value: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: -3, max: 3 }) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
    }),
    { maxLength: 25 },
  )
  .map((drawn) => {
    let atMs = -2500;
    return drawn.map(({ steps, value }) => {
      atMs += steps * (tickMs / 2);
      return { atMs, value };
    });
  });
/** Two of them lie around a clock change of Amsterdam. */
const begins = fc.constantFrom(
  Date.parse('2026-03-29T00:59:50Z'),
  Date.parse('2026-10-25T00:59:50Z'),
  Date.parse('2026-06-01T12:00:00Z'),
);

describe('[rules §10.2] a simulated rule runs as the contract says', () => {
  test('2000 random rules over values with gaps, cooldowns and clock changes: times, outcomes and writes', () => {
    let acted = 0;
    let told = 0;
    fc.assert(
      fc.property(rules, samples, begins, (rule, values, fromMs) => {
        const toMs = fromMs + 20_000;
        const { runs, totals } = simulated(rule, values, fromMs, toMs);
        acted += runs.filter(([, outcome]) => outcome === 'acted').length;
        expect(runs).toEqual(interpreted(rule, values, fromMs, toMs));
        const shorter = simulated(rule, values, fromMs, toMs, { tellsRepeats: true });
        expect(shorter).toEqual({ runs, totals, told: shorter.told });
        told += shorter.told;
      }),
      { numRuns: 2000 },
    );
    // Rules that never act would agree about nothing.
    expect(acted).toBeGreaterThan(2000);
    expect(told).toBeGreaterThan(2000);
  }, 60_000);

  test('behind the last evaluation that is allowed nothing runs', () => {
    const rule: Drawn = {
      trigger: { type: 'interval', interval_ms: 1 },
      cooldownMs: 0,
      condition: { kind: 'above', level: 0 },
      value: 1,
    };
    for (const tellsRepeats of [false, true])
      expect(simulated(rule, [], 0, 1_000_000_000, { tellsRepeats }).runs.length).toBe(limits.evaluations_max + 1);
  });

  test('writes that a point takes only so often are carried out each', () => {
    const rule: Drawn = {
      trigger: { type: 'interval', interval_ms: 500 },
      cooldownMs: 0,
      condition: { kind: 'above', level: 0 },
      value: 1,
    };
    const values = Array.from({ length: 50 }, (_, index) => ({ atMs: index * 2000, value: 1 }));
    const all = [false, true].map((tellsRepeats) =>
      simulated(rule, values, 0, 100_000, { tellsRepeats, catalogue: threeAMinute }),
    );
    expect(all[0]?.totals.outcomes).toMatchObject({ acted: 6, failed: 194 });
    expect(all[1]).toEqual(all[0]);
  });
});
