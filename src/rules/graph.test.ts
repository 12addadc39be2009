/** Order, warnings and what has surely run: the graph of a flow [rules §4.1]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import { parseFlow } from './parse.ts';
import type { Topology } from './topology.ts';

type Fields = Record<string, unknown>;
const catalogue = testCatalogue();
const action = (id: string, next = ['end']) =>
  editorNode(id, 'action', { writes: [{ instance: 1, point: 1, value: 1 }], wires: { default: next } });
const decision = (branches: object[], wires: Record<string, string[]>) =>
  editorNode('d', 'decision', { branches, wires });

function accepted(document: unknown) {
  const parsed = parseFlow(document, catalogue);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed;
}
const deciding = (branches: object[], wires: Record<string, string[]>, ...more: Fields[]) =>
  accepted(flowDocument('in', [inputNode(['d']), decision(branches, wires), ...more])).warnings;
const warning = (code: string, path: string, node: string) => ({
  code,
  path,
  node_id: node,
  message: expect.any(String),
  hint: expect.any(String),
});

describe('[rules §4.5] warnings: stored, and said', () => {
  test('an unreachable node and its successors', () => {
    const flow = flowDocument('in', [inputNode(['end']), action('lost', ['next']), action('next')]);
    const { warnings, topology } = accepted(flow);
    expect(warnings).toEqual([
      warning('unreachable-node', '/nodes/2', 'lost'),
      warning('unreachable-node', '/nodes/3', 'next'),
    ]);
    expect([...topology.nodes.keys()]).toEqual(['lost', 'next', 'start', 'in', 'end']);
  });

  test('variables of a node that never runs are not judged', () => {
    const lost = editorNode('lost', 'action', {
      writes: [{ instance: 1, point: 1, value: 'nobody' }],
      wires: { default: ['end'] },
    });
    expect(accepted(flowDocument('in', [inputNode(['end']), lost])).warnings).toMatchObject([
      { code: 'unreachable-node' },
    ]);
  });

  test('a branch without a wire: absent and empty are the same; else may be left out', () => {
    const branches = [
      { name: 'a', when: 'x > 1' },
      { name: 'b', when: 'y > 1' },
      { name: 'c', when: 'z > 1' },
    ];
    expect(deciding(branches, { a: ['end'], c: [] })).toEqual([
      warning('branch-without-wire', '/nodes/2/data/config/branches/1', 'd'),
      warning('branch-without-wire', '/nodes/2/data/config/branches/2', 'd'),
    ]);
  });

  test('a shadowed branch: after the same condition, a wider one, and one that always holds', () => {
    const branches = [
      { name: 'a', when: 'x > 1' },
      { name: 'b', when: 'y > 1' },
      { name: 'c', when: 'x>1' },
      { name: 'd', when: 'x > 3' },
      { name: 'e', when: '1' },
      { name: 'f', when: 'z > 1' },
    ];
    const wires = Object.fromEntries(branches.map(({ name }) => [name, ['end']]));
    expect(deciding(branches, wires)).toEqual(
      [2, 3, 5].map((index) => warning('shadowed-branch', `/nodes/2/data/config/branches/${index}`, 'd')),
    );
  });

  test('a wider condition after a narrower one is not a warning', () => {
    const branches = [
      { name: 'a', when: 'x > 90' },
      { name: 'b', when: 'x > 20' },
    ];
    expect(deciding(branches, { a: ['end'], b: ['end'] })).toEqual([]);
  });
});

/** A random flow: node n may be wired to later ones, so that it has no cycle; ids are shuffled so that order is earned. */
const randomFlow = fc
  .record({
    ids: fc.uniqueArray(fc.constantFrom(...'0 1 2 9 10 11 a b B Z _ - constructor A1'.split(' ')), {
      minLength: 1,
      maxLength: 10,
    }),
    targets: fc.array(fc.array(fc.nat({ max: 20 }), { maxLength: 4 }), { minLength: 12, maxLength: 12 }),
    decisions: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
    shuffle: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
  })
  .map(({ ids, targets, decisions, shuffle }) => {
    const names = ['start', ...ids, 'end'];
    const nodes = names.map((id, position): Fields => {
      const later = names.slice(position + 1);
      const chosen = [...new Set((targets[position] ?? []).map((target) => later[target % later.length] ?? 'end'))];
      if (id === 'start') return editorNode(id, 'start', { wires: { default: later.slice(0, 1) } });
      if (id === 'end') return editorNode(id, 'end');
      if (!decisions[position]) return action(id, chosen);
      const wires = { up: chosen.slice(0, 2), else: chosen.slice(1) };
      return editorNode(id, 'decision', { branches: [{ name: 'up', when: '1 > 0' }], wires });
    });
    const order = nodes.map((node, index) => ({ node, key: shuffle[index] ?? 0 })).sort((a, b) => a.key - b.key);
    return { nodes: order.map(({ node }) => node), edges: [] };
  });

