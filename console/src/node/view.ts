/** What the editor knows of a kind of node beyond its content: its words, what it begins as, its fields. */
import type { Fields } from '../../../src/rules/issues.ts';
import type { NodeParts } from '../../../src/rules/node/parts.ts';

/** Lists that a node holds; each has one form and one kind of row, whichever kind of node it stands in. */
export type PartName = keyof Omit<NodeParts, 'type' | 'wires'>;

/** A member of `config` that is one value. */
export interface NodeField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** `variable`: one that is declared before the node; `name`: of a variable; a list of choices with their labels. */
  readonly control: 'variable' | 'name' | 'text' | Readonly<Record<string, string>>;
}

export interface NodeView {
  readonly title: string;
  readonly about: string;
  /** Colour of the node on the canvas. */
  readonly tone: 'unknown' | 'plain' | 'reads' | 'decides' | 'computes' | 'writes';
  readonly parts: readonly PartName[];
  /** Said inside a node that holds nothing yet. */
  readonly empty?: string;
  readonly fields?: readonly NodeField[];
  starting(): Fields;
  /** The variable that the node computes from its fields, and how, in a few words. */
  computed?(config: Fields): { readonly name: string; readonly from: string; readonly detail: string };
}
