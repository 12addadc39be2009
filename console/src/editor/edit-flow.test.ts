import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { edgeWarnings } from '../../../src/rules/edges.ts';
import { nativeTypes } from '../../../src/rules/node/index.ts';
import { parseFlow } from '../../../src/rules/parse.ts';
import { catalogueSite } from './catalogue-fixture.ts';
import { addNode, moveNodes, pasteNodes, setBranches, setConfig, setText, withEdges } from './edit-flow.ts';
import { connect, disconnect, removeNodes } from './edit-wires.ts';
import { type FlowDocument, newDocument, nodeOf, readDocument, wiresOf } from './flow-document.ts';
import { fittingKinds, type NodeKind, outputsOf } from './node-kinds.ts';

const site = catalogueSite();

/** Start → read → decide → act → end, drawn by the editor's own steps. */
function drawn(): FlowDocument {
  let flow = newDocument();
  for (const kind of ['input', 'decision', 'action'] as const)
    flow = addNode(flow, kind, { x: 10.4, y: 20.6 }).document;
  flow = setConfig(flow, 'input', 'variables', [{ name: 'soc', instance: 4, point_type: 'measurement', point: 1 }]);
  flow = setBranches(flow, 'decision', [{ name: 'low', when: 'soc < 40' }]);
  flow = setConfig(flow, 'action', 'writes', [{ instance: 4, point_type: 'action', point: 1, value: 5 }]);
  flow = connect(flow, 'start', 'default', 'input');
  flow = connect(flow, 'input', 'default', 'decision');
  flow = connect(flow, 'decision', 'low', 'action');
  flow = connect(flow, 'decision', 'else', 'end');
  return connect(flow, 'action', 'default', 'end');
}

describe('[rules §4.1] the drawing matches the stored wires', () => {
  test('a drawn flow parses without an issue or a warning', () => {
    expect(parseFlow(drawn(), site)).toMatchObject({ ok: true, warnings: [] });
  });

  test('an unknown member anywhere, and the order of members, stay as they came', () => {
    const text =
      '{"zoom":1,"nodes":[{"type":"start","id":"s","extra":[1],"position":{"z":3,"y":2,"x":1},"data":{"config":{"wires":{"default":["e"]}},"colour":"red"}},{"id":"e","type":"end","position":{"x":5,"y":6}}],"viewport":{"x":1}}';
    const document = readDocument(JSON.parse(text));
    expect(JSON.stringify(document)).toBe(text);
    const moved = moveNodes(document ?? newDocument(), new Map([['s', { x: 9, y: 2 }]]));
    expect(JSON.stringify(moved)).toBe(text.replace('"x":1}', '"x":9}'));
  });

  test.each([
    ['no nodes', {}],
    ['a node without id', { nodes: [{ type: 'start', position: { x: 0, y: 0 } }] }],
    ['two nodes of one id', { nodes: [1, 2].map(() => ({ id: 'a', type: 'end', position: { x: 0, y: 0 } })) }],
    ['edges that are no list', { nodes: [], edges: {} }],
  ])('%s cannot be drawn', (_what, value) => {
    expect(readDocument(value)).toBeNull();
  });

  test('renaming a branch takes its wires along, removing it takes them away', () => {
    const renamed = setBranches(drawn(), 'decision', [{ name: 'empty', when: 'soc < 40' }], {
      from: 'low',
      to: 'empty',
    });
    expect(wiresOf(nodeOf(renamed, 'decision') ?? { id: '', type: '', position: { x: 0, y: 0 } })).toEqual({
      empty: ['action'],
      else: ['end'],
    });
    const removed = setBranches(renamed, 'decision', []);
    expect(removed.edges).toHaveLength(4);
  });

  test('the style of a remaining edge is preserved', () => {
    const flow = drawn();
    const edges = (flow.edges ?? []).map((edge, at) =>
      at === 0 && typeof edge === 'object' ? { ...edge, style: 'thick' } : edge,
    );
    const next = disconnect({ ...flow, edges }, 'action', 'default', 'end');
    expect(next.edges?.[0]).toMatchObject({ source: 'start', style: 'thick' });
    expect(next.edges).toHaveLength(4);
  });

  test('pasted nodes get ids of their own and are wired among each other only', () => {
    const flow = drawn();
    const copied = flow.nodes.filter(({ id }) => id === 'input' || id === 'decision' || id === 'start');
    const { document, ids } = pasteNodes(flow, copied, { x: 40, y: 40 });
    expect(ids).toEqual(['input_2', 'decision_2']);
    const pasted = nodeOf(document, 'input_2');
    expect(pasted === undefined ? null : wiresOf(pasted)).toEqual({ default: ['decision_2'] });
    expect(pasted?.position).toEqual({ x: 50, y: 61 });
  });

  test('labels are added and removed without a trace', () => {
    const flow = drawn();
    expect(setText(setText(flow, 'input', 'label', 'Read'), 'input', 'label', '')).toEqual(flow);
  });

  test('successors of an output, and predecessors of an input', () => {
    expect(fittingKinds('output', true)).not.toContain('start');
    expect(fittingKinds('input', true)).not.toContain('end');
    expect(fittingKinds('input', false)).toContain('start');
  });

  test('whatever is done, edges and wires agree, and there is no circle', () => {
    const step = fc.record({
      what: fc.constantFrom('add', 'connect', 'remove', 'disconnect', 'branches'),
      kind: fc.constantFrom<NodeKind>(...nativeTypes.filter((kind) => kind !== 'start')),
      a: fc.nat(30),
      b: fc.nat(30),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let flow = newDocument();
        for (const { what, kind, a, b } of steps) {
          const source = flow.nodes[a % flow.nodes.length];
          const target = flow.nodes[b % flow.nodes.length];
          if (source === undefined || target === undefined) continue;
          const output = outputsOf(source)[a % Math.max(1, outputsOf(source).length)] ?? 'default';
          if (what === 'add') flow = addNode(flow, kind, { x: a, y: b }).document;
          else if (what === 'connect') flow = connect(flow, source.id, output, target.id);
          else if (what === 'disconnect') flow = disconnect(flow, source.id, output, target.id);
          else if (what === 'branches' && source.type === 'decision')
            flow = setBranches(flow, source.id, [
              { name: `b${a}`, when: '1' },
              { name: `b${b}`, when: '0' },
            ]);
          else if (what === 'remove' && source.type !== 'start' && flow.nodes.length > 1)
            flow = removeNodes(flow, new Set([source.id]));
        }
        expect(withEdges(flow)).toEqual(flow.edges === undefined ? withEdges(flow) : { ...flow });
        const parsed = parseFlow(flow, site);
        if (parsed.ok) expect(edgeWarnings(flow.edges, parsed.topology)).toEqual([]);
        else expect(parsed.issues.map(({ code }) => code)).not.toContain('cycle');
      }),
      { numRuns: 200 },
    );
  });
});
