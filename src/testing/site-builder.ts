/** A small site for tests of rules: one instance with measurement, action and virtual points, and two parameters. */
import type { PointFacts, PointKind, PointRef, SiteCatalogue } from '../site/catalogue.ts';
import { quality } from '../site/quality.ts';
import { createSnapshot, type Snapshot } from '../site/snapshot.ts';

/** Measurements 1..6, action points 1..3 (range -100..100, step 0.1) and writable measurement 9, all of instance 1. */
export function testCatalogue(overrides: Partial<PointFacts> = {}): SiteCatalogue {
  const facts: [PointKind, number, boolean][] = [
    ['measurement', 1, false],
    ['measurement', 2, false],
    ['measurement', 3, false],
    ['measurement', 4, false],
    ['measurement', 5, false],
    ['measurement', 6, false],
    ['action', 1, true],
    ['action', 2, true],
    ['action', 3, true],
    ['measurement', 9, true],
  ];
  const points = facts.map(
    ([point_type, point, writable], index): PointFacts => ({
      index,
      instance: 1,
      point_type,
      point,
      name: `${point_type}_${point}`,
      unit: 'kW',
      isText: false,
      min: writable ? -100 : undefined,
      max: writable ? 100 : undefined,
      step: point_type === 'action' ? 0.1 : undefined,
      register: undefined,
      writable,
      maxAgeMs: 5000,
      maxWritesPerMinute: undefined,
      priorityHoldMs: 0,
      holdMaxMs: undefined,
      safeValue: undefined,
      ...(writable ? overrides : {}),
    }),
  );
  const find = (ref: PointRef): PointFacts | undefined =>
    points.find(
      (point) => point.instance === ref.instance && point.point_type === ref.point_type && point.point === ref.point,
    );
  const parameters = new Map([
    ['low', { value: 20, unit: '%' }],
    ['high', { value: 90, unit: '%' }],
  ]);
  return { timezone: 'Europe/Amsterdam', points, point: find, parameter: (name) => parameters.get(name) };
}

/** A snapshot at `monotonicMs` with fresh good values of measurements 1, 2, 3 …; null leaves one missing. */
export function testSnapshot(
  values: readonly (number | null)[],
  monotonicMs = 1000,
  wallMs = 1_700_000_000_000,
): Snapshot {
  const snapshot = createSnapshot(10);
  values.forEach((value, index) => {
    if (value === null) return;
    snapshot.values[index] = value;
    snapshot.quality[index] = quality.good;
    snapshot.observedMs[index] = monotonicMs;
  });
  snapshot.monotonicMs = monotonicMs;
  snapshot.wallMs = wallMs;
  snapshot.generation = 1;
  return snapshot;
}

interface NodeConfig {
  readonly [name: string]: unknown;
  readonly wires?: Readonly<Record<string, readonly string[]>>;
}

/** An editor node with a position and a config. */
export function editorNode(id: string, type: string, config: NodeConfig = {}): Record<string, unknown> {
  return { id, type, position: { x: 0, y: 0 }, data: { label: id, config } };
}

/** A flow document: start → `nodes` → end; each node brings its own wires. */
export function flowDocument(first: string, nodes: readonly Record<string, unknown>[]): Record<string, unknown> {
  return {
    nodes: [editorNode('start', 'start', { wires: { default: [first] } }), ...nodes, editorNode('end', 'end')],
    edges: [],
  };
}

/** The variables x, y, z read from measurements 1, 2, 3. */
export function inputNode(
  next: readonly string[],
  names: readonly string[] = ['x', 'y', 'z'],
  id = 'in',
): Record<string, unknown> {
  const variables = names.map((name, index) => ({ name, instance: 1, point_type: 'measurement', point: index + 1 }));
  return editorNode(id, 'input', { variables, wires: { default: next } });
}
