/**
 * The interface of a node kind: how its content is read, and what it computes itself. The parts that it shares with other kinds
 * (`NodeParts`) are checked, compiled and run the same way for all of them.
 */
import type { Reader } from '../issues.ts';
import type { ContentContext } from '../node-content.ts';
import type { NodeParts, Wires } from './parts.ts';

/** Parts that a node from the second dialect, or of the compact form, may have beside its own. */
export type ExtraPart = 'variables' | 'assignments' | 'writes';

interface ReadContent<Content extends object> {
  readonly content: Content;
  /** Outputs that a wire may name, when they follow from the content. */
  readonly outputs?: readonly string[];
}

/** A value that the node computes from one variable, after its assignments. */
export interface Computed {
  /** The variable that gets the value. */
  readonly name: string;
  readonly input: string;
  /** The field that names the input. */
  readonly field: string;
  /** `memory` belongs to the node, is empty at first and is kept over restarts; `timezone` is the site's. */
  value(input: number, memory: number[], wallMs: number, timezone: string): number;
  /** The memory that a run left behind that computed `output`. */
  memoryAfter(input: number, output: number, wallMs: number, timezone: string): readonly number[];
}

export interface NodeKindOf<Type extends string, Content extends object> {
  /** Its name in the topology. */
  readonly type: Type;
  /** Members of its `config`, beside `wires`. */
  readonly fields: readonly string[];
  readonly extras: readonly ExtraPart[];
  /** Outputs that every node of the kind has. */
  readonly outputs: readonly string[];
  /** True when the editor's document may leave `config` out. */
  readonly bare?: boolean;
  read(config: Reader, context: ContentContext): ReadContent<Content> | undefined;
  computed?(content: Content): Computed;
  /** How many numbers at the front of the node's memory must be stored at once when they change. */
  readonly urgentMemory?: number;
}

/** A node of the topology. */
export type NodeOf<Kind> =
  Kind extends NodeKindOf<infer Type, infer Content>
    ? { readonly type: Type; readonly wires: Wires } & Content & Pick<NodeParts, ExtraPart>
    : never;