describe('[rules §4.1] topological order, ties by code unit', () => {
  test('of any flow: the smallest free id is next', () => {
    fc.assert(
      fc.property(randomFlow, (flow) => {
        const { nodes } = accepted(flow).topology;
        const waiting = new Map([...nodes.keys()].map((id) => [id, new Set<string>()]));
        for (const [id, node] of nodes)
          for (const target of Object.values(node.wires).flat()) waiting.get(target)?.add(id);
        for (const id of nodes.keys()) {
          const free = [...waiting].filter(([, sources]) => sources.size === 0).map(([name]) => name);
          expect(id).toBe(free.reduce((least, name) => (name < least ? name : least)));
          waiting.delete(id);
          for (const sources of waiting.values()) sources.delete(id);
        }
        expect(nodes.size).toBe(flow.nodes.length);
      }),
      { numRuns: 300 },
    );
  });
});

/** Every way in which a run may go: each decision takes `up` or `else`. */
function* everyRun(topology: Topology): Generator<ReadonlySet<string>> {
  const decisions = [...topology.nodes].flatMap(([id, node]) => (node.type === 'switch' ? [id] : []));
  for (let choice = 0; choice < 2 ** decisions.length; choice++) {
    const ran = new Set([topology.start_node]);
    for (const [id, node] of topology.nodes) {
      if (!ran.has(id)) continue;
      const place = decisions.indexOf(id);
      const output = place < 0 ? 'default' : (choice >> place) & 1 ? 'up' : 'else';
      for (const target of node.wires[output] ?? []) ran.add(target);
    }
    yield ran;
  }
}

describe('[rules §4.4] a variable is declared on every path to its use', () => {
  test('an accepted flow has its variables in every run, for any decisions', () => {
    let acceptedUses = 0;
    let refusedUses = 0;
    fc.assert(
      fc.property(randomFlow, fc.nat(), fc.nat(), (flow, first, second) => {
        const actions = flow.nodes.filter((node) => node['type'] === 'action');
        const declaring = actions[first % Math.max(1, actions.length)];
        const using = actions[second % Math.max(1, actions.length)];
        if (declaring === undefined || using === undefined || declaring === using) return;
        const wiresOf = (node: Fields) =>
          (node['data'] as { config: { wires: { default: string[] } } }).config.wires.default;
        const [d, u] = [String(declaring['id']), String(using['id'])];
        const nodes = flow.nodes.map((node) => {
          if (node === declaring)
            return editorNode(d, 'calculation', {
              assignments: [{ name: 'v', expression: '1' }],
              wires: { default: wiresOf(node) },
            });
          if (node === using)
            return editorNode(u, 'action', {
              writes: [{ instance: 1, point: 1, value: 'v' }],
              wires: { default: wiresOf(node) },
            });
          return node;
        });
        const parsed = parseFlow({ ...flow, nodes }, catalogue);
        if (!parsed.ok) {
          refusedUses++;
          expect(parsed.issues).toMatchObject([{ code: 'undeclared-variable', node_id: u }]);
          return;
        }
        acceptedUses++;
        const order = [...parsed.topology.nodes.keys()];
        for (const ran of everyRun(parsed.topology))
          if (ran.has(u)) expect([ran.has(d), order.indexOf(d) < order.indexOf(u)]).toEqual([true, true]);
      }),
      { numRuns: 500 },
    );
    expect([acceptedUses > 20, refusedUses > 20]).toEqual([true, true]);
  });
});
