/**
 * The one function through which a flow or a trigger enters the store [rules §1.3]: a PUT,
 * an import of an editor document and an import of a compact-only rule all derive their columns here.
 */
import { Fault } from '../base/fault.ts';
import { atOnce, type Steps } from '../base/turns.ts';
import { reachableFrom } from '../rules/graph.ts';
import type { Issue } from '../rules/issues.ts';
import { type FlowLimits, storedFlowLimits } from '../rules/limits.ts';
import type { Write } from '../rules/node/parts.ts';
import { parseFlowSteps, parseTopologySteps } from '../rules/parse.ts';
import { emptyTopologyText, serialiseTopology } from '../rules/serialise.ts';
import type { Topology } from '../rules/topology.ts';
import type { Trigger } from '../rules/trigger/index.ts';
import { parseTrigger } from '../rules/trigger/parse.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';

/** The submitted members; an absent member leaves its column unchanged. */
export interface RuleDocument {
  readonly flow_json?: unknown;
  /** A compact-only rule's topology; never together with `flow_json`. */
  readonly nodes_json?: unknown;
  /** Null clears the trigger. */
  readonly trigger_config?: unknown;
}

/** Texts of the columns that change: the two flow columns always together. */
export interface DerivedColumns {
  readonly flow?: { readonly flow_json: string | null; readonly nodes_json: string; readonly topology: Topology };
  readonly trigger?: { readonly trigger_config: string | null; readonly trigger: Trigger | null };
  readonly warnings: readonly Issue[];
}

/** Derives the columns, or throws a Fault `invalid-flow` or `invalid-trigger` that carries every issue of both. */
export function deriveColumns(document: RuleDocument, catalogue: SiteCatalogue, limits?: FlowLimits): DerivedColumns {
  return atOnce(deriveSteps(document, catalogue, limits));
}

/** As `deriveColumns`, one step per node. */
export function* deriveSteps(
  document: RuleDocument,
  catalogue: SiteCatalogue,
  limits?: FlowLimits,
): Steps<DerivedColumns> {
  const flow = yield* deriveFlow(document, catalogue, limits);
  const trigger = deriveTrigger(document, catalogue);
  const issues = [...flow.issues, ...trigger.issues];
  if (issues.length > 0) {
    const code = flow.issues.length > 0 ? 'invalid-flow' : 'invalid-trigger';
    const what = code === 'invalid-flow' ? 'the flow' : 'the trigger';
    throw new Fault(code, `${what} cannot be stored: ${issues[0]?.message ?? 'it is not valid'}`, {
      details: { issues },
    });
  }
  return {
    ...(flow.columns === undefined ? {} : { flow: flow.columns }),
    ...(trigger.columns === undefined ? {} : { trigger: trigger.columns }),
    warnings: flow.warnings,
  };
}

interface Part<T> {
  readonly columns?: T;
  readonly issues: readonly Issue[];
  readonly warnings: readonly Issue[];
}

function* deriveFlow(
  document: RuleDocument,
  catalogue: SiteCatalogue,
  limits: FlowLimits | undefined,
): Steps<Part<NonNullable<DerivedColumns['flow']>>> {
  const compact = document.flow_json === undefined;
  const submitted = compact ? document.nodes_json : document.flow_json;
  if (submitted === undefined) return { issues: [], warnings: [] };
  const parsed = yield* compact
    ? parseTopologySteps(submitted, catalogue, limits)
    : parseFlowSteps(submitted, catalogue, limits);
  const member = compact ? '/nodes_json' : '/flow_json';
  if (!parsed.ok) return { issues: parsed.issues.map((issue) => below(member, issue)), warnings: [] };
  yield;
  const flowJson = compact ? null : JSON.stringify(submitted);
  yield;
  return {
    columns: {
      flow_json: flowJson,
      nodes_json: serialiseTopology(parsed.topology),
      topology: parsed.topology,
    },
    issues: [],
    warnings: parsed.warnings.map((issue) => below(member, issue)),
  };
}

function deriveTrigger(document: RuleDocument, catalogue: SiteCatalogue): Part<NonNullable<DerivedColumns['trigger']>> {
  if (document.trigger_config === undefined) return { issues: [], warnings: [] };
  if (document.trigger_config === null)
    return { columns: { trigger_config: null, trigger: null }, issues: [], warnings: [] };
  const parsed = parseTrigger(document.trigger_config, catalogue);
  if (!parsed.ok) return { issues: parsed.issues.map((issue) => below('/trigger_config', issue)), warnings: [] };
  return {
    columns: { trigger_config: JSON.stringify(parsed.trigger), trigger: parsed.trigger },
    issues: [],
    warnings: [],
  };
}

/** Paths point into the request body, whose member the document is. */
function below(member: string, issue: Issue): Issue {
  return { ...issue, path: `${member}${issue.path}` };
}

/** Every write that a run can reach, in topological order, with its node. */
export function writesOf({ start_node, nodes }: Topology): { readonly nodeId: string; readonly write: Write }[] {
  const reachable = reachableFrom(start_node, new Map([...nodes].map(([id, node]) => [id, { node }])));
  return [...nodes].flatMap(([nodeId, node]) =>
    reachable.has(nodeId) && 'writes' in node && node.writes !== undefined
      ? node.writes.map((write) => ({ nodeId, write }))
      : [],
  );
}

/** The topology of a stored row; null for a stub and for a row that is no longer valid. */
export function topologyOf(nodesJson: string, catalogue: SiteCatalogue): Topology | null {
  return atOnce(topologySteps(nodesJson, catalogue));
}

/** As `topologyOf`, one step per node. */
export function* topologySteps(nodesJson: string, catalogue: SiteCatalogue): Steps<Topology | null> {
  const value = parsedJson(nodesJson);
  if (value === undefined || nodesJson === emptyTopologyText) return null;
  const parsed = yield* parseTopologySteps(value, catalogue, storedFlowLimits);
  return parsed.ok ? parsed.topology : null;
}

/** The trigger of a stored row; null if it has none or the trigger is no longer valid. */
export function triggerOf(triggerConfig: string | null, catalogue: SiteCatalogue): Trigger | null {
  if (triggerConfig === null) return null;
  const parsed = parseTrigger(parsedJson(triggerConfig), catalogue);
  return parsed.ok ? parsed.trigger : null;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
