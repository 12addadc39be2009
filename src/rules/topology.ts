/**
 * The execution topology (`nodes_json`) [rules §4.7]: what is left of a flow when positions, labels and
 * drawing are discarded. Both dialects parse into it; the executor compiles it.
 */
import type { Formulas } from './expression/parse.ts';
import type { TopologyNode } from './node/index.ts';

export interface Topology {
  readonly start_node: string;
  /** In topological order, ties by code unit. A Map, because plain objects reorder integer-like keys. */
  readonly nodes: ReadonlyMap<string, TopologyNode>;
  /** The expressions of its nodes, parsed when it was read. */
  readonly formulas: Formulas;
}
