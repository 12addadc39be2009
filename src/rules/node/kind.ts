/**
 * The interface of a node kind: the parser of its content, and its own computation. The parts that it shares with other kinds
 * (`NodeParts`) are checked, compiled and run the same way for all of them.
 */
import type { Reader } from '../issues.ts';
import type { ContentContext } from '../node-content.ts';
import type { NodeParts, Wires } from './parts.ts';

/** Parts that a node of the second dialect, or of the compact form, may have in addition. */
export type ExtraPart = 'variables' | 'assignments' | 'writes';

interface ReadContent<Content extends object> {
  readonly content: Content;
  /** Outputs that a wire may name, if they depend on the content. */
  readonly outputs?: readonly string[];
}

/** A value that the node computes from one variable, after its assignments. */
export interface Computed {
  /** The variable that gets the value. */
  readonly name: string;
  readonly input: string;
  /** The field that names the input. */
  readonly field: string;
  /** `memory` belongs to the node, is initially empty and survives restarts; `timezone` is the site's. */
  value(input: number, memory: number[], wallMs: number, timezone: string): number;
  /** The memory after a run that computed `output`. */
  memoryAfter(input: number, output: number, wallMs: number, timezone: string): readonly number[];
}

export interface NodeKindOf<Type extends string, Content extends object> {
  /** Its name in the topology. */
  readonly type: Type;
  /** Members of its `config`, in addition to `wires`. */
  readonly fields: readonly string[];
  readonly extras: readonly ExtraPart[];
  /** Outputs that every node of the kind has. */
  readonly outputs: readonly string[];
  /** True if the editor's document may omit `config`. */
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
