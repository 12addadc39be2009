import { describe, expect, test } from 'vitest';
import { surelyRunBefore } from './surely-run.ts';
import type { TopologyNode } from './topology.ts';

const input = (...next: string[]): TopologyNode => ({
  type: 'input',
  variables: [],
  parameters: [],
  wires: { default: next },
});
const choice = (wires: Record<string, string[]>): TopologyNode => ({
  type: 'switch',
  branches: Object.keys(wires)
    .filter((name) => name !== 'else')
    .map((name) => ({ name, when: '1' })),
  wires,
});
const end: TopologyNode = { type: 'end', wires: {} };

/** Names of what has surely run before `id`; the nodes are given in topological order, the first is the start. */
function before(nodes: Record<string, TopologyNode>, id: string): string[] {
  const order = Object.entries(nodes).map(([name, node]) => ({ id: name, node }));
  const names = order.map((entry) => entry.id);
  const mask = surelyRunBefore(order, names[0] ?? '')[names.indexOf(id)] ?? 0n;
  return names.filter((_, position) => (mask >> BigInt(position)) & 1n);
}

describe('what has surely run', () => {
  test('decisions §2.3 start → several inputs → one decision: all inputs have run', () => {
    const flow = { start: input('a', 'b'), a: input('d'), b: input('d'), d: choice({ x: ['end'] }), end };
    expect(before(flow, 'd')).toEqual(['start', 'a', 'b']);
  });

  test('of two branches only what both lead through has run', () => {
    const flow = { s: choice({ x: ['a'], else: ['b'] }), a: input('c'), b: input('c'), c: input('end'), end };
    expect(before(flow, 'c')).toEqual(['s']);
    expect(before(flow, 'a')).toEqual(['s']);
  });

  test('one branch that fans out runs all its targets', () => {
    const flow = { s: choice({ x: ['a', 'b'] }), a: input('c'), b: input('c'), c: input('end'), end };
    expect(before(flow, 'c')).toEqual(['s', 'a', 'b']);
  });

  test('a branch that is not wired can be the one that is taken', () => {
    const flow = { s: input('p', 'q'), p: choice({ x: ['a'] }), q: input('c'), a: input('c'), c: input('end'), end };
    expect(before(flow, 'c')).toEqual(['s', 'p', 'q']);
  });

  test('a node that runs beside another, but not upstream of it, does not count', () => {
    const flow = { s: input('a', 'b'), a: input('end'), b: input('end'), end };
    expect(before(flow, 'b')).toEqual(['s']);
  });

  test('a fan-out that meets again behind a decision counts where every branch passes it', () => {
    const flow = {
      s: input('a', 'p'),
      a: input('c'),
      p: choice({ x: ['m'], else: ['n'] }),
      m: input('c'),
      n: input('c'),
      c: input('end'),
      end,
    };
    expect(before(flow, 'c')).toEqual(['s', 'a', 'p']);
  });
});
