/**
 * A test of a rule [rules §11]: given values at one moment, what the rule decides and writes. One run of the engine's own executor, with
 * fresh memory and every write within its range accepted; nothing leaves.
 */
import type { PointRef, SiteCatalogue } from '../site/catalogue.ts';
import { quality } from '../site/quality.ts';
import { createSnapshot, type Snapshot } from '../site/snapshot.ts';
import { createArbiter } from './arbiter.ts';
import { accepting } from './backtest/simulation.ts';
import type { CompiledRule } from './compile.ts';
import { createPlan, type Plan } from './evaluate.ts';
import { runRule } from './executor.ts';
import type { Outcome } from './record.ts';
import { outputOf } from './run-record.ts';
import { createRuleState } from './state.ts';

/** The moment of a test that names none: a rule that looks at the clock has the same day and time in every run of it. */
export const testMoment = '2000-01-01T12:00:00.000Z';

interface TestedWrite {
  readonly instance: number;
  readonly point: number;
  /** As it would reach the device, bounds and step applied. */
  readonly value: number;
}

interface TakenOutput {
  readonly node_id: string;
  readonly name: string;
}

export interface RuleTest {
  readonly name: string;
  /** RFC 3339 UTC; `testMoment` when absent. */
  readonly at?: string | undefined;
  /** Null is a point without a usable value, as is one that is not named. */
  readonly given: readonly (PointRef & { readonly value: number | null })[];
  /** Values of the site's parameters during this test; the others are those in force. */
  readonly parameters?: Readonly<Record<string, number>> | undefined;
  /** Absent members are not compared. */
  readonly then: {
    readonly outcome?: Outcome | undefined;
    /** All accepted writes, in any order; of several to one point the last. */
    readonly writes?: readonly TestedWrite[] | undefined;
    readonly output?: TakenOutput | undefined;
  };
}

/** `field` is a JSON Pointer into the test, or names the part of the rule that cannot be tested. */
export interface TestDifference {
  readonly field: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

export interface RuleTestResult {
  readonly name: string;
  readonly passed: boolean;
  readonly differences: readonly TestDifference[];
  /** Null when the test could not run. */
  readonly outcome: Outcome | null;
  readonly error: string | null;
  readonly writes: readonly TestedWrite[];
}

/** The result of a test that could not run. */
export function untested({ name }: RuleTest, differences: readonly TestDifference[]): RuleTestResult {
  return { name, passed: false, differences, outcome: null, error: null, writes: [] };
}

/** Names in the test that the site does not have. */
export function unknownInTest(test: RuleTest, catalogue: SiteCatalogue): TestDifference[] {
  const points = test.given.flatMap((ref, index) =>
    catalogue.point(ref) === undefined
      ? [{ field: `/given/${index}`, expected: 'a point of the site', actual: pointOf(ref) }]
      : [],
  );
  const names = Object.keys(test.parameters ?? {}).filter((name) => catalogue.parameter(name) === undefined);
  return [
    ...points,
    ...names.map((name) => ({ field: `/parameters/${name}`, expected: 'a parameter of the site', actual: name })),
  ];
}

/** The site as the test has it: with the parameters that it sets. */
export function catalogueOfTest({ parameters = {} }: RuleTest, catalogue: SiteCatalogue): SiteCatalogue {
  const given = new Map(Object.entries(parameters));
  if (given.size === 0) return catalogue;
  return {
    timezone: catalogue.timezone,
    points: catalogue.points,
    point: (ref) => catalogue.point(ref),
    parameter(name) {
      const [known, value] = [catalogue.parameter(name), given.get(name)];
      return known === undefined || value === undefined ? known : { ...known, value };
    },
  };
}

/** `rule` is compiled for `catalogueOfTest`; the test names only what the site has. */
export function runTest(rule: CompiledRule, test: RuleTest, catalogue: SiteCatalogue): RuleTestResult {
  const plan = createPlan();
  const { actions, error, outcome } = runRule(
    rule,
    snapshotOf(test, catalogue),
    createRuleState(rule),
    createArbiter(),
    accepting,
    plan,
    true,
  );
  const accepted = actions.flatMap(({ instance, point, written }) =>
    written === undefined ? [] : [{ instance, point, value: written }],
  );
  const writes = [...new Map(accepted.map((write) => [`${write.instance}:${write.point}`, write])).values()];
  const differences = [
    ...differentOutcome(test, outcome),
    ...differentWrites(test, writes),
    ...differentOutput(test, rule, plan),
  ];
  return {
    name: test.name,
    passed: differences.length === 0,
    differences,
    outcome,
    error: error?.message ?? null,
    writes,
  };
}

function snapshotOf({ at = testMoment, given }: RuleTest, catalogue: SiteCatalogue): Snapshot {
  const atMs = Date.parse(at);
  const snapshot = createSnapshot(catalogue.points.length);
  snapshot.wallMs = atMs;
  snapshot.monotonicMs = atMs;
  snapshot.quality.fill(quality.bad);
  for (const { value, ...ref } of given) {
    const index = catalogue.point(ref)?.index;
    if (index === undefined) throw new Error(`a test names the unknown point ${pointOf(ref)}`);
    if (value === null) continue;
    snapshot.values[index] = value;
    snapshot.quality[index] = quality.good;
    snapshot.observedMs[index] = atMs;
  }
  return snapshot;
}

function differentOutcome({ then }: RuleTest, outcome: Outcome): TestDifference[] {
  if (then.outcome === undefined || then.outcome === outcome) return [];
  return [{ field: '/then/outcome', expected: then.outcome, actual: outcome }];
}

function differentWrites({ then }: RuleTest, writes: readonly TestedWrite[]): TestDifference[] {
  if (then.writes === undefined) return [];
  const valueIn = (list: readonly TestedWrite[], { instance, point }: TestedWrite): number | null =>
    list.findLast((write) => write.instance === instance && write.point === point)?.value ?? null;
  const expected = then.writes;
  const seen = new Set<string>();
  return [...expected, ...writes].flatMap((write) => {
    const place = `${write.instance}:${write.point}`;
    if (seen.has(place)) return [];
    seen.add(place);
    const [wanted, actual] = [valueIn(expected, write), valueIn(writes, write)];
    return wanted === actual ? [] : [{ field: `/then/writes (${place})`, expected: wanted, actual }];
  });
}

function differentOutput({ then }: RuleTest, rule: CompiledRule, plan: Plan): TestDifference[] {
  const wanted = then.output;
  if (wanted === undefined) return [];
  let actual: string | null = null;
  for (let index = 0; index < plan.pathLength; index++) {
    const taken = outputOf(rule, plan, index);
    if (taken?.nodeId === wanted.node_id) actual = taken.output;
  }
  return actual === wanted.name ? [] : [{ field: `/then/output (${wanted.node_id})`, expected: wanted.name, actual }];
}

function pointOf({ instance, point_type: kind, point }: PointRef): string {
  return `${kind} ${point} of instance ${instance}`;
}
