/** How the editor presents a kind of node: title, colour, initial content, fields. */
import type { Fields } from '../../../src/rules/issues.ts';
import type { NodeParts } from '../../../src/rules/node/parts.ts';

/** The lists in a node. Each list has the same form and rows in every kind of node. */
export type PartName = keyof Omit<NodeParts, 'type' | 'wires'>;

/** A member of `config` with a single value. */
export interface NodeField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** `variable` selects a variable declared upstream, `name` is a variable name, an object maps choices to labels. */
  readonly control: 'variable' | 'name' | 'text' | Readonly<Record<string, string>>;
}

export interface NodeView {
  readonly title: string;
  readonly about: string;
  /** Colour of the node on the canvas. */
  readonly tone: 'unknown' | 'plain' | 'reads' | 'decides' | 'computes' | 'writes';
  readonly parts: readonly PartName[];
  /** Shown in an empty node. */
  readonly empty?: string;
  readonly fields?: readonly NodeField[];
  starting(): Fields;
  /** The variable that the node computes, its input, and a short detail. */
  computed?(config: Fields): { readonly name: string; readonly from: string; readonly detail: string };
}
