/**
 * The handlers of area A [rules §2]. Each runs after the pipeline has authenticated, authorized, confirmed,
 * validated and recorded the call; a mutation changes the store first and reloads the engine after.
 */
import { automation } from '../api/automation.ts';
import { type Answer, type CallContext, type HandledCapability, successText } from '../api/capability.ts';
import { pagePosition } from '../api/page.ts';
import { ruleTests } from '../api/rule-tests.ts';
import { Fault } from '../base/fault.ts';
import { inTurns } from '../base/turns.ts';
import { type AutomationParts, etag, notLoaded, ruleIdParameter, ruleResource, succeeded } from './automation-parts.ts';
import { catalogueView } from './catalogue-view.ts';
import { topologySteps } from './rule-document.ts';
import { createRuleMutations } from './rule-mutations.ts';
import { planCapabilities } from './rule-plan.ts';
import { revisionCapabilities } from './rule-revisions.ts';
import { templateCapabilities } from './rule-templates.ts';
import { answerTests } from './rule-tests.ts';
import { variablesOf } from './rule-variables.ts';
import { ruleText } from './rule-view.ts';
import { runPage } from './run-page.ts';
import { readShadowReport } from './shadow-reading.ts';
import type { RuleStore, RuleSummary } from './store/rule-store.ts';
import type { RuleRow } from './store/rule-table.ts';

const defaultPageSize = 20;

export function automationCapabilities(parts: AutomationParts): HandledCapability[] {
  return [
    ...ruleQueries(parts),
    ...createRuleMutations(parts),
    ...revisionCapabilities(parts),
    ...planCapabilities(parts),
    ...templateCapabilities(parts),
    ...schedulerCapabilities(parts),
  ];
}

const schedulerResource = () => ({ kind: 'automation-scheduler', id: 'automation-scheduler' });

async function ruleOf(store: RuleStore, context: CallContext): Promise<RuleRow> {
  const row = await store.get(ruleIdParameter(context));
  if (row === null) throw new Fault('not-found', `rule ${context.params['id'] ?? ''} not found`);
  return row;
}

function ruleQueries(parts: AutomationParts): HandledCapability[] {
  const { store, runs, engine } = parts;
  return [
    { descriptor: automation.list, resource: ruleResource, handler: (context) => list(parts, context) },
    {
      descriptor: automation.get,
      resource: ruleResource,
      async handler(context) {
        const row = await ruleOf(store, context);
        return {
          ...successText(ruleText(row)),
          headers: { etag: etag(row.revision) },
        };
      },
    },
    {
      descriptor: automation.variables,
      resource: ruleResource,
      async handler(context) {
        const row = await ruleOf(store, context);
        return { data: succeeded({ rule_id: row.id, variables: await variables(parts, row) }) };
      },
    },
    {
      descriptor: automation.status,
      resource: ruleResource,
      async handler(context) {
        const row = await ruleOf(store, context);
        const [status] = await engine.ask('explain', { ruleIds: [row.id] });
        // The reload for its creation is in progress, or it was imported by another process.
        if (!status) throw notLoaded(row.id);
        return { data: succeeded(status) };
      },
    },
    {
      descriptor: automation.history,
      resource: ruleResource,
      async handler(context) {
        const row = await ruleOf(store, context);
        await engine.settle(row.id);
        const page = await runPage(runs, row.id, context.query, parts.clock);
        return { data: succeeded({ rule_id: row.id, ...page }) };
      },
    },
    {
      descriptor: ruleTests.run,
      resource: () => ({ kind: 'automation-rule', id: 'automation-rule:tests' }),
      handler: (context) => answerTests(parts, context),
    },
    {
      descriptor: automation.shadowReport,
      resource: ruleResource,
      handler: (context) => readShadowReport(parts, context),
    },
    {
      descriptor: automation.instances,
      resource: () => ({ kind: 'site', id: 'site-catalogue' }),
      handler: async () => ({
        data: succeeded(catalogueView(parts.catalogue(), parts.site(), parts.parameters.current())),
      }),
    },
  ];
}

async function list(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const { query } = context;
  const page = Number(query['page'] ?? 1);
  const pageSize = Number(query['page_size'] ?? defaultPageSize);
  const enabled = query['enabled'] === undefined ? undefined : query['enabled'] === 'true';
  const mode = query['mode'] as RuleRow['mode'] | undefined;
  const { rows, total } = await parts.store.list({ enabled, mode, search: query['search'] }, page, pageSize);
  const statuses = query['include'] === 'status' ? await statusesOf(parts, rows) : undefined;
  const list = rows.map(({ id, name, key, enabled: isEnabled, mode: inMode, description }, index) => {
    const text = JSON.stringify({ id, name, enabled: isEnabled, mode: inMode, description, key });
    return statuses === undefined ? text : `${text.slice(0, -1)},"status":${statuses[index] ?? 'null'}}`;
  });
  return successText(`{"list":[${list.join(',')}],${JSON.stringify(pagePosition(total, page, pageSize)).slice(1)}`);
}

/** The list works without the engine: an unavailable status is null. */
async function statusesOf(parts: AutomationParts, rows: readonly RuleSummary[]): Promise<readonly string[]> {
  try {
    const text = await parts.engine.ask('explainAsText', { ruleIds: rows.map((row) => row.id) });
    return text.split('\n');
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [];
  }
}

async function variables(parts: AutomationParts, row: RuleRow): Promise<readonly unknown[]> {
  const topology = await inTurns(parts.clock, topologySteps(row.nodes_json, parts.catalogue()));
  if (topology === null) return [];
  const snapshot = parts.snapshot();
  if (snapshot === null) throw new Fault('engine-unavailable', 'live values cannot be read now; try again');
  return variablesOf(topology, parts.catalogue(), snapshot);
}

function schedulerCapabilities(parts: AutomationParts): HandledCapability[] {
  const { engine, store } = parts;
  return [
    {
      descriptor: automation.schedulerStatus,
      resource: schedulerResource,
      async handler() {
        const status = await engine.status();
        if (status !== null) return { data: succeeded({ ...status, restarts: engine.restarts() }) };
        const { total } = await store.list({}, 1, 1);
        const enabled = await store.list({ enabled: true }, 1, 1);
        return {
          data: succeeded({
            running: false,
            total_rules: total,
            enabled_rules: enabled.total,
            tick_interval_ms: engine.tickIntervalMs,
            late_ticks: 0,
            overruns: 0,
            queue_depth: 0,
            restarts: engine.restarts(),
          }),
        };
      },
    },
    {
      descriptor: automation.reload,
      resource: schedulerResource,
      handler: () => reload(parts),
    },
  ];
}

async function reload(parts: AutomationParts): Promise<Answer> {
  const otherChanges: string[] = [];
  // On a shared site another process may have given the engine other parameters than this one has.
  const renewed = await parts.parameters.renew(
    (parameters) => parts.engine.reload(parameters),
    async () => {
      const read = await parts.readFile();
      otherChanges.push(...read.otherChanges);
      return read.parameters;
    },
  );
  const { before, after, taken: report } = renewed;
  const warnings = otherChanges.map((message) => ({
    code: 'site-changed',
    message,
    hint: 'a reload of the scheduler applies parameters; run `setpoint site reload --confirmed` for the rest',
  }));
  return {
    data: succeeded(warnings.length === 0 ? report : { ...report, warnings }),
    auditDetails: { before: { parameters: before }, after: { parameters: after }, ...report },
  };
}
