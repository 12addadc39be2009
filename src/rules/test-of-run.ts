/**
 * A past run as a test of its rule [rules §11.3]: its inputs, its moment, and its decision. The plant's response to the writes is
 * not the rule's decision: where a write was limited or refused from outside, the test expects no values.
 */
import type { PointRef } from '../site/catalogue.ts';
import { isFields } from './issues.ts';
import type { NodeParts } from './node/parts.ts';
import type { ExecutionRecord } from './record.ts';
import type { RuleTest } from './rule-test.ts';
import type { Topology } from './topology.ts';

/** The part of a run's record that a test uses. */
interface PastRun {
  readonly started_at: string;
  readonly outcome: ExecutionRecord['outcome'];
  readonly error: { readonly code: string } | null;
  readonly execution_path: readonly string[];
  readonly variable_values: Readonly<Record<string, number | null>>;
  readonly node_details: Readonly<Record<string, unknown>>;
  readonly actions_executed: readonly {
    readonly instance: number;
    readonly point: number;
    readonly written?: number | undefined;
    readonly success: boolean;
    readonly reason?: string | undefined;
  }[];
}

/** Reasons that are in the rule itself: a test has them too. */
const ownReasons: readonly (string | undefined)[] = ['not-finite', 'out-of-range'];

/** `topology` is that of the revision that ran. */
export function testOfRun(run: PastRun, topology: Topology, name: string): RuleTest {
  const { given, parameters } = valuesOf(run, topology);
  return {
    name,
    at: run.started_at,
    given,
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    then: thenOf(run),
  };
}

function valuesOf({ execution_path: path, variable_values: values }: PastRun, topology: Topology) {
  // A name that is declared again has the later value in the record: only what the last one read is known.
  const reads = new Map<string, PointRef>();
  const fromSite = new Map<string, string>();
  for (const id of path) {
    const node: NodeParts | undefined = topology.nodes.get(id);
    for (const { name, ...ref } of node?.variables ?? []) {
      fromSite.delete(name);
      reads.set(name, { instance: ref.instance, point_type: ref.point_type, point: ref.point });
    }
    for (const { name, parameter } of node?.parameters ?? []) {
      reads.delete(name);
      fromSite.set(name, parameter);
    }
    for (const { name } of node?.assignments ?? []) {
      reads.delete(name);
      fromSite.delete(name);
    }
  }
  const given = new Map<string, RuleTest['given'][number]>();
  for (const [name, ref] of reads) {
    const value = values[name];
    if (value !== undefined) given.set(`${ref.instance}:${ref.point_type}:${ref.point}`, { ...ref, value });
  }
  const parameters = [...fromSite].flatMap(([name, parameter]) => {
    const value = values[name];
    return typeof value === 'number' ? [[parameter, value] as const] : [];
  });
  return { given: [...given.values()], parameters: Object.fromEntries(parameters) };
}

function thenOf(run: PastRun): RuleTest['then'] {
  const { actions_executed: actions, outcome, error } = run;
  const refused = actions.filter(({ success }) => !success);
  const isFromOutside = actions.some(
    ({ success, reason }) => (!success && !ownReasons.includes(reason)) || reason === 'limited',
  );
  const wouldAct = error?.code === 'action-failed' && !refused.some(({ reason }) => ownReasons.includes(reason));
  const writes = new Map(
    actions.flatMap(({ instance, point, written }) =>
      written === undefined ? [] : [[`${instance}:${point}`, { instance, point, value: written }]],
    ),
  );
  const output = lastOutput(run);
  return {
    outcome: outcome === 'failed' && wouldAct ? 'acted' : outcome,
    ...(isFromOutside ? {} : { writes: [...writes.values()] }),
    ...(output === null ? {} : { output }),
  };
}

function lastOutput({ execution_path: path, node_details: details }: PastRun): RuleTest['then']['output'] | null {
  for (const id of path.toReversed()) {
    const node = details[id];
    if (isFields(node) && typeof node['output'] === 'string') return { node_id: id, name: node['output'] };
  }
  return null;
}
