/**
 * Which nodes have run whenever another one runs (decisions §2.3, variables). An output may fan out, and then all its
 * targets run: start → several inputs → one decision declares the variables of all inputs. Only branches choose.
 */
import type { TopologyNode } from './topology.ts';

interface OrderedNode {
  readonly id: string;
  readonly node: TopologyNode;
}

/**
 * For nodes in topological order: by position, the positions of the nodes upstream that have surely run before it, as
 * bits. `start` is where runs begin.
 */
export function surelyRunBefore(order: readonly OrderedNode[], start: string): readonly bigint[] {
  const positions = new Map(order.map(({ id }, position) => [id, position]));
  const bit = (position: number): bigint => 1n << BigInt(position);
  const targets = (ids: readonly string[]): number[] =>
    ids.flatMap((id) => {
      const position = positions.get(id);
      return position === undefined ? [] : [position];
    });
  const outputs = order.map(({ node }) => outputsOf(node).map(targets));

  /** What surely runs because a node runs, itself included. */
  const follows: bigint[] = order.map(() => 0n);
  const followedBy = (next: readonly number[]): bigint =>
    next.reduce((mask, position) => mask | (follows[position] ?? 0n), 0n);
  for (let position = order.length - 1; position >= 0; position--) {
    const common = (outputs[position] ?? []).map(followedBy);
    follows[position] = bit(position) | common.reduce((mask, other) => mask & other, common[0] ?? 0n);
  }

  /** What has surely run when a node runs; undefined while no wire to it was seen. */
  const given: (bigint | undefined)[] = order.map(({ id }) => (id === start ? 0n : undefined));
  const upstream: bigint[] = order.map(() => 0n);
  for (const [position, next] of outputs.entries()) {
    const known = given[position];
    if (known === undefined) continue;
    const own = known | (follows[position] ?? 0n);
    for (const output of next) {
      const ran = own | followedBy(output);
      for (const target of output) {
        given[target] = (given[target] ?? ran) & ran;
        upstream[target] = (upstream[target] ?? 0n) | (upstream[position] ?? 0n) | bit(position);
      }
    }
  }
  return order.map((_, position) => (given[position] ?? 0n) & (upstream[position] ?? 0n));
}

/** Targets of each output of which exactly one is taken; a switch may also take `else`, wired or not. */
function outputsOf(node: TopologyNode): readonly (readonly string[])[] {
  if (node.type !== 'switch') return [Object.values(node.wires).flat()];
  return [...node.branches.map(({ name }) => name), 'else'].map((name) =>
    Object.hasOwn(node.wires, name) ? (node.wires[name] ?? []) : [],
  );
}
