/** The only path of a flow or trigger into the store [rules §1.3]. */
import { describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import type { Issue } from '../rules/issues.ts';
import { flowLimits } from '../rules/limits.ts';
import type { Topology } from '../rules/topology.ts';
import type { Trigger } from '../rules/trigger/index.ts';
import type { PointFacts, PointRef } from '../site/catalogue.ts';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import {
  deriveColumns,
  paceWarnings,
  selfTriggerWarnings,
  textPointWarnings,
  topologyOf,
  triggerOf,
  writesOf,
} from './rule-document.ts';

const catalogue = testCatalogue();
const action = (id: string, point: number, more: object = {}, next = 'end') =>
  editorNode(id, 'action', { writes: [{ instance: 1, point, value: 1, ...more }], wires: { default: [next] } });
const flow = flowDocument('in', [inputNode(['a'], ['x']), action('a', 1)]);
const interval = { type: 'interval', interval_ms: 1000 };

function refusal(...args: Parameters<typeof deriveColumns>): { code: string; message: string; issues: Issue[] } {
  try {
    deriveColumns(...args);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, message: error.message, issues: (error.details as { issues: Issue[] }).issues };
  }
  throw new Error('the document was accepted');
}

describe('[rules §1.3] both columns of a flow are derived from one document', () => {
  test('an editor document: stored as sent, with its topology', () => {
    const { flow: columns, trigger, warnings } = deriveColumns({ flow_json: flow }, catalogue);
    expect(JSON.parse(columns?.flow_json ?? '')).toEqual(flow);
    expect(JSON.parse(columns?.nodes_json ?? '')).toMatchObject({ start_node: 'start' });
    expect([trigger, warnings]).toEqual([undefined, []]);
  });

  test('a compact-only rule: the same topology byte for byte, and no editor document', () => {
    const { nodes_json: text = '' } = deriveColumns({ flow_json: flow }, catalogue).flow ?? {};
    const compact = deriveColumns({ nodes_json: JSON.parse(text) }, catalogue).flow;
    expect([compact?.flow_json, compact?.nodes_json]).toEqual([null, text]);
  });

  test('members that are absent change nothing; a trigger of null is cleared, a flow of null is refused', () => {
    expect(deriveColumns({}, catalogue)).toEqual({ warnings: [] });
    expect(deriveColumns({ trigger_config: null }, catalogue)).toEqual({
      trigger: { trigger_config: null, trigger: null },
      warnings: [],
    });
    expect(refusal({ flow_json: null }, catalogue)).toMatchObject({
      code: 'invalid-flow',
      issues: [{ path: '/flow_json' }],
    });
  });

  test('a trigger is stored in one order of its members', () => {
    const { trigger } = deriveColumns({ trigger_config: { interval_ms: 1000, type: 'interval' } }, catalogue);
    expect(trigger?.trigger_config).toBe(JSON.stringify(interval));
  });

  test('warnings point into the request', () => {
    const lost = flowDocument('in', [inputNode(['a'], ['x']), action('a', 1), action('lost', 2)]);
    const [warning, ...more] = deriveColumns({ flow_json: lost }, catalogue).warnings;
    expect(more).toEqual([]);
    expect(warning).toEqual({
      code: 'unreachable-node',
      message: expect.any(String),
      path: '/flow_json/nodes/3',
      node_id: 'lost',
      hint: expect.any(String),
    });
  });
});

