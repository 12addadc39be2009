/** Runs the tests of rules [rules §11], on save and on request. */
import type { Static } from 'typebox';
import { type Answer, type CallContext, success } from '../api/capability.ts';
import type { ruleTests } from '../api/rule-tests.ts';
import { Fault } from '../base/fault.ts';
import { inTurns, type Steps } from '../base/turns.ts';
import type { Issue } from '../rules/issues.ts';
import {
  catalogueOfTest,
  type RuleTest,
  type RuleTestResult,
  runTest,
  type TestDifference,
  unknownInTest,
  untested,
} from '../rules/rule-test.ts';
import { emptyTopologyText } from '../rules/serialise.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import type { AutomationParts } from './automation-parts.ts';
import { type LoadedRule, type RuleLoader, ruleLoader } from './loaded-rule.ts';
import { deriveSteps } from './rule-document.ts';
import type { RuleRow } from './store/rule-table.ts';

/** The parts of a rule that its tests need. */
type TestedRule = Pick<RuleRow, 'id' | 'nodes_json' | 'tests'>;

/** The tests of a stored rule. */
export function testsOf({ tests }: Pick<RuleRow, 'tests'>): readonly RuleTest[] {
  // Only this program writes the column.
  return tests === null ? [] : (JSON.parse(tests) as readonly RuleTest[]);
}

/** The stored form; throws `invalid-input` if two have one name, or one names a point twice. */
export function testsText(tests: readonly RuleTest[]): string | null {
  const names = new Set<string>();
  for (const [index, { name, given, then }] of tests.entries()) {
    if (names.has(name))
      throw new Fault('invalid-input', `/tests/${index}/name: another test of the rule has the name "${name}"`);
    names.add(name);
    refuseTwice(
      `/tests/${index}/given`,
      given,
      ({ instance, point_type, point }) => `${instance}:${point_type}:${point}`,
    );
    refuseTwice(`/tests/${index}/then/writes`, then.writes ?? [], ({ instance, point }) => `${instance}:${point}`);
  }
  return tests.length === 0 ? null : JSON.stringify(tests);
}

function refuseTwice<T>(path: string, list: readonly T[], placeOf: (entry: T) => string): void {
  const seen = new Set<string>();
  for (const [index, entry] of list.entries()) {
    if (seen.has(placeOf(entry)))
      throw new Fault('invalid-input', `${path}/${index}: names a point that the list has already; give it once`);
    seen.add(placeOf(entry));
  }
}

export async function runRuleTests(parts: AutomationParts, rule: TestedRule): Promise<RuleTestResult[]> {
  const tests = testsOf(rule);
  if (tests.length === 0) return [];
  const loader = ruleLoader({ tick_interval_ms: parts.tickIntervalMs });
  return inTurns(parts.clock, resultSteps(rule, tests, loader, parts.catalogue()));
}

/** One step per test. The rule is compiled once for all tests that do not change the site's parameters. */
function* resultSteps(
  { id, nodes_json }: TestedRule,
  tests: readonly RuleTest[],
  loader: RuleLoader,
  site: SiteCatalogue,
): Steps<RuleTestResult[]> {
  const row = {
    id,
    revision: 1,
    enabled: false,
    mode: 'shadow',
    priority: 0,
    cooldown_ms: 0,
    trigger_config: null,
  } as const;
  const results: RuleTestResult[] = [];
  let asInForce: LoadedRule | undefined;
  for (const test of tests) {
    yield;
    const unknown = unknownInTest(test, site);
    const catalogue = catalogueOfTest(test, site);
    const loaded: LoadedRule =
      (catalogue === site ? asInForce : undefined) ?? (yield* loader.steps({ ...row, nodes_json }, catalogue));
    if (catalogue === site) asInForce = loaded;
    const { compiled, failure } = loaded;
    const problems =
      compiled === null ? [{ field: 'flow', expected: 'a flow that can run', actual: failure }] : unknown;
    results.push(
      compiled === null || problems.length > 0 ? untested(test, problems) : runTest(compiled, test, catalogue),
    );
  }
  return results;
}

/**
 * Runs the tests of a rule before it is stored or enabled: returns warnings, or throws `tests-failed` if the site requires
 * that every rule has passing tests.
 */
export async function testWarnings(parts: AutomationParts, rule: TestedRule): Promise<Issue[]> {
  const results = await runRuleTests(parts, rule);
  const issues = results.flatMap(({ name, passed, differences }, index) =>
    passed
      ? []
      : [
          {
            code: 'test-failed',
            message: `the test "${name}" fails: ${differencesInWords(differences)}`,
            path: `/tests/${index}`,
            hint: 'correct the rule, or change what the test expects',
          },
        ],
  );
  if (!parts.requireTests || rule.nodes_json === emptyTopologyText) return issues;
  if (results.length === 0)
    throw new Fault(
      'tests-failed',
      'the rule has no tests, and rules.require_tests of service.yaml demands at least one',
    );
  if (issues.length > 0) throw new Fault('tests-failed', issues[0]?.message ?? 'a test fails', { details: { issues } });
  return issues;
}

/** Differences in a warning; the operation that runs the tests returns all. */
const differencesNamed = 3;

export function differencesInWords(differences: readonly TestDifference[]): string {
  const named = differences
    .slice(0, differencesNamed)
    .map(
      ({ field, expected, actual }) => `${field} is ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`,
    );
  const more = differences.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

export async function answerTests(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { rule_id: id, flow_json, nodes_json, tests } = context.body as Static<typeof ruleTests.run.body>;
  if (flow_json !== undefined && nodes_json !== undefined)
    throw new Fault('invalid-input', 'body: send flow_json or nodes_json, not both');
  const stored = id === undefined ? null : await parts.store.get(id);
  if (id !== undefined && stored === null) throw new Fault('not-found', `rule ${id} not found`);
  const hasDraft = flow_json !== undefined || nodes_json !== undefined;
  if (stored === null && !(hasDraft && tests !== undefined))
    throw new Fault('invalid-input', 'body: must have rule_id, or a flow and tests');
  const derived = hasDraft
    ? await inTurns(parts.clock, deriveSteps({ flow_json, nodes_json }, parts.catalogue(), parts.flowLimits))
    : undefined;
  const results = await runRuleTests(parts, {
    id: id ?? 0,
    nodes_json: derived?.flow?.nodes_json ?? stored?.nodes_json ?? emptyTopologyText,
    tests: tests === undefined ? (stored?.tests ?? null) : testsText(tests),
  });
  const passed = results.filter((result) => result.passed).length;
  return success({ rule_id: id ?? null, passed, failed: results.length - passed, results });
}
