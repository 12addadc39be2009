/** Differences by meaning [rules §1.5]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ComparedRule, type RuleDifference, ruleDifference, sameLogic } from './difference.ts';
import type { NodeParts } from './node/parts.ts';

interface Branch {
  readonly name: string;
  readonly when: string;
}

/** A rule that reads, decides by the branches, and writes in each a value of its own. */
function rule(branches: readonly Branch[], more: Partial<Sketch> = {}): ComparedRule {
  const { value = '1', label = 'Decide', x = 0, settings = {}, extra = [] } = more;
  const target = (index: number): string => `w${index}`;
  const wires = Object.fromEntries(branches.map(({ name }, index) => [name, [target(index)]]));
  const at = { x, y: 0 };
  const nodes = [
    { id: 'start', type: 'start', position: at, data: { config: { wires: { default: ['d'] } } } },
    { id: 'd', type: 'decision', position: at, data: { label, config: { branches, wires } } },
    ...branches.map((_, index) => ({
      id: target(index),
      type: 'action',
      position: at,
      data: { config: { writes: [{ instance: 1, point: index + 1, value }], wires: { default: ['end'] } } },
    })),
    ...extra.map((id) => ({ id, type: 'end', position: at })),
    { id: 'end', type: 'end', position: at },
  ];
  const topology: [string, NodeParts][] = [
    ['start', { type: 'start', wires: { default: ['d'] } }],
    ['d', { type: 'switch', branches, wires }],
    ...branches.map((_, index): [string, NodeParts] => [
      target(index),
      {
        type: 'change',
        writes: [{ instance: 1, point_type: 'action', point: index + 1, value }],
        wires: { default: ['end'] },
      },
    ]),
    ...extra.map((id): [string, NodeParts] => [id, { type: 'end', wires: {} }]),
    ['end', { type: 'end', wires: {} }],
  ];
  return {
    settings: { name: 'r', priority: 0, ...settings },
    flow: { nodes, edges: [], ...(more.edges === undefined ? {} : { edges: more.edges }) },
    nodes: new Map(topology),
  };
}

interface Sketch {
  readonly value: string;
  readonly label: string;
  readonly x: number;
  readonly settings: object;
  readonly extra: readonly string[];
  readonly edges: readonly unknown[];
}

const two = [
  { name: 'high', when: 'x > 2' },
  { name: 'low', when: 'x < 1' },
];
const nothing: RuleDifference = {
  classes: [],
  settings: [],
  nodes: { added: [], removed: [], changed: [] },
  wires: { added: [], removed: [] },
  actuators: [],
};
const change = (after: ComparedRule, before = rule(two)) => ruleDifference(before, after);

test('another template, or other numbers of it, is no change of layout and of logic', () => {
  const from = (limit: number): ComparedRule => {
    const made = rule(two);
    return { ...made, flow: { ...(made.flow as object), from_template: { template: 'charge', numbers: { limit } } } };
  };
  expect(ruleDifference(from(1), from(1)).classes).toEqual([]);
  const difference = ruleDifference(from(1), from(2));
  expect([difference.classes, sameLogic(difference)]).toEqual([['wording'], true]);
});

