/**
 * The rule mutations [rules §1.2], [rules §2.3]: store first, then reload. A failed reload does not undo the stored change: the
 * engine is restarted with the stored rules. Bodies are cast, not validated: the pipeline decoded them.
 */
import type { Static } from 'typebox';
import { automation } from '../api/automation.ts';
import {
  characters,
  type createBody,
  type enableBody,
  type optionalRuleChangeBody,
  type updateBody,
} from '../api/automation-schemas.ts';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { nameMax } from '../api/rule-limits.ts';
import { Fault } from '../base/fault.ts';
import { inTurns, nextTurn } from '../base/turns.ts';
import {
  type AutomationParts,
  actOf,
  etag,
  notLoaded,
  orLater,
  ruleIdParameter,
  ruleResource,
  succeeded,
} from './automation-parts.ts';
import type { RuleFailureCode } from './engine-contract.ts';
import { deriveSteps } from './rule-document.ts';
import { testsText, testWarnings } from './rule-tests.ts';
import { ruleView, ruleViewSteps } from './rule-view.ts';
import { crossWarnings, enableWarnings, storedTopology } from './rule-warnings.ts';
import type { RuleAct } from './store/revision-store.ts';
import type { RuleChanges } from './store/rule-store.ts';
import type { RuleRow } from './store/rule-table.ts';

export function createRuleMutations(parts: AutomationParts): HandledCapability[] {
  const { store } = parts;
  return [
    {
      descriptor: automation.create,
      resource: ruleResource,
      async handler(context) {
        const { name, key, description, reason } = context.body as Static<typeof createBody>;
        const rule = {
          name: trimmedName(name),
          ...(key === undefined ? {} : { key }),
          description: description ?? null,
        };
        const row = await store.create(rule, actOf(context, automation.create, reason));
        await reload(parts, row.id);
        return {
          data: succeeded({ id: row.id, name: row.name, status: 'created' }),
          headers: { etag: etag(row.revision) },
          auditDetails: { before: null, after: ruleView(row) },
          resourceId: `automation-rule:${row.id}`,
        };
      },
    },
    {
      descriptor: automation.update,
      resource: ruleResource,
      handler: (context) => update(parts, context),
    },
    {
      descriptor: automation.remove,
      resource: ruleResource,
      async handler(context) {
        const act = actOf(context, automation.remove, reasonOf(context));
        const before = await store.remove(ruleIdParameter(context), act, expectedRevision(context.ifMatch, undefined));
        await reload(parts, before.id);
        return {
          data: succeeded({ id: before.id, status: 'deleted' }),
          auditDetails: { before: ruleView(before), after: null },
        };
      },
    },
    { descriptor: automation.enable, resource: ruleResource, handler: (context) => enable(parts, context) },
    { descriptor: automation.disable, resource: ruleResource, handler: (context) => disable(parts, context) },
    { descriptor: automation.promote, resource: ruleResource, handler: (context) => promote(parts, context) },
    { descriptor: automation.execute, resource: ruleResource, handler: (context) => execute(parts, context) },
  ];
}

async function enable(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { mode = 'live', reason } = context.body as Static<typeof enableBody>;
  const act = actOf(context, automation.enable, reason);
  const row = await parts.store.get(ruleIdParameter(context));
  if (row !== null && parts.requireTests) await testWarnings(parts, row);
  return switched(parts, context, { enabled: true, mode }, act, 'enabled');
}

function disable(parts: AutomationParts, context: CallContext): Promise<Answer> {
  return switched(
    parts,
    context,
    { enabled: false },
    actOf(context, automation.disable, reasonOf(context)),
    'disabled',
  );
}

/** A shadow rule commands from its next run on; its memory and its cooldown continue [rules §1.6]. */
async function promote(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const row = await parts.store.get(id);
  if (row?.mode === 'live') throw new Fault('invalid-input', `rule ${id} is live already`);
  return switched(parts, context, { mode: 'live' }, actOf(context, automation.promote, reasonOf(context)), 'promoted');
}

async function switched(
  parts: AutomationParts,
  context: CallContext,
  changes: Pick<RuleChanges, 'enabled' | 'mode'>,
  act: RuleAct,
  status: 'enabled' | 'disabled' | 'promoted',
): Promise<Answer> {
  const expected = expectedRevision(context.ifMatch, undefined);
  const { before, after } = await parts.store.update(ruleIdParameter(context), changes, act, expected);
  const failure = await reload(parts, after.id);
  const warnings = after.enabled ? await enableWarnings(parts, after, failure) : [];
  const stateOf = ({ enabled, mode }: RuleRow) => ({ enabled, mode });
  return {
    data: succeeded({ id: after.id, status, ...(warnings.length > 0 ? { warnings } : {}) }),
    headers: { etag: etag(after.revision) },
    auditDetails: { before: stateOf(before), after: stateOf(after) },
  };
}

/** For an operation with few members in its body, which may be absent. */
function reasonOf({ body }: CallContext): string | undefined {
  return (body as Static<typeof optionalRuleChangeBody>)?.reason;
}

