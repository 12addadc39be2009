/**
 * Rules as files [rules §12]: plans the changes of a folder of rules, and applies exactly that plan. It is rebuilt from the
 * same rules when it is applied, and its digest shows whether it is still the same.
 */
import type { Static } from 'typebox';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { ruleFiles } from '../api/rule-files.ts';
import { canonicalSteps } from '../base/canonical-json.ts';
import { sha256Hex } from '../base/digest.ts';
import { Fault } from '../base/fault.ts';
import { inTurns, nextTurn } from '../base/turns.ts';
import { sameLogic } from '../rules/difference.ts';
import type { Issue } from '../rules/issues.ts';
import { withPlaces } from '../rules/placed-nodes.ts';
import { emptyTopologyText } from '../rules/serialise.ts';
import { type AutomationParts, actOf, succeeded } from './automation-parts.ts';
import { compared, type RuleComparison } from './rule-comparison.ts';
import { deriveSteps } from './rule-document.ts';
import { trimmedName, viewed } from './rule-mutations.ts';
import { differencesInWords, runRuleTests, testsText, testWarnings } from './rule-tests.ts';
import { parsedOrNull } from './rule-view.ts';
import type { PlanStep } from './store/rule-store.ts';
import type { RuleRow } from './store/rule-table.ts';

type FileRule = Static<typeof ruleFiles.plan.body>['rules'][number];
type WireChange = Static<typeof ruleFiles.plan.answer>['data']['changes'][number];

interface PlannedChange extends Omit<WireChange, 'difference'> {
  readonly difference: RuleComparison | null;
}

interface Planned {
  readonly change: PlannedChange;
  readonly step: PlanStep;
  /** The rule as it would be stored; null if it is deleted. */
  readonly row: RuleRow | null;
}

/** A rule of a file, validated and derived. */
interface ReadRule {
  readonly row: RuleRow;
  readonly enabled: boolean | undefined;
  readonly warnings: readonly Issue[];
}

export function planCapabilities(parts: AutomationParts): HandledCapability[] {
  const resource = () => ({ kind: 'automation-rule', id: 'automation-rule:apply' });
  return [
    { descriptor: ruleFiles.plan, resource, handler: (context) => answerPlan(parts, context) },
    { descriptor: ruleFiles.apply, resource, handler: (context) => apply(parts, context) },
  ];
}

async function answerPlan(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { rules } = context.body as Static<typeof ruleFiles.plan.body>;
  const planned = await plan(parts, rules);
  return {
    data: succeeded({ digest: await digestOf(parts, rules, planned), changes: planned.map(({ change }) => change) }),
  };
}

async function apply(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { rules, digest: expected, reason } = context.body as Static<typeof ruleFiles.apply.body>;
  const planned = await plan(parts, rules);
  const digest = await digestOf(parts, rules, planned);
  if (digest !== expected)
    throw new Fault('revision-conflict', 'the rules have changed since the plan was made; make the plan again', {
      details: { digest, expected_digest: expected },
    });
  if (parts.requireTests) for (const each of planned) await checkTests(parts, each);
  const rows = await parts.store.apply(
    planned.map(({ step }) => step),
    actOf(context, ruleFiles.apply, reason),
  );
  const applied = planned.flatMap(({ change: { key, action } }, index) => {
    const row = rows[index];
    return row === undefined ? [] : [{ key, action, rule_id: row.id, revision: row.revision }];
  });
  await reloadAll(
    parts,
    applied.flatMap(({ action, rule_id: id }) => (action === 'unchanged' ? [] : [id])),
  );
  const changes = [];
  for (const [index, { change }] of planned.entries()) {
    const { action, revision, difference, drift } = change;
    const [entry, row] = [applied[index], rows[index]];
    if (entry === undefined || row === undefined || action === 'unchanged') continue;
    const after = action === 'delete' ? {} : { after: await viewed(parts, row) };
    changes.push({ ...entry, before_revision: revision, drift, classes: difference?.classes ?? [], ...after });
  }
  return { data: succeeded({ digest, applied }), auditDetails: { digest, changes } };
}

