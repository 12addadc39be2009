import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addNode, setBranches } from './edit-flow.ts';
import { canConnect, canSplice, connect, removeNodes, splice, wireFault } from './edit-wires.ts';
import { type FlowDocument, newDocument, nodeOf, wiresOf } from './flow-document.ts';
import type { NodeKind } from './node-kinds.ts';

/** Start → input → decision, whose low leads to an action and on to End, and whose else leads to End. */
function drawn(): FlowDocument {
  let flow = newDocument();
  for (const kind of ['input', 'decision', 'action'] as const) flow = addNode(flow, kind, { x: 10, y: 20 }).document;
  flow = setBranches(flow, 'decision', [{ name: 'low', when: 'soc < 40' }]);
  for (const [source, output, target] of [
    ['start', 'default', 'input'],
    ['input', 'default', 'decision'],
    ['decision', 'low', 'action'],
    ['decision', 'else', 'end'],
    ['action', 'default', 'end'],
  ] as const)
    flow = connect(flow, source, output, target);
  return flow;
}

function wiresFrom(flow: FlowDocument, id: string): Record<string, readonly string[]> {
  const node = nodeOf(flow, id);
  return node === undefined ? {} : wiresOf(node);
}

describe('[rules §4.1] wires', () => {
  test.each([
    ['to Start', 'input', 'default', 'start', 'start'],
    ['to itself', 'input', 'default', 'input', 'itself'],
    ['a second time', 'input', 'default', 'decision', 'twice'],
    ['back upstream', 'action', 'default', 'input', 'loop'],
    ['from an output that does not exist', 'decision', 'high', 'end', 'missing'],
    ['to a node that does not exist', 'input', 'default', 'gone', 'missing'],
  ] as const)('one is refused %s, with the reason', (_what, source, output, target, fault) => {
    expect(wireFault(drawn(), source, output, target)).toBe(fault);
    expect(connect(drawn(), source, output, target)).toEqual(drawn());
  });

  test('any other is drawn', () => {
    expect(canConnect(drawn(), 'input', 'default', 'end')).toBe(true);
  });

  test('a removed node leaves no gap: its neighbours are connected', () => {
    expect(wiresFrom(removeNodes(drawn(), new Set(['input'])), 'start')).toEqual({ default: ['decision'] });
    expect(wiresFrom(removeNodes(drawn(), new Set(['action'])), 'decision')).toEqual({ low: ['end'], else: ['end'] });
    const without = removeNodes(drawn(), new Set(['input', 'action']));
    expect(wiresFrom(without, 'start')).toEqual({ default: ['decision'] });
    expect(without.edges).toHaveLength(3);
  });

  test('a decision whose branches differ takes its wires along: nothing it guarded becomes unconditional', () => {
    expect(wiresFrom(removeNodes(drawn(), new Set(['decision'])), 'input')).toEqual({ default: [] });
    const open = setBranches(drawn(), 'decision', [{ name: 'low', when: 'soc < 40' }]);
    const onlyLow = { ...open, nodes: open.nodes.map((node) => (node.id === 'decision' ? lowOnly(node) : node)) };
    expect(wiresFrom(removeNodes(onlyLow, new Set(['decision'])), 'input')).toEqual({ default: [] });
  });

  test('a decision whose branches all lead to one place is healed', () => {
    const same = removeNodes(drawn(), new Set(['action']));
    expect(wiresFrom(removeNodes(same, new Set(['decision'])), 'input')).toEqual({ default: ['end'] });
  });

  test('a node without wires is spliced into one, and removing it restores the wire', () => {
    const { document, id } = addNode(drawn(), 'calculation', { x: 0, y: 0 });
    const wire = { source: 'decision', output: 'low', target: 'action' };
    expect(canSplice(document, id)).toBe(true);
    const spliced = splice(document, id, wire);
    expect(wiresFrom(spliced, 'decision')).toEqual({ low: [id], else: ['end'] });
    expect(wiresFrom(spliced, id)).toEqual({ default: ['action'] });
    expect(wiresFrom(removeNodes(spliced, new Set([id])), 'decision')).toEqual(wiresFrom(drawn(), 'decision'));
  });

  test.each(['start', 'end', 'input', 'action'])('%s is wired or has no two sides, and is not spliced', (id) => {
    expect(canSplice(drawn(), id)).toBe(false);
    const wire = { source: 'decision', output: 'else', target: 'end' };
    expect(splice(drawn(), id, wire)).toEqual(drawn());
  });

  test('taking nodes out of a chain, in any order, leaves Start leading to End', () => {
    const kinds = fc.constantFrom<NodeKind>('input', 'calculation', 'action', 'period-delta');
    fc.assert(
      fc.property(fc.array(kinds, { minLength: 1, maxLength: 8 }), fc.infiniteStream(fc.nat(7)), (chain, picks) => {
        let flow = connect(newDocument(), 'start', 'default', 'end');
        const ids: string[] = [];
        for (const kind of chain) {
          const made = addNode(flow, kind, { x: 0, y: 0 });
          const last = flow.nodes.find((node) => wiresFrom(flow, node.id)['default']?.includes('end'));
          flow = splice(made.document, made.id, { source: last?.id ?? '', output: 'default', target: 'end' });
          ids.push(made.id);
        }
        while (ids.length > 0) {
          const [gone = ''] = ids.splice((picks.next().value ?? 0) % ids.length, 1);
          flow = removeNodes(flow, new Set([gone]));
        }
        expect(wiresFrom(flow, 'start')).toEqual({ default: ['end'] });
        expect(flow.edges).toHaveLength(1);
      }),
    );
  });
});

function lowOnly(node: FlowDocument['nodes'][number]): FlowDocument['nodes'][number] {
  return { ...node, data: { config: { branches: [{ name: 'low', when: 'soc < 40' }], wires: { low: ['action'] } } } };
}
