/**
 * The nodes that have surely run whenever a node runs [rules §4.4]. An output may fan out, and then all its targets run: start →
 * several inputs → one decision declares the variables of all inputs. Only branches choose: a variable that every branch assigns
 * is declared behind them.
 */
import { type NodeParts, otherwiseOf } from './node/parts.ts';

interface OrderedNode {
  readonly id: string;
  readonly node: NodeParts;
}

export interface SureRuns {
  /** By position: the positions of the nodes upstream that have surely run before it, as bits. */
  readonly before: readonly bigint[];
  /** Whether some node upstream of `position` for which `does` holds has surely run, not the same one on every path. */
  anyBefore(position: number, does: (position: number) => boolean): boolean;
}

const bit = (position: number): bigint => 1n << BigInt(position);

/** For nodes in topological order; `start` is where runs begin. */
export function sureRuns(order: readonly OrderedNode[], start: string): SureRuns {
  const positions = new Map(order.map(({ id }, position) => [id, position]));
  const targets = (ids: readonly string[]): number[] =>
    ids.flatMap((id) => {
      const position = positions.get(id);
      return position === undefined ? [] : [position];
    });
  const outputs = order.map(({ node }) => outputsOf(node).map(targets));
  const first = positions.get(start) ?? -1;
  const upstream = upstreamOf(outputs);
  const given = marksBefore(
    outputs,
    first,
    order.map((_, position) => bit(position)),
  );
  return {
    before: given.map((mask, position) => mask & (upstream[position] ?? 0n)),
    anyBefore(position, does) {
      // A node beside this one may run later: only what lies upstream counts.
      const above = upstream[position] ?? 0n;
      const marks = order.map((_, other) => ((above >> BigInt(other)) & 1n && does(other) ? 1n : 0n));
      return marksBefore(outputs, first, marks)[position] === 1n;
    },
  };
}

/** By position: the marks of all nodes that surely run in a run that comes to it, wherever they are in the flow. */
function marksBefore(
  outputs: readonly (readonly (readonly number[])[])[],
  start: number,
  marks: readonly bigint[],
): bigint[] {
  /** The marks of what surely runs because a node runs, itself included. */
  const follows: bigint[] = marks.map(() => 0n);
  const followedBy = (next: readonly number[]): bigint =>
    next.reduce((mask, position) => mask | (follows[position] ?? 0n), 0n);
  for (let position = outputs.length - 1; position >= 0; position--) {
    const common = (outputs[position] ?? []).map(followedBy);
    follows[position] = (marks[position] ?? 0n) | common.reduce((mask, other) => mask & other, common[0] ?? 0n);
  }

  /** Undefined while no wire to the node was seen. */
  const given: (bigint | undefined)[] = outputs.map((_, position) => (position === start ? 0n : undefined));
  for (const [position, next] of outputs.entries()) {
    const known = given[position];
    if (known === undefined) continue;
    const own = known | (follows[position] ?? 0n);
    for (const output of next) {
      const ran = own | followedBy(output);
      for (const target of output) given[target] = (given[target] ?? ran) & ran;
    }
  }
  return given.map((mask) => mask ?? 0n);
}

function upstreamOf(outputs: readonly (readonly (readonly number[])[])[]): bigint[] {
  const upstream = outputs.map(() => 0n);
  for (const [position, next] of outputs.entries())
    for (const target of next.flat())
      upstream[target] = (upstream[target] ?? 0n) | (upstream[position] ?? 0n) | bit(position);
  return upstream;
}

/** Targets of each output of which exactly one is taken; a switch may also take `else`, wired or not. */
function outputsOf(node: NodeParts): readonly (readonly string[])[] {
  if (node.branches === undefined) return [Object.values(node.wires).flat()];
  return [...node.branches.map(({ name }) => name), otherwiseOf(node)].map((name) =>
    Object.hasOwn(node.wires, name) ? (node.wires[name] ?? []) : [],
  );
}