/** Where a site requires passing tests, a refusal names the rule of the plan. */
async function checkTests(parts: AutomationParts, { change: { key, action }, row }: Planned): Promise<void> {
  if (row === null || action === 'unchanged') return;
  try {
    await testWarnings(parts, row);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(error.code, `rule ${key}: ${error.message}`, { ...(error.details && { details: error.details }) });
  }
}

/** Stored changes persist: an engine that cannot apply them now is restarted with them. */
async function reloadAll({ engine, log }: AutomationParts, ids: readonly number[]): Promise<void> {
  try {
    if (ids.length > 0) await engine.reload(undefined, ids);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    log.warn('an applied plan waits for the rule engine', { code: error.code });
  }
}

/** Covers the rules of the files, and the revisions that they would change; for unchanged rules the revision does not count. */
async function digestOf(
  { clock }: AutomationParts,
  rules: readonly FileRule[],
  planned: readonly Planned[],
): Promise<string> {
  const changes = planned.map(({ change: { key, action, rule_id: id, revision } }) =>
    action === 'unchanged' ? [key, action] : [key, action, id, revision],
  );
  const sorted = rules.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  return sha256Hex(await inTurns(clock, canonicalSteps({ rules: sorted, changes })));
}

async function plan(parts: AutomationParts, rules: readonly FileRule[]): Promise<Planned[]> {
  const stored = new Map((await parts.store.keyed()).map((row) => [row.key, row]));
  const read = await readAll(parts, rules, stored);
  const planned: Planned[] = [];
  for (const rule of read) {
    await nextTurn(parts.clock);
    planned.push(await planOne(parts, rule, stored.get(rule.row.key) ?? null));
  }
  const keys = new Set(rules.map(({ key }) => key));
  for (const row of stored.values())
    if (row.applied_revision !== null && row.key !== null && !keys.has(row.key))
      planned.push(await planRemoval(parts, row, row.key));
  return planned.toSorted((one, other) => (one.change.key < other.change.key ? -1 : 1));
}

/** Throws one Fault with every issue of every rule. */
async function readAll(
  parts: AutomationParts,
  rules: readonly FileRule[],
  stored: ReadonlyMap<string | null, RuleRow>,
): Promise<ReadRule[]> {
  const seen = new Set<string>();
  const read: ReadRule[] = [];
  const issues: object[] = [];
  for (const [index, rule] of rules.entries()) {
    if (seen.has(rule.key))
      throw new Fault('invalid-input', `body /rules/${index}/key: another rule of the plan has the key "${rule.key}"`);
    seen.add(rule.key);
    try {
      read.push(await readRule(parts, rule, stored.get(rule.key) ?? null));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      for (const issue of issuesOf(error))
        issues.push({ ...issue, path: `/rules/${index}${issue.path}`, key: rule.key });
    }
  }
  if (issues.length > 0)
    throw new Fault('invalid-flow', `${issues.length} ${issues.length === 1 ? 'fault' : 'faults'} in the rules`, {
      details: { issues },
    });
  return read;
}

function issuesOf({ details, message }: Fault): readonly Pick<Issue, 'path' | 'message'>[] {
  const issues = details?.['issues'];
  // Only the parsers put issues there.
  return Array.isArray(issues) ? (issues as readonly Issue[]) : [{ path: '', message }];
}

