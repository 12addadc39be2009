/** Renaming in a flow: a renamed branch keeps its wires, and expressions follow a renamed variable. */
import type { Fields } from '../../../src/rules/issues.ts';
import { nodeView } from '../node/index.ts';
import { changeConfig, setBranches } from './edit-flow.ts';
import { configOf, entriesOf, type FlowDocument, type FlowNode, nodeOf, textOf } from './flow-document.ts';
import { nativeKindOf } from './node-kinds.ts';

/** The declaration of a variable: an entry of one of the node's lists, or a member of its own. */
export type NamePlace = { readonly list: string; readonly at: number } | { readonly field: string };

const numbersAndNames = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z_][A-Za-z0-9_]*/g;

/** The expression with every use of one name replaced by another [rules §5.1]. */
export function withName(expression: string, from: string, to: string): string {
  return expression.replaceAll(numbersAndNames, (word) => (word === from ? to : word));
}

/** Number of declarations of the name in the flow. */
export function declarations(document: FlowDocument, name: string): number {
  return document.nodes.flatMap(namesOf).filter((declared) => declared === name).length;
}

function namesOf(node: FlowNode): string[] {
  const listed = ['variables', 'parameters', 'assignments'].flatMap((list) =>
    entriesOf(node, list).map(({ name }) => textOf(name)),
  );
  const computed = nodeView(nativeKindOf(node)).computed?.(configOf(node));
  return computed === undefined ? listed : [...listed, computed.name];
}

/**
 * Renames a variable. Expressions and selections that read it follow, unless another place declares either
 * name: then it is unknown which of them an expression means.
 */
export function renameVariable(document: FlowDocument, id: string, place: NamePlace, to: string): FlowDocument {
  const node = nodeOf(document, id);
  if (node === undefined) return document;
  const entry = 'field' in place ? undefined : entriesOf(node, place.list)[place.at];
  const from = textOf('field' in place ? configOf(node)[place.field] : entry?.['name']);
  const follows = from !== '' && declarations(document, from) === 1 && declarations(document, to) === 0;
  const declared = changeConfig(document, id, (config) =>
    'field' in place
      ? { ...config, [place.field]: to }
      : {
          ...config,
          [place.list]: entriesOf(node, place.list).map((other) => (other === entry ? { ...other, name: to } : other)),
        },
  );
  if (!follows) return declared;
  return declared.nodes.reduce(
    (changed, { id: reader }) => changeConfig(changed, reader, (config, reading) => readAs(config, reading, from, to)),
    declared,
  );
}

/** The expressions of a node's lists. */
const expressions: Readonly<Record<string, string>> = { branches: 'when', assignments: 'expression', writes: 'value' };

/** The same object for a node that does not read the name. */
function readAs(config: Fields, node: FlowNode, from: string, to: string): Fields {
  const changed: Record<string, unknown> = {};
  for (const [list, member] of Object.entries(expressions)) {
    const entries = entriesOf(node, list);
    const next = entries.map((entry) => {
      const text = entry[member];
      const renamed = typeof text === 'string' ? withName(text, from, to) : text;
      return renamed === text ? entry : { ...entry, [member]: renamed };
    });
    if (next.some((entry, at) => entry !== entries[at])) changed[list] = next;
  }
  for (const { name, control } of nodeView(nativeKindOf(node)).fields ?? [])
    if (control === 'variable' && config[name] === from) changed[name] = to;
  return Object.keys(changed).length === 0 ? config : { ...config, ...changed };
}

/** Renames a branch; no other branch of the node may have the name. */
export function renameBranch(document: FlowDocument, id: string, at: number, to: string): FlowDocument {
  const node = nodeOf(document, id);
  if (node === undefined) return document;
  const branches = entriesOf(node, 'branches');
  const from = textOf(branches[at]?.['name']);
  const next = branches.map((branch, position) => (position === at ? { ...branch, name: to } : branch));
  return setBranches(document, id, next, { from, to });
}
