/** Warnings about the points that a rule uses. */
import { describe, expect, test } from 'vitest';
import type { Topology } from '../rules/topology.ts';
import type { Trigger } from '../rules/trigger/index.ts';
import type { PointFacts, PointRef } from '../site/catalogue.ts';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import { pointWarnings } from './point-warnings.ts';
import { deriveColumns, writesOf } from './rule-document.ts';

const catalogue = testCatalogue();
const noPause = { cooldownMs: 0, tickMs: 100 };
const action = (id: string, point: number, more: object = {}, next = 'end') =>
  editorNode(id, 'action', { writes: [{ instance: 1, point, value: 1, ...more }], wires: { default: [next] } });

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
    pointWarnings(topology, trigger, noPause, catalogue).map(({ code, path, node_id }) => [code, path, node_id]);
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
      pointWarnings(topology, trigger, { cooldownMs, tickMs: 100 }, testCatalogue(facts)).map(
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
    // A rule runs once a tick at most.
    expect(paced({ maxWritesPerMinute: 600 }, every(0.001))).toEqual([]);
    expect(paced({ maxWritesPerMinute: 599 }, every(0.001))).toHaveLength(1);
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
      pointWarnings(topology, trigger, noPause, among).map(({ code, path, node_id }) => [code, path, node_id]);
    expect(warned(onPoints(['measurement', 1], ['measurement', 2], ['action', 2]))).toEqual([
      ['text-point', '/trigger_config/point_refs/1', undefined],
      ['text-point', '/flow_json', 'in'],
    ]);
    expect(warned(null)).toEqual([['text-point', '/flow_json', 'in']]);
    expect(warned(onPoints(['measurement', 2]), catalogue)).toEqual([]);
    expect(pointWarnings(topology, null, noPause, withText)[0]?.message).toBe(
      'the rule reads point 1:measurement:2, which holds text and has no number',
    );
  });

  test('a comparison with a value that no reading can reach is always or never true', () => {
    const ranged = { ...catalogue, point: (ref: PointRef) => inRange(catalogue.point(ref), ref) };
    const decided = (...conditions: readonly string[]): string[] => {
      const branches = conditions.map((when, index) => ({ name: `b${index}`, when }));
      const wires = Object.fromEntries([...branches.map(({ name }) => [name, ['end']]), ['else', ['end']]]);
      const topology = topologyFrom([inputNode(['d'], ['x', 'y']), editorNode('d', 'decision', { branches, wires })]);
      return pointWarnings(topology, null, noPause, ranged).map(
        ({ code, node_id: node, message }) => `${code} ${node}: ${message}`,
      );
    };
    const outside = (place: string, value: number, result: string): string =>
      `comparison-outside-range d: '${place}' compares measurement_1 of instance 1 with ${value}, outside its range 0..100: ${result} true`;
    expect(decided('x > 100', 'x < 0', 'x >= 0 && x <= 100', 'x == 0 || x != 100', 'y > 1000')).toEqual([]);
    expect(decided('x > 101', 'x >= 101', 'x == 101', 'x < 101', 'x <= 101', 'x != 101')).toEqual([
      outside('b0', 101, '> is never'),
      outside('b1', 101, '>= is never'),
      outside('b2', 101, '== is never'),
      outside('b3', 101, '< is always'),
      outside('b4', 101, '<= is always'),
      outside('b5', 101, '!= is always'),
    ]);
    expect(decided('-1 < x', '-1 >= x', '-1 == x', 'y < 0 && x != -1')).toEqual([
      outside('b0', -1, '> is always'),
      outside('b1', -1, '<= is never'),
      outside('b2', -1, '== is never'),
      outside('b3', -1, '!= is always'),
    ]);
  });
});

/** Measurement 1 from 0 to 100; the others have no range. */
function inRange(point: PointFacts | undefined, ref: PointRef): PointFacts | undefined {
  if (point === undefined || ref.point_type !== 'measurement' || ref.point !== 1) return point;
  return { ...point, min: 0, max: 100 };
}
