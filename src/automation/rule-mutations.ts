/**
 * The rule mutations [rules §1.2], [rules §2.3]: store first, then reload. A reload that fails does not undo what is stored: the
 * engine is started again with the stored rules. Bodies are cast, not checked: the pipeline decoded them.
 */
import type { Static } from 'typebox';
import { automation } from '../api/automation.ts';
import { characters, type createBody, type updateBody } from '../api/automation-schemas.ts';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { nameMax } from '../api/rule-limits.ts';
import { Fault } from '../base/fault.ts';
import { inTurns, nextTurn } from '../base/turns.ts';
import type { Issue } from '../rules/issues.ts';
import type { Topology } from '../rules/topology.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import { type AutomationParts, etag, notLoaded, ruleIdParameter, ruleResource, succeeded } from './automation-parts.ts';
import { deriveSteps, selfTriggerWarnings, topologySteps, triggerOf, writesOf } from './rule-document.ts';
import { ruleView, ruleViewSteps } from './rule-view.ts';
import type { RuleChanges, RuleRow } from './store/rule-store.ts';

export function createRuleMutations(parts: AutomationParts): HandledCapability[] {
  const { store } = parts;
  const setEnabled = async (context: CallContext, enabled: boolean): Promise<Answer> => {
    const expected = expectedRevision(context.ifMatch, undefined);
    const { before, after } = await store.update(ruleIdParameter(context), { enabled }, expected);
    await reload(parts, after.id);
    const warnings = enabled ? await enableWarnings(parts, after) : [];
    return {
      data: succeeded({
        id: after.id,
        status: enabled ? 'enabled' : 'disabled',
        ...(warnings.length > 0 ? { warnings } : {}),
      }),
      headers: { etag: etag(after.revision) },
      auditDetails: { before: { enabled: before.enabled }, after: { enabled: after.enabled } },
    };
  };

  return [
    {
      descriptor: automation.create,
      resource: ruleResource,
      async handler(context) {
        const { name, description } = context.body as Static<typeof createBody>;
        const row = await store.create(trimmedName(name), description ?? null);
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
        const before = await store.remove(ruleIdParameter(context), expectedRevision(context.ifMatch, undefined));
        await reload(parts, before.id);
        return {
          data: succeeded({ id: before.id, status: 'deleted' }),
          auditDetails: { before: ruleView(before), after: null },
        };
      },
    },
    { descriptor: automation.enable, resource: ruleResource, handler: (context) => setEnabled(context, true) },
    { descriptor: automation.disable, resource: ruleResource, handler: (context) => setEnabled(context, false) },
    { descriptor: automation.execute, resource: ruleResource, handler: (context) => execute(parts, context) },
  ];
}

/** What is stored stays stored: an engine that cannot take it up now is started again with it. */
async function reload({ engine, log }: AutomationParts, ruleId: number): Promise<void> {
  try {
    await engine.reload(undefined, [ruleId]);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    log.warn('a stored change waits for the rule engine', { code: error.code });
  }
}

function trimmedName(text: string): string {
  const name = text.trim();
  if (name === '' || characters(name) > nameMax)
    throw new Fault('invalid-input', `body /name: must have 1 to ${nameMax} characters after trimming`);
  return name;
}

async function update(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { store } = parts;
  const id = ruleIdParameter(context);
  const { name, description, priority, cooldown_ms, trigger_config, flow_json, expected_revision } =
    context.body as Static<typeof updateBody>;
  const expected = expectedRevision(context.ifMatch, expected_revision);
  const members = { name, description, priority, cooldown_ms, trigger_config, flow_json };
  if (Object.values(members).every((member) => member === undefined))
    throw new Fault('invalid-input', `body: must have at least one of ${Object.keys(members).join(', ')}`);
  const catalogue = parts.catalogue();
  const existing = await store.get(id);
  if (existing === null) throw new Fault('not-found', `rule ${id} not found`);

  const steps = deriveSteps({ flow_json, trigger_config }, catalogue, parts.flowLimits);
  const derived = await inTurns(parts.clock, steps);
  const changes: RuleChanges = {
    ...(name === undefined ? {} : { name: trimmedName(name) }),
    ...(description === undefined ? {} : { description }),
    ...(priority === undefined ? {} : { priority }),
    ...(cooldown_ms === undefined ? {} : { cooldown_ms }),
    ...(derived.trigger === undefined ? {} : { trigger_config: derived.trigger.trigger_config }),
    ...(derived.flow === undefined
      ? {}
      : { flow: { flow_json: derived.flow.flow_json, nodes_json: derived.flow.nodes_json } }),
  };
  const { before, after } = await store.update(id, changes, expected);
  await reload(parts, id);
  const topology = derived.flow?.topology ?? (await storedTopology(parts, after));
  const warnings = [...derived.warnings, ...(await crossWarnings(parts, after, topology))];
  return {
    data: succeeded({ id, status: 'updated', warnings }),
    headers: { etag: etag(after.revision) },
    auditDetails: { before: await viewed(parts, before), after: await viewed(parts, after) },
  };
}

