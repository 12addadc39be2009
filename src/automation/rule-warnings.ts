/** Warnings about a stored rule [rules §4.5]: problems that depend on its trigger or on other rules. */
import { Fault } from '../base/fault.ts';
import { inTurns } from '../base/turns.ts';
import type { Issue } from '../rules/issues.ts';
import type { Topology } from '../rules/topology.ts';
import { type PointFacts, pointRefOf, type SiteCatalogue } from '../site/catalogue.ts';
import type { AutomationParts } from './automation-parts.ts';
import type { RuleFailureCode } from './engine-contract.ts';
import { pointWarnings } from './point-warnings.ts';
import { topologySteps, triggerOf, writesOf } from './rule-document.ts';
import type { RuleRow } from './store/rule-table.ts';

export function storedTopology(parts: AutomationParts, row: RuleRow): Promise<Topology | null> {
  return inTurns(parts.clock, topologySteps(row.nodes_json, parts.catalogue()));
}

export async function enableWarnings(
  parts: AutomationParts,
  row: RuleRow,
  failure: RuleFailureCode | null,
): Promise<Issue[]> {
  const topology = await storedTopology(parts, row);
  if (topology === null)
    return [{ code: 'no-runnable-flow', message: 'the rule has no flow that can run', path: '/flow_json' }];
  return crossWarnings(parts, row, topology, failure);
}

/** A rule that is valid here, and that the engine cannot run all the same: the engine may be in a process with another site file. */
function failureWarnings(failure: RuleFailureCode | null): Issue[] {
  if (failure !== 'invalid-flow' && failure !== 'invalid-trigger') return [];
  const [what, path] = failure === 'invalid-flow' ? ['flow', '/flow_json'] : ['trigger', '/trigger_config'];
  return [
    {
      code: failure,
      message: `the rule does not run: its ${what} needs something that the engine does not have, such as a point`,
      path,
      hint: 'add it to site.yaml of the process that controls the site and reload the site, or change the rule',
    },
  ];
}

/**
 * Computed after the reload, which may have failed: of two rules that change at the same time, the one that was stored later then sees
 * the other.
 */
export async function crossWarnings(
  parts: AutomationParts,
  row: RuleRow,
  topology: Topology | null,
  failure: RuleFailureCode | null,
): Promise<Issue[]> {
  if (topology === null) return [];
  const catalogue = parts.catalogue();
  const trigger = triggerOf(row.trigger_config, catalogue);
  const pause = { cooldownMs: row.cooldown_ms, tickMs: parts.tickIntervalMs };
  const own = [...failureWarnings(failure), ...pointWarnings(topology, trigger, pause, catalogue)];
  if (!row.enabled || row.mode === 'shadow') return own;
  try {
    const shared = await sharedPointWarnings(parts, row, topology, catalogue);
    return [...own, ...shared, ...(await writeCycleWarnings(parts, row.id))];
  } catch (error) {
    // A failure to compute warnings does not undo the change.
    if (!(error instanceof Fault)) throw error;
    return own;
  }
}

/** Rules that trigger each other run as often as `event_min_interval_ms` allows [rules §4.5]. */
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
  const nodeOf = new Map<PointFacts, string>();
  for (const { nodeId, write } of writesOf(topology)) {
    const facts = catalogue.point(write);
    if (facts !== undefined && !nodeOf.has(facts)) nodeOf.set(facts, nodeId);
  }
  const writers = await parts.engine.ask('writers', { points: [...nodeOf.keys()].map(pointRefOf) });
  const others = writers.filter((writer) => writer.rule_id !== row.id);
  const names =
    others.length === 0 ? new Map<number, string>() : await parts.store.names(others.map(({ rule_id: id }) => id));
  return others.map((writer) => {
    const facts = catalogue.point(writer.point);
    const nodeId = facts === undefined ? undefined : nodeOf.get(facts);
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