/** Why the engine cannot run the rule; null if it can, if the rule is disabled, or if the engine did not answer. */
export async function reload({ engine, log }: AutomationParts, ruleId: number): Promise<RuleFailureCode | null> {
  const report = await orLater(log, engine.reload(undefined, [ruleId]));
  return report?.rules_failed.find(({ id }) => id === ruleId)?.code ?? null;
}

export function trimmedName(text: string): string {
  const name = text.trim();
  if (name === '' || characters(name) > nameMax)
    throw new Fault('invalid-input', `body /name: must have 1 to ${nameMax} characters after trimming`);
  return name;
}

const changeableMembers = [
  'name',
  'key',
  'description',
  'priority',
  'cooldown_ms',
  'trigger_config',
  'flow_json',
  'tests',
] as const;

async function update(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { store } = parts;
  const id = ruleIdParameter(context);
  const { expected_revision, reason, confirmed: _, ...members } = context.body as Static<typeof updateBody>;
  const { name, key, description, priority, cooldown_ms, trigger_config, flow_json, tests } = members;
  const expected = expectedRevision(context.ifMatch, expected_revision);
  if (Object.keys(members).length === 0)
    throw new Fault('invalid-input', `body: must have at least one of ${changeableMembers.join(', ')}`);
  const catalogue = parts.catalogue();
  const existing = await store.get(id);
  if (existing === null) throw new Fault('not-found', `rule ${id} not found`);

  const steps = deriveSteps({ flow_json, trigger_config }, catalogue, parts.flowLimits);
  const derived = await inTurns(parts.clock, steps);
  const changes: RuleChanges = {
    ...(name === undefined ? {} : { name: trimmedName(name) }),
    ...(key === undefined ? {} : { key }),
    ...(description === undefined ? {} : { description }),
    ...(priority === undefined ? {} : { priority }),
    ...(cooldown_ms === undefined ? {} : { cooldown_ms }),
    ...(derived.trigger === undefined ? {} : { trigger_config: derived.trigger.trigger_config }),
    ...(derived.flow === undefined
      ? {}
      : { flow: { flow_json: derived.flow.flow_json, nodes_json: derived.flow.nodes_json } }),
    ...(tests === undefined ? {} : { tests: testsText(tests) }),
  };
  const tested = await testWarnings(parts, { ...existing, ...changes, ...changes.flow });
  // The rules that were tested together are stored together.
  const unmoved = parts.requireTests ? (expected ?? existing.revision) : expected;
  const { before, after } = await store.update(id, changes, actOf(context, automation.update, reason), unmoved);
  const failure = await reload(parts, id);
  const topology = derived.flow?.topology ?? (await storedTopology(parts, after));
  const warnings = [...derived.warnings, ...tested, ...(await crossWarnings(parts, after, topology, failure))];
  return {
    data: succeeded({ id, status: 'updated', warnings }),
    headers: { etag: etag(after.revision) },
    auditDetails: { before: await viewed(parts, before), after: await viewed(parts, after) },
  };
}

/** Starts in a turn of its own, because earlier work may have used up the current one. */
export async function viewed({ clock }: AutomationParts, row: RuleRow): Promise<ReturnType<typeof ruleView>> {
  await nextTurn(clock);
  return inTurns(clock, ruleViewSteps(row));
}

/** From `If-Match`, the body, or neither. The two must not contradict each other. */
export function expectedRevision(ifMatch: string | undefined, inBody: number | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch === '*') return inBody;
  if (!/^[1-9][0-9]{0,15}$/.test(ifMatch))
    throw new Fault('invalid-input', 'if-match: must be one revision in double quotes');
  const inHeader = Number(ifMatch);
  if (inBody !== undefined && inBody !== inHeader)
    throw new Fault('invalid-input', 'if-match and expected_revision name different revisions');
  return inHeader;
}

/** Copies the call's correlation id into the record [platform §2.2]. */
async function execute(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const row = await parts.store.get(id);
  if (row === null) throw new Fault('not-found', `rule ${id} not found`);
  const execution = await parts.engine.execute(id, context.correlationId).catch(async (error: unknown) => {
    // Stored, but unknown to the engine: imported by another process [rules §9].
    const waits = error instanceof Fault && error.code === 'not-found' && (await parts.store.get(id)) !== null;
    if (error instanceof Fault && error.code === 'engine-unavailable')
      context.audit.note({ order: error.details?.['order'] ?? 'not-answered' });
    throw waits ? notLoaded(id) : error;
  });
  const attempted = execution.actions_executed.length;
  const actionsSucceeded = execution.actions_executed.filter((action) => action.success).length;
  const summary = {
    rule_id: id,
    outcome: execution.outcome,
    actions_attempted: attempted,
    actions_succeeded: actionsSucceeded,
  };
  return {
    data: succeeded({ ...summary, execution }),
    auditDetails: { ...summary, execution_id: execution.execution_id, revision: execution.rule_revision },
  };
}
