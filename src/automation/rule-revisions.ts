/**
 * The revisions of rules [rules §1.4]: the content of each, the difference between two, and restore. A restored revision
 * is validated against the current site like any submitted rule.
 */
import type { Static } from 'typebox';
import { type Answer, type CallContext, type HandledCapability, successText } from '../api/capability.ts';
import { revisions } from '../api/revisions.ts';
import { Fault } from '../base/fault.ts';
import { inTurns } from '../base/turns.ts';
import type { Issue } from '../rules/issues.ts';
import { emptyTopologyText } from '../rules/serialise.ts';
import { type AutomationParts, actOf, etag, ruleIdParameter, ruleResource, succeeded } from './automation-parts.ts';
import { compared } from './rule-comparison.ts';
import { deriveSteps } from './rule-document.ts';
import { expectedRevision, reload, trimmedName, viewed } from './rule-mutations.ts';
import { testsText, testWarnings } from './rule-tests.ts';
import { parsedOrNull, ruleText } from './rule-view.ts';
import { crossWarnings, storedTopology } from './rule-warnings.ts';
import type { RuleRevision } from './store/revision-store.ts';
import type { NewRule } from './store/rule-store.ts';
import type { RuleRow } from './store/rule-table.ts';

const defaultLimit = 20;

export function revisionCapabilities(parts: AutomationParts): HandledCapability[] {
  return [
    { descriptor: revisions.list, resource: ruleResource, handler: (context) => list(parts, context) },
    { descriptor: revisions.get, resource: ruleResource, handler: (context) => read(parts, context) },
    { descriptor: revisions.difference, resource: ruleResource, handler: (context) => difference(parts, context) },
    { descriptor: revisions.draftDifference, resource: ruleResource, handler: (context) => ofDraft(parts, context) },
    { descriptor: revisions.restore, resource: ruleResource, handler: (context) => restore(parts, context) },
    { descriptor: revisions.duplicate, resource: ruleResource, handler: (context) => duplicate(parts, context) },
  ];
}

async function list(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const limit = Number(context.query['limit'] ?? defaultLimit);
  const before = context.query['before'];
  // One more than requested, to know whether a further page exists.
  const found = await parts.revisions.page(id, before === undefined ? undefined : Number(before), limit + 1);
  // A page before the first revision is empty; a rule without any never existed.
  if (found.length === 0) await revisionOf(parts, id);
  const page = found.slice(0, limit);
  const next = found.length > limit ? (page.at(-1)?.revision ?? null) : null;
  return { data: succeeded({ rule_id: id, list: page, next_before: next }) };
}

async function read(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const { head, row } = await revisionOf(parts, id, Number(context.params['revision']));
  return successText(`{"rule_id":${id},${JSON.stringify(head).slice(1, -1)},"document":${ruleText(row)}}`);
}

async function revisionOf({ revisions: kept }: AutomationParts, id: number, revision?: number): Promise<RuleRevision> {
  const found = await kept.get(id, revision);
  if (found === null)
    throw new Fault(
      'not-found',
      revision === undefined ? `rule ${id} not found` : `rule ${id} has no revision ${revision}`,
    );
  return found;
}

async function difference(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const { from, to } = context.query;
  const before = await revisionOf(parts, id, Number(from));
  const after = await revisionOf(parts, id, to === undefined ? undefined : Number(to));
  return { data: succeeded(await compared(parts, before.row, after.row)) };
}

/** A draft against a revision, or against the stored rule. Members that the draft omits are taken from it. */
async function ofDraft(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const { from, flow_json, trigger_config, tests, ...settings } = context.body as Static<
    typeof revisions.draftDifference.body
  >;
  const { row } = await revisionOf(parts, id, from);
  const derived = await inTurns(
    parts.clock,
    deriveSteps({ flow_json, trigger_config }, parts.catalogue(), parts.flowLimits),
  );
  const draft: RuleRow = {
    ...row,
    ...settings,
    ...derived.flow,
    ...derived.trigger,
    ...(tests === undefined ? {} : { tests: testsText(tests) }),
  };
  return { data: succeeded(await compared(parts, row, draft)) };
}

/** `enabled` is not restored: a running rule continues with the old content. */
async function restore(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const { revision, expected_revision, reason } = context.body as Static<typeof revisions.restore.body>;
  const expected = expectedRevision(context.ifMatch, expected_revision);
  const { row } = await revisionOf(parts, id, revision);
  const { content, warnings } = await checkedContent(parts, row);
  const tested = await testWarnings(parts, { ...row, ...content.flow });
  const act = { ...actOf(context, revisions.restore, reason), restoredFrom: revision };
  const { before, after } = await parts.store.restore(id, content, act, expected);
  const failure = await reload(parts, id);
  const across = await crossWarnings(parts, after, await storedTopology(parts, after), failure);
  return {
    data: succeeded({
      id,
      status: 'restored',
      revision: after.revision,
      enabled: after.enabled,
      warnings: [...nowLive(before, after), ...warnings, ...tested, ...across],
    }),
    headers: { etag: etag(after.revision) },
    auditDetails: {
      before: before === null ? null : await viewed(parts, before),
      after: await viewed(parts, after),
      restored_from: revision,
    },
  };
}

/** The mode is restored too. */
function nowLive(before: RuleRow | null, { enabled, mode }: RuleRow): Issue[] {
  if (!enabled || before?.mode !== 'shadow' || mode !== 'live') return [];
  const message = 'the rule ran in shadow; the restored revision is live, and commands from now on';
  return [{ code: 'now-live', message, path: '/revision', hint: 'enable the rule in shadow to try it first' }];
}

async function duplicate(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { name, reason } = context.body as Static<typeof revisions.duplicate.body>;
  const original = await parts.store.get(ruleIdParameter(context));
  if (original === null) throw new Fault('not-found', `rule ${context.params['id'] ?? ''} not found`);
  const { content } = await checkedContent(parts, original);
  const { key: _, ...others } = content;
  const copy = { ...others, name: trimmedName(name), mode: 'live' } as const;
  const row = await parts.store.create(copy, actOf(context, revisions.duplicate, reason));
  await reload(parts, row.id);
  return {
    data: succeeded({ id: row.id, name: row.name, status: 'created' }),
    headers: { etag: etag(row.revision) },
    auditDetails: { before: null, after: await viewed(parts, row), duplicate_of: original.id },
    resourceId: `automation-rule:${row.id}`,
  };
}

/**
 * The columns of a revision, to be stored again: documents byte for byte, the topology derived again. Throws `invalid-flow` or
 * `invalid-trigger` if the current site does not have the points that they name.
 */
async function checkedContent(parts: AutomationParts, row: RuleRow) {
  const { name, key, description, mode, priority, cooldown_ms, trigger_config, flow_json, nodes_json, tests } = row;
  const compact = flow_json === null;
  const isStub = nodes_json === emptyTopologyText;
  const document = {
    ...(trigger_config === null ? {} : { trigger_config: parsedOrNull(trigger_config) }),
    ...(isStub ? {} : compact ? { nodes_json: parsedOrNull(nodes_json) } : { flow_json: parsedOrNull(flow_json) }),
  };
  const derived = await inTurns(parts.clock, deriveSteps(document, parts.catalogue(), parts.flowLimits));
  const content: NewRule = {
    name,
    ...(key === null ? {} : { key }),
    description,
    mode,
    priority,
    cooldown_ms,
    trigger_config,
    flow: { flow_json, nodes_json: derived.flow?.nodes_json ?? nodes_json },
    tests,
  };
  return { content, warnings: derived.warnings };
}