/** Beginning in a turn of its own: what came before may have taken one. */
async function viewed({ clock }: AutomationParts, row: RuleRow): Promise<ReturnType<typeof ruleView>> {
  await nextTurn(clock);
  return inTurns(clock, ruleViewSteps(row));
}

/** From `If-Match`, the body, or neither. The two must not contradict each other. */
function expectedRevision(ifMatch: string | undefined, inBody: number | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch === '*') return inBody;
  if (!/^[1-9][0-9]{0,15}$/.test(ifMatch))
    throw new Fault('invalid-input', 'if-match: must be one revision in double quotes');
  const inHeader = Number(ifMatch);
  if (inBody !== undefined && inBody !== inHeader)
    throw new Fault('invalid-input', 'if-match and expected_revision name different revisions');
  return inHeader;
}

function storedTopology(parts: AutomationParts, row: RuleRow): Promise<Topology | null> {
  return inTurns(parts.clock, topologySteps(row.nodes_json, parts.catalogue()));
}

async function enableWarnings(parts: AutomationParts, row: RuleRow): Promise<Issue[]> {
  const topology = await storedTopology(parts, row);
  if (topology === null)
    return [{ code: 'no-runnable-flow', message: 'the rule has no flow that can run', path: '/flow_json' }];
  return crossWarnings(parts, row, topology);
}

/**
 * What only shows beside the rule's trigger and the other rules [rules §4.5]. Asked after the reload: of
 * two rules that change at one moment, the one that was stored later then sees the other.
 */
async function crossWarnings(parts: AutomationParts, row: RuleRow, topology: Topology | null): Promise<Issue[]> {
  if (topology === null) return [];
  const trigger = triggerOf(row.trigger_config, parts.catalogue());
  const own = selfTriggerWarnings(topology, trigger);
  if (!row.enabled) return own;
  try {
    const shared = await sharedPointWarnings(parts, row, topology, parts.catalogue());
    return [...own, ...shared, ...(await writeCycleWarnings(parts, row.id))];
  } catch (error) {
    // A warning that cannot be had does not undo the change it warns about.
    if (!(error instanceof Fault)) throw error;
    return own;
  }
}

/** Rules that start each other run as often as `event_min_interval_ms` allows [rules §4.5]. */
async function writeCycleWarnings(parts: AutomationParts, id: number): Promise<Issue[]> {
  const circle = await parts.engine.ask('writeCycle', { ruleId: id });
  if (circle === null) return [];
  const [, ...others] = circle;
  const way = others.map((other) => `rule ${other}`).join(', which starts ');
  return [
    {
      code: 'write-cycle',
      message: `the rule writes a point that starts ${way}, which starts this rule again`,
      path: '/trigger_config',
      hint: 'trigger one of the rules by an interval, or by the measurement that decides, or set a deadband or a cooldown',
    },
  ];
}

async function sharedPointWarnings(
  parts: AutomationParts,
  row: RuleRow,
  topology: Topology,
  catalogue: SiteCatalogue,
): Promise<Issue[]> {
  const nodeOf = new Map<number, string>();
  for (const { nodeId, write } of writesOf(topology)) {
    const facts = catalogue.point(write);
    if (facts !== undefined && !nodeOf.has(facts.index)) nodeOf.set(facts.index, nodeId);
  }
  const writers = await parts.engine.ask('writers', { points: [...nodeOf.keys()] });
  const others = writers.filter((writer) => writer.rule_id !== row.id);
  const names =
    others.length === 0 ? new Map<number, string>() : await parts.store.names(others.map(({ rule_id: id }) => id));
  return others.map((writer) => {
    const facts = catalogue.points[writer.point];
    const nodeId = nodeOf.get(writer.point);
    const name = names.get(writer.rule_id) ?? String(writer.rule_id);
    const place = facts === undefined ? 'this point' : `${facts.name} of instance ${facts.instance}`;
    return {
      code: 'shared-point',
      message: `the rule "${name}" is enabled and writes ${place} too`,
      path: '/flow_json',
      ...(nodeId === undefined ? {} : { node_id: nodeId }),
      hint:
        facts !== undefined && facts.priorityHoldMs > 0
          ? 'give the two rules different priorities, and priority_hold_ms of the point keeps the lower one off'
          : 'set priority_hold_ms of the point in site.yaml and give the two rules different priorities, or give one a condition that excludes the other',
    };
  });
}

/** The call's correlation id walks into the record [platform §2.2]. */
async function execute(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const row = await parts.store.get(id);
  if (row === null) throw new Fault('not-found', `rule ${id} not found`);
  const execution = await parts.engine.execute(id, context.correlationId).catch(async (error: unknown) => {
    // Not known to the engine, but stored: imported beside the service [rules §9].
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