describe('[rules §1.5] classes of changes', () => {
  test('a move, other edges and another view are layout, and nothing more', () => {
    expect(change(rule(two, { x: 7 }))).toEqual({ ...nothing, classes: ['layout'] });
    expect(change(rule(two, { edges: [{ id: 'e' }] }))).toEqual({ ...nothing, classes: ['layout'] });
    expect(sameLogic(change(rule(two, { x: 7, label: 'Other' })))).toBe(true);
  });

  test('a label is wording, also a new one', () => {
    const fields = [{ path: '/data/label', before: 'Decide', after: 'Choose' }];
    const changed = [{ id: 'd', label: 'Choose', fields }];
    expect(change(rule(two, { label: 'Choose' }))).toEqual({
      ...nothing,
      classes: ['wording'],
      nodes: { ...nothing.nodes, changed },
    });
    const bare = { ...rule([]), flow: { nodes: [{ id: 'end', type: 'end', position: { x: 0, y: 0 } }] } };
    const labelled = {
      ...bare,
      flow: { nodes: [{ id: 'end', type: 'end', position: { x: 0, y: 0 }, data: { label: 'Done' } }] },
    };
    expect(ruleDifference(bare, labelled).classes).toEqual(['wording']);
  });

  test('each setting is a separate change', () => {
    expect(change(rule(two, { settings: { name: 'q', priority: 3 } }))).toEqual({
      ...nothing,
      classes: ['settings'],
      settings: [
        { field: 'name', before: 'r', after: 'q' },
        { field: 'priority', before: 0, after: 3 },
      ],
    });
  });

  test('a changed condition is an expression, reported with its branch', () => {
    const after = rule([{ name: 'high', when: 'x > 3' }, two[1] ?? { name: '', when: '' }]);
    expect(change(after)).toEqual({
      ...nothing,
      classes: ['expression'],
      nodes: {
        ...nothing.nodes,
        changed: [
          {
            id: 'd',
            label: 'Decide',
            fields: [{ path: '/data/config/branches/0/when', before: 'x > 2', after: 'x > 3' }],
          },
        ],
      },
      actuators: [
        { instance: 1, point: 1, change: 'condition' },
        { instance: 1, point: 2, change: 'condition' },
      ],
    });
  });

  test('branches in another order are an expression, another name of a branch is wiring', () => {
    expect(change(rule(two.toReversed())).classes).toContain('expression');
    const renamed = change(rule([{ name: 'very high', when: 'x > 2' }, two[1] ?? { name: '', when: '' }]));
    expect(renamed.classes).toEqual(['wiring']);
    expect(renamed.wires).toEqual({
      added: [{ from: 'd', output: 'very high', to: 'w0' }],
      removed: [{ from: 'd', output: 'high', to: 'w0' }],
    });
  });

  test('a branch more: nodes, wires and actuators', () => {
    const three = [...two, { name: 'else if', when: 'x > 9' }];
    const grown = change(rule(three));
    expect(grown.classes).toEqual(['expression', 'wiring', 'added']);
    expect(grown.nodes.added).toEqual([{ id: 'w2', label: null }]);
    expect(grown.actuators).toContainEqual({ instance: 1, point: 3, change: 'added' });
    const shrunk = change(rule(two), rule(three));
    expect(shrunk.classes).toEqual(['expression', 'wiring', 'removed']);
    expect(shrunk.actuators).toContainEqual({ instance: 1, point: 3, change: 'removed' });
  });

  test('another value is a change of the actuator', () => {
    expect(change(rule(two, { value: '2' })).actuators).toEqual([
      { instance: 1, point: 1, change: 'value' },
      { instance: 1, point: 2, change: 'value' },
    ]);
  });

  test('a node under another id is added and removed', () => {
    const renamed = change(rule(two, { extra: ['spare-2'] }), rule(two, { extra: ['spare'] }));
    expect(renamed.classes).toEqual(['added', 'removed']);
  });

  test('an output that names its targets in another order is wiring', () => {
    const wired = (targets: readonly string[]): ComparedRule => ({
      ...rule([]),
      flow: null,
      nodes: new Map([['d', { type: 'start', wires: { default: targets } }]]),
    });
    expect(ruleDifference(wired(['a', 'b']), wired(['b', 'a'])).classes).toEqual(['wiring']);
    expect(ruleDifference(wired(['a', 'b']), wired(['a', 'b'])).classes).toEqual([]);
  });
});

test('[rules §1.5] 1000 edits: a rule differs from itself in nothing, and the way back undoes the way', () => {
  const branch = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), when: fc.constantFrom('x > 1', 'x < 2', 'x') });
  const branches = fc.uniqueArray(branch, { selector: ({ name }) => name, maxLength: 4 });
  const drawing = { label: fc.constantFrom('one', 'two'), x: fc.integer({ min: 0, max: 2 }) };
  const logic = {
    value: fc.constantFrom('1', '2'),
    extra: fc.uniqueArray(fc.constantFrom('e1', 'e2', 'e3')),
    settings: fc.record({ priority: fc.integer({ min: 0, max: 2 }) }),
  };
  const sketch = fc.record({ ...drawing, ...logic });
  fc.assert(
    fc.property(branches, sketch, branches, sketch, fc.record(drawing), (from, one, to, other, moved) => {
      const [before, after] = [rule(from, one), rule(to, other)];
      expect(ruleDifference(after, structuredClone(after))).toEqual(nothing);
      const there = ruleDifference(before, after);
      const back = ruleDifference(after, before);
      expect(back.wires).toEqual({ added: there.wires.removed, removed: there.wires.added });
      expect(back.nodes.added.map(({ id }) => id).toSorted()).toEqual(
        there.nodes.removed.map(({ id }) => id).toSorted(),
      );
      expect(back.settings.map(({ field, before: was, after: is }) => ({ field, before: is, after: was }))).toEqual(
        there.settings,
      );
      // A move or a label changes nothing that the rule does.
      const drawn = ruleDifference(after, rule(to, { ...other, ...moved }));
      expect(sameLogic(drawn)).toBe(true);
      expect([drawn.settings, drawn.wires, drawn.actuators]).toEqual([[], nothing.wires, []]);
    }),
    { numRuns: 1000 },
  );
});
