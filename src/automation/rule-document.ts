/**
 * The one function through which a flow or a trigger enters the store [rules §1.3]: a PUT,
 * an import of an editor document and an import of a compact-only rule all derive their columns here.
 */
import { Fault } from '../base/fault.ts';
import { minuteMs } from '../base/timestamp.ts';
import { atOnce, type Steps } from '../base/turns.ts';
import { reachableFrom } from '../rules/graph.ts';
import type { Issue } from '../rules/issues.ts';
import { type FlowLimits, storedFlowLimits } from '../rules/limits.ts';
import type { NodeParts, Write } from '../rules/node/parts.ts';
import { parseFlowSteps, parseTopologySteps } from '../rules/parse.ts';
import { emptyTopologyText, serialiseTopology } from '../rules/serialise.ts';
import type { Topology } from '../rules/topology.ts';
import { type Trigger, triggerKind } from '../rules/trigger/index.ts';
import { parseTrigger } from '../rules/trigger/parse.ts';
import type { PointFacts, PointRef, SiteCatalogue } from '../site/catalogue.ts';

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

/** A rule that its own write can trigger runs repeatedly [rules §4.5]. */
export function selfTriggerWarnings(topology: Topology, trigger: Trigger | null): Issue[] {
  const refs = trigger === null ? [] : triggerKind(trigger.type).points(trigger);
  return writesOf(topology).flatMap(({ nodeId, write }) => {
    const index = refs.findIndex(
      (ref) => ref.instance === write.instance && ref.point_type === write.point_type && ref.point === write.point,
    );
    if (index < 0) return [];
    return [
      {
        code: 'subscribed-to-own-write',
        message: `the rule is triggered by point ${write.instance}:${write.point_type}:${write.point}, which it writes`,
        path: `/trigger_config/point_refs/${index}`,
        node_id: nodeId,
        hint: 'subscribe to the measurement that decides, or set a deadband',
      },
    ];
  });
}

/**
 * A point that takes its safe value between two writes of the rule, or takes fewer writes than the rule may send [rules §4.5]. One warning
 * a point and reason, at its first write.
 */
export function paceWarnings(
  topology: Topology,
  trigger: Trigger | null,
  cooldownMs: number,
  catalogue: SiteCatalogue,
): Issue[] {
  if (trigger === null) return [];
  const kind = triggerKind(trigger.type);
  const periodMs = Math.max(kind.gateMs(trigger), cooldownMs);
  const pace = kind.onEvents ? 'only when a value has changed' : `no more often than every ${periodMs / 1000} s`;
  const seen = new Set<PointFacts>();
  return writesOf(topology).flatMap(({ nodeId, write }) => {
    const facts = catalogue.point(write);
    if (facts === undefined || seen.has(facts)) return [];
    seen.add(facts);
    const { name, instance, holdMaxMs, maxWritesPerMinute } = facts;
    const place = { path: '/flow_json', node_id: nodeId };
    const issues: Issue[] = [];
    if (holdMaxMs !== undefined && (kind.onEvents || periodMs >= holdMaxMs))
      issues.push({
        code: 'safe-value-between-writes',
        message: `the rule writes ${name} of instance ${instance} ${pace}, and the point takes its safe value ${holdMaxMs / 1000} s after a write`,
        ...place,
        hint: 'run the rule at an interval shorter than hold_max_ms of the point, or raise that in site.yaml',
      });
    if (maxWritesPerMinute !== undefined && !kind.onEvents && minuteMs / periodMs > maxWritesPerMinute)
      issues.push({
        code: 'more-writes-than-taken',
        message: `the rule may write ${name} of instance ${instance} ${Math.floor(minuteMs / periodMs)} times a minute, and the point takes ${maxWritesPerMinute}`,
        ...place,
        hint: 'run the rule less often, give it a cooldown, or raise max_writes_per_minute of the point in site.yaml',
      });
    return issues;
  });
}

/** A point that holds text has no usable value: a run that reads it is skipped, and its changes trigger nothing [rules §4.5]. */
export function textPointWarnings(topology: Topology, trigger: Trigger | null, catalogue: SiteCatalogue): Issue[] {
  const isText = (ref: PointRef): boolean => catalogue.point(ref)?.isText === true;
  const issue = (ref: PointRef, what: string): Omit<Issue, 'path'> => ({
    code: 'text-point',
    message: `the rule ${what} point ${ref.instance}:${ref.point_type}:${ref.point}, which holds text and has no number`,
    hint: 'use a point that holds a number; over MQTT, `map` in the address turns texts into numbers',
  });
  const refs = trigger === null ? [] : triggerKind(trigger.type).points(trigger);
  const watched = refs.flatMap((ref, index) =>
    isText(ref) ? [{ ...issue(ref, 'is triggered by'), path: `/trigger_config/point_refs/${index}` }] : [],
  );
  const nodes: [string, NodeParts][] = [...topology.nodes];
  const read = nodes.flatMap(([node_id, { variables = [] }]) =>
    variables.filter(isText).map((ref) => ({ ...issue(ref, 'reads'), path: '/flow_json', node_id })),
  );
  return [...watched, ...read];
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