describe('[rules §2.3] nothing that is wrong is stored, and all of it is said at once', () => {
  test('the issues of flow and trigger in one answer, named after the flow', () => {
    const wrong = flowDocument('in', [inputNode(['a'], ['x']), action('a', 77), action('b', 1, { value: 'nowhere' })]);
    const { code, message, issues } = refusal({ flow_json: wrong, trigger_config: { type: 'cron' } }, catalogue);
    expect(code).toBe('invalid-flow');
    expect(message).toContain(issues[0]?.message);
    expect(issues.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^\/flow_json\/nodes\/2\/data\/config\/writes\/0/),
      '/trigger_config/type',
    ]);
  });

  test('a wrong trigger alone', () => {
    const { code, issues } = refusal(
      { flow_json: flow, trigger_config: { type: 'interval', interval_ms: 0 } },
      catalogue,
    );
    expect([code, issues.map(({ path }) => path)]).toEqual(['invalid-trigger', ['/trigger_config/interval_ms']]);
  });

  test('a wrong compact-only rule', () => {
    const { code, issues } = refusal({ nodes_json: { start_node: 's', nodes: {} } }, catalogue);
    expect([code, issues.length > 0, issues.every(({ path }) => path.startsWith('/nodes_json'))]).toEqual([
      'invalid-flow',
      true,
      true,
    ]);
  });

  test('limits can be set', () => {
    const { issues } = refusal({ flow_json: flow }, catalogue, { ...flowLimits, nodesMaximum: 3 });
    expect(issues.map(({ code }) => code)).toEqual(['too-many-nodes']);
  });
});

