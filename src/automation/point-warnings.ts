/** Warnings about the points that a rule uses [rules §4.5]: pure, from its flow, its trigger and the facts of the site. */
import { minuteMs } from '../base/timestamp.ts';
import type { Issue } from '../rules/issues.ts';
import type { NodeParts } from '../rules/node/parts.ts';
import { pointUse, type Threshold } from '../rules/point-use.ts';
import type { Topology } from '../rules/topology.ts';
import { type Trigger, triggerKind } from '../rules/trigger/index.ts';
import type { PointFacts, PointRef, SiteCatalogue } from '../site/catalogue.ts';
import { writesOf } from './rule-document.ts';

/** What lies between two runs of a rule, whatever its trigger. */
interface Pause {
  readonly cooldownMs: number;
  readonly tickMs: number;
}

export function pointWarnings(
  topology: Topology,
  trigger: Trigger | null,
  pause: Pause,
  catalogue: SiteCatalogue,
): Issue[] {
  return [
    ...selfTriggerWarnings(topology, trigger),
    ...textPointWarnings(topology, trigger, catalogue),
    ...rangeWarnings(topology, catalogue),
    ...paceWarnings(topology, trigger, pause, catalogue),
  ];
}

/** A rule that its own write can trigger runs repeatedly [rules §4.5]. */
function selfTriggerWarnings(topology: Topology, trigger: Trigger | null): Issue[] {
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
function paceWarnings(
  topology: Topology,
  trigger: Trigger | null,
  { cooldownMs, tickMs }: Pause,
  catalogue: SiteCatalogue,
): Issue[] {
  if (trigger === null) return [];
  const kind = triggerKind(trigger.type);
  const periodMs = Math.max(kind.gateMs(trigger), cooldownMs, tickMs);
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

/** A comparison with a value outside the range of its point: readings outside it are unusable, so the result never changes [rules §4.5]. */
function rangeWarnings(topology: Topology, catalogue: SiteCatalogue): Issue[] {
  const nodes: NodeParts[] = [...topology.nodes.values()];
  const read = new Set(nodes.flatMap(({ variables = [] }) => variables.flatMap((ref) => catalogue.point(ref) ?? [])));
  return [...read].flatMap((point) => {
    const { point_type, name, instance, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = point;
    // The range of an action point limits writes, not readings.
    if (point_type === 'action') return [];
    const { thresholds } = pointUse(topology, point, catalogue);
    return thresholds
      .filter(({ value }) => value < min || value > max)
      .map(({ node_id, name: place, operator, value }) => ({
        code: 'comparison-outside-range',
        message: `'${place}' compares ${name} of instance ${instance} with ${value}, outside its range ${point.min ?? ''}..${point.max ?? ''}: ${operator} is ${isTrueBeyond(operator, value > max) ? 'always' : 'never'} true`,
        path: '/flow_json',
        node_id,
        hint: 'compare with a value in the unit of the point, or correct its range in site.yaml',
      }));
  });
}

/** The result of a comparison of a reading with a value above, or else below, all readings. */
function isTrueBeyond(operator: Threshold['operator'], isAbove: boolean): boolean {
  return operator === '!=' || operator.startsWith(isAbove ? '<' : '>');
}

/** A point that holds text has no usable value: a run that reads it is skipped, and its changes trigger nothing [rules §4.5]. */
function textPointWarnings(topology: Topology, trigger: Trigger | null, catalogue: SiteCatalogue): Issue[] {
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
