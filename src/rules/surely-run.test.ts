import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TopologyNode } from './node/index.ts';
import { sureRuns } from './surely-run.ts';

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
  const mask = sureRuns(order, names[0] ?? '').before[names.indexOf(id)] ?? 0n;
  return names.filter((_, position) => (mask >> BigInt(position)) & 1n);
}

describe('nodes that have certainly run', () => {
  test('[rules §4.1] start → several inputs → one decision: all inputs have run', () => {
    const flow = { start: input('a', 'b'), a: input('d'), b: input('d'), d: choice({ x: ['end'] }), end };
    expect(before(flow, 'd')).toEqual(['start', 'a', 'b']);
  });

  test('of two branches only their common nodes have run', () => {
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

/** Whether one of `declaring` has surely run before `id`. */
function declared(nodes: Record<string, TopologyNode>, id: string, declaring: readonly string[]): boolean {
  const order = Object.entries(nodes).map(([name, node]) => ({ id: name, node }));
  const names = order.map((entry) => entry.id);
  return sureRuns(order, names[0] ?? '').anyBefore(names.indexOf(id), (position) =>
    declaring.includes(names[position] ?? ''),
  );
}

describe('[rules §4.4] declared on every path: of names, not of nodes', () => {
  const branches = { s: choice({ x: ['a'], else: ['b'] }), a: input('c'), b: input('c'), c: input('end'), end };

  test('a name that every branch declares is declared behind them; one that only some declare is not', () => {
    expect(declared(branches, 'c', ['a', 'b'])).toBe(true);
    expect(declared(branches, 'c', ['a'])).toBe(false);
    expect(declared(branches, 'a', ['a', 'b'])).toBe(false);
  });

  test('a branch that leads nowhere takes the whole run there, unless another path continues beside it', () => {
    const alone = { s: choice({ x: ['a'] }), a: input('c'), c: input('end'), end };
    expect(declared(alone, 'c', ['a'])).toBe(true);
    const beside = { s: input('p', 'q'), p: choice({ x: ['a'] }), q: input('c'), a: input('c'), c: input('end'), end };
    expect(declared(beside, 'c', ['a'])).toBe(false);
  });

  test('a declaration beside the node, not upstream of it, does not count', () => {
    const flow = {
      s: input('p', 'c'),
      p: choice({ x: ['a'], else: ['b'] }),
      a: input('c'),
      b: input('end'),
      c: input('end'),
      end,
    };
    expect(declared(flow, 'c', ['a', 'b'])).toBe(false);
  });

  test('as walking every run says, for random flows', () => {
    const size = 7;
    const wire = fc.subarray([1, 2, 3], { minLength: 0, maxLength: 2 });
    const node = fc.record({ kind: fc.constantFrom('input', 'choice'), a: wire, b: wire });
    fc.assert(
      fc.property(fc.array(node, { minLength: size, maxLength: size }), fc.nat(2 ** size - 1), (shapes, mask) => {
        const name = (position: number): string => `n${position}`;
        const next = (position: number, steps: readonly number[]): string[] =>
          steps
            .map((step) => position + step)
            .filter((target) => target < size)
            .map(name);
        const nodes = Object.fromEntries(
          shapes.map(({ kind, a, b }, position): [string, TopologyNode] => [
            name(position),
            kind === 'input'
              ? input(...new Set([...next(position, a), ...next(position, b)]))
              : choice({ x: next(position, a), else: next(position, b) }),
          ]),
        );
        const declaring = shapes.flatMap((_, position) => ((mask >> position) & 1 ? [name(position)] : []));
        const walked = everyRun(nodes, shapes.length, declaring);
        for (const [position, sure] of walked.entries())
          if (sure !== null && declared(nodes, name(position), declaring)) expect(sure, name(position)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

/** By position, over all choices: whether one of `declaring` upstream always ran before it; null when it never runs. */
function everyRun(nodes: Record<string, TopologyNode>, size: number, declaring: readonly string[]): (boolean | null)[] {
  const names = Array.from({ length: size }, (_, position) => `n${position}`);
  const always: (boolean | null)[] = names.map(() => null);
  const upstream = new Map<string, ReadonlySet<string>>();
  for (const name of names)
    for (const target of Object.values(nodes[name]?.wires ?? {}).flat())
      upstream.set(target, new Set([...(upstream.get(target) ?? []), ...(upstream.get(name) ?? []), name]));
  for (let choices = 0; choices < 2 ** size; choices++) {
    const reached = new Set(['n0']);
    for (const [position, name] of names.entries()) {
      const node = nodes[name];
      if (node === undefined || !reached.has(name)) continue;
      const ran = declaring.some((other) => reached.has(other) && upstream.get(name)?.has(other) === true);
      always[position] = (always[position] ?? true) && ran;
      const output = node.type === 'switch' ? ((choices >> position) & 1 ? 'x' : 'else') : 'default';
      for (const target of node.wires[output] ?? []) reached.add(target);
    }
  }
  return always;
}