describe('[rules §4.5] warnings of the points that a rule uses', () => {
  const topologyFrom = (nodes: Record<string, unknown>[]): Topology => {
    const { flow: columns } = deriveColumns({ flow_json: flowDocument('in', nodes) }, catalogue);
    if (columns === undefined) throw new Error('no flow');
    return columns.topology;
  };
  const onPoints = (...refs: ['measurement' | 'action', number][]): Trigger => ({
    type: 'on_change',
    point_refs: refs.map(([point_type, point]) => ({ instance: 1, point_type, point })),
    time_deadband_ms: 0,
    value_deadband: null,
  });
  const placesOf = (topology: Topology, trigger: Trigger | null) =>
    selfTriggerWarnings(topology, trigger).map(({ code, path, node_id }) => [code, path, node_id]);
  const topology = topologyFrom([
    inputNode(['a'], ['x']),
    action('a', 1, {}, 'v'),
    action('v', 9, { point_type: 'measurement' }, 'b'),
    action('b', 2),
  ]);

  test('subscribed to its own write: an action point and a virtual measurement, each where the trigger names it', () => {
    expect(placesOf(topology, onPoints(['measurement', 9], ['measurement', 3], ['action', 1]))).toEqual([
      ['subscribed-to-own-write', '/trigger_config/point_refs/2', 'a'],
      ['subscribed-to-own-write', '/trigger_config/point_refs/0', 'v'],
    ]);
  });

  test('not: a measurement of the same number, another action point, an interval, no trigger', () => {
    expect(placesOf(topology, onPoints(['measurement', 1], ['action', 3]))).toEqual([]);
    expect(placesOf(topology, { type: 'interval', interval_ms: 1 })).toEqual([]);
    expect(placesOf(topology, null)).toEqual([]);
  });

  test('not: a write of a node that no wire leads to', () => {
    const lost = topologyFrom([inputNode(['a'], ['x']), action('a', 1), action('lost', 2)]);
    expect(placesOf(lost, onPoints(['action', 2]))).toEqual([]);
    expect(placesOf(lost, onPoints(['action', 1], ['action', 2]))).toEqual([
      ['subscribed-to-own-write', '/trigger_config/point_refs/0', 'a'],
    ]);
  });

  test('writes of calculations of the second dialect count too', () => {
    const calculation = {
      id: 'c',
      type: 'custom',
      position: { x: 0, y: 0 },
      data: {
        type: 'action-calculation',
        config: {
          variables: [{ name: 'out', type: 'single', instance: 1, pointType: 'A', point_id: 3 }],
          rule: [{ output: 'out', formula: '2' }],
          wires: { default: ['end'] },
        },
      },
    };
    const custom = topologyFrom([inputNode(['c'], ['x']), calculation]);
    expect(writesOf(custom).map(({ nodeId, write }) => [nodeId, write.point])).toEqual([['c', 3]]);
    expect(placesOf(custom, onPoints(['action', 3]))).toEqual([
      ['subscribed-to-own-write', '/trigger_config/point_refs/0', 'c'],
    ]);
  });

  test('a point that takes its safe value between two writes, or takes fewer writes than the rule may send', () => {
    const topology = topologyFrom([inputNode(['a'], ['x']), action('a', 1, {}, 'again'), action('again', 1)]);
    const every = (seconds: number): Trigger => ({ type: 'interval', interval_ms: seconds * 1000 });
    const paced = (facts: Partial<PointFacts>, trigger: Trigger | null, cooldownMs = 0): string[] =>
      paceWarnings(topology, trigger, cooldownMs, testCatalogue(facts)).map(
        ({ code, node_id: node, message }) => `${code} ${node}: ${message}`,
      );
    const held = { holdMaxMs: 30_000, safeValue: 0 };
    const safe = (pace: string): string[] => [
      `safe-value-between-writes a: the rule writes action_1 of instance 1 ${pace}, and the point takes its safe value 30 s after a write`,
    ];
    expect(paced(held, every(29.999))).toEqual([]);
    expect(paced(held, every(30))).toEqual(safe('no more often than every 30 s'));
    expect(paced(held, every(1), 45_000)).toEqual(safe('no more often than every 45 s'));
    expect(paced(held, onPoints(['measurement', 1]))).toEqual(safe('only when a value has changed'));
    expect(paced(held, null)).toEqual([]);
    const taken = { maxWritesPerMinute: 20 };
    expect(paced(taken, every(3))).toEqual([]);
    expect(paced(taken, every(1), 3000)).toEqual([]);
    expect(paced(taken, onPoints(['measurement', 1]))).toEqual([]);
    expect(paced(taken, every(2))).toEqual([
      'more-writes-than-taken a: the rule may write action_1 of instance 1 30 times a minute, and the point takes 20',
    ]);
    expect(paced({}, every(60))).toEqual([]);
  });

  test('a rule that reads a point with text, and one that its changes should trigger, are warned of', () => {
    const withText = {
      ...catalogue,
      point: (ref: PointRef) => {
        const found = catalogue.point(ref);
        return found === undefined
          ? undefined
          : { ...found, isText: ref.point_type === 'measurement' && ref.point === 2 };
      },
    };
    const topology = topologyFrom([inputNode(['a'], ['x', 'y']), action('a', 1)]);
    const warned = (trigger: Trigger | null, among = withText) =>
      textPointWarnings(topology, trigger, among).map(({ code, path, node_id }) => [code, path, node_id]);
    expect(warned(onPoints(['measurement', 1], ['measurement', 2], ['action', 2]))).toEqual([
      ['text-point', '/trigger_config/point_refs/1', undefined],
      ['text-point', '/flow_json', 'in'],
    ]);
    expect(warned(null)).toEqual([['text-point', '/flow_json', 'in']]);
    expect(warned(onPoints(['measurement', 2]), catalogue)).toEqual([]);
    expect(textPointWarnings(topology, null, withText)[0]?.message).toBe(
      'the rule reads point 1:measurement:2, which holds text and has no number',
    );
  });
});

describe('stored rows', () => {
  test('a stored topology is read back; a stub, a damaged text and a flow with an unknown point have none', () => {
    const text = deriveColumns({ flow_json: flow }, catalogue).flow?.nodes_json ?? '';
    expect([...(topologyOf(text, catalogue)?.nodes.keys() ?? [])]).toEqual(['start', 'in', 'a', 'end']);
    expect([
      topologyOf('{}', catalogue),
      topologyOf('{', catalogue),
      topologyOf('null', catalogue),
      topologyOf(text, { ...catalogue, point: () => undefined }),
    ]).toEqual([null, null, null, null]);
  });

  test('a trigger that is no longer valid is null', () => {
    expect(triggerOf(JSON.stringify(interval), catalogue)).toEqual(interval);
    expect([null, '', '{', '{"type":"cron"}'].map((text) => triggerOf(text, catalogue))).toEqual(Array(4).fill(null));
  });
});