async function readRule(parts: AutomationParts, rule: FileRule, before: RuleRow | null): Promise<ReadRule> {
  const { key, name, description = null, mode = 'live', priority = 0, cooldown_ms: cooldownMs = 0, tests = [] } = rule;
  if (rule.flow_json !== undefined && rule.nodes_json !== undefined)
    throw new Fault('invalid-input', 'send flow_json or nodes_json, not both');
  const storedFlow = before === null || before.flow_json === null ? null : parsedOrNull(before.flow_json);
  const document = {
    flow_json: withPlaces(rule.flow_json, storedFlow),
    nodes_json: rule.nodes_json,
    trigger_config: rule.trigger_config,
  };
  const derived = await inTurns(parts.clock, deriveSteps(document, parts.catalogue(), parts.flowLimits));
  const row: RuleRow = {
    id: before?.id ?? 0,
    revision: before?.revision ?? 0,
    key,
    applied_revision: before?.applied_revision ?? null,
    name: trimmedName(name),
    description,
    enabled: rule.enabled ?? before?.enabled ?? false,
    mode,
    priority,
    cooldown_ms: cooldownMs,
    trigger_config: derived.trigger?.trigger_config ?? null,
    flow_json: derived.flow?.flow_json ?? null,
    nodes_json: derived.flow?.nodes_json ?? emptyTopologyText,
    tests: testsText(tests),
    created_at: before?.created_at ?? '',
    updated_at: before?.updated_at ?? '',
  };
  return { row, enabled: rule.enabled, warnings: derived.warnings };
}

async function planOne(
  parts: AutomationParts,
  { row, enabled, warnings }: ReadRule,
  before: RuleRow | null,
): Promise<Planned> {
  const difference = await compared(parts, before ?? nothing(row), row);
  const isSame = before !== null && sameLogic(difference) && row.enabled === before.enabled;
  const action = before === null ? 'create' : isSame ? 'unchanged' : 'change';
  const content = {
    name: row.name,
    description: row.description,
    mode: row.mode,
    priority: row.priority,
    cooldown_ms: row.cooldown_ms,
    trigger_config: row.trigger_config,
    flow: { flow_json: row.flow_json, nodes_json: row.nodes_json },
    tests: row.tests,
    ...(enabled === undefined ? {} : { enabled }),
  };
  const at = { id: row.id, revision: row.revision };
  const step: PlanStep =
    action === 'create'
      ? { action, content: { ...content, key: row.key ?? '' } }
      : action === 'change'
        ? { action, ...at, content }
        : { action, ...at };
  const wasEnabled = before?.enabled ?? false;
  return {
    step,
    row,
    change: {
      key: row.key ?? '',
      name: row.name,
      action,
      rule_id: before?.id ?? null,
      revision: before?.revision ?? null,
      drift: action === 'change' && before !== null && (await hasDrifted(parts, before)),
      enabled: wasEnabled === row.enabled ? null : { before: wasEnabled, after: row.enabled },
      difference: action === 'unchanged' ? null : difference,
      tests: action === 'unchanged' ? null : await tested(parts, row),
      warnings: action === 'unchanged' ? [] : [...warnings],
    },
  };
}

async function planRemoval(parts: AutomationParts, row: RuleRow, key: string): Promise<Planned> {
  const { id, revision, name, enabled } = row;
  return {
    step: { action: 'delete', id, revision },
    row: null,
    change: {
      key,
      name,
      action: 'delete',
      rule_id: id,
      revision,
      drift: await hasDrifted(parts, row),
      enabled: enabled ? { before: true, after: false } : null,
      difference: await compared(parts, row, nothing(row)),
      tests: null,
      warnings: [],
    },
  };
}

/** A rule without a flow, with the settings of a new one. */
function nothing(row: RuleRow): RuleRow {
  return {
    ...row,
    description: null,
    enabled: false,
    mode: 'live',
    priority: 0,
    cooldown_ms: 0,
    trigger_config: null,
    flow_json: null,
    nodes_json: emptyTopologyText,
    tests: null,
  };
}

/** Whether the logic of the rule has changed since a plan was applied. */
async function hasDrifted(parts: AutomationParts, row: RuleRow): Promise<boolean> {
  if (row.applied_revision === null || row.applied_revision === row.revision) return false;
  const applied = await parts.revisions.get(row.id, row.applied_revision);
  return applied !== null && !sameLogic(await compared(parts, applied.row, row));
}

async function tested(parts: AutomationParts, row: RuleRow): Promise<PlannedChange['tests']> {
  const results = await runRuleTests(parts, row);
  const failed = results.filter(({ passed }) => !passed);
  return {
    passed: results.length - failed.length,
    failures: failed.map(({ name, differences }) => ({ name, message: differencesInWords(differences) })),
  };
}
