/**
 * A flow document [rules §4.1] in the editor: parsed once into the few members that drawing needs, everything else
 * preserved in its order. Untouched parts are saved byte for byte.
 */
import { type Fields, isFields } from '../../../src/rules/issues.ts';
import { withPlaces } from '../../../src/rules/placed-nodes.ts';

export interface Position {
  readonly x: number;
  readonly y: number;
}

export interface FlowNode extends Fields {
  readonly id: string;
  readonly type: string;
  readonly position: Position;
  readonly data?: Fields;
}

export interface FlowEdge extends Fields {
  readonly source: string;
  readonly target: string;
}

export interface FlowDocument extends Fields {
  readonly nodes: readonly FlowNode[];
  readonly edges?: readonly unknown[];
}

export type DrawnWires = Readonly<Record<string, readonly string[]>>;

/** The document, or null for a value that has no drawable nodes: those need an id, a type and, at most, odd positions. */
export function readDocument(value: unknown): FlowDocument | null {
  if (!isFields(value) || !Array.isArray(value['nodes'])) return null;
  const nodes: FlowNode[] = [];
  const ids = new Set<string>();
  for (const node of value['nodes'] as unknown[]) {
    const read = readNode(node);
    if (read === null || ids.has(read.id)) return null;
    ids.add(read.id);
    nodes.push(read);
  }
  const { edges } = value;
  if (edges !== undefined && !Array.isArray(edges)) return null;
  return { ...value, nodes, ...(edges === undefined ? {} : { edges: edges as unknown[] }) };
}

/** The document as it is drawn. Nodes that all have the same position, as programs write them, are laid out along their wires. */
export function drawnDocument(value: unknown): FlowDocument | null {
  const document = readDocument(value);
  const [first, ...others] = document?.nodes ?? [];
  const isHeap = ({ position: { x, y } }: FlowNode): boolean => x === first?.position.x && y === first.position.y;
  if (document === null || others.length === 0 || !others.every(isHeap)) return document;
  return readDocument(
    withPlaces({ ...document, nodes: document.nodes.map((node) => ({ ...node, position: undefined })) }, null),
  );
}

function readNode(value: unknown): FlowNode | null {
  if (!isFields(value)) return null;
  const { id, type, position, data } = value;
  if (typeof id !== 'string' || typeof type !== 'string') return null;
  if (data !== undefined && !isFields(data)) return null;
  const place = readPosition(position);
  if (place === null) return null;
  // The members are the validated ones; their order is preserved.
  return { ...value, id, type, position: place, ...(data === undefined ? {} : { data }) };
}

function readPosition(value: unknown): Position | null {
  if (!isFields(value)) return null;
  const { x, y } = value;
  return typeof x === 'number' && typeof y === 'number' ? { ...value, x, y } : null;
}

export function configOf(node: FlowNode): Fields {
  const config = node.data?.['config'];
  return isFields(config) ? config : {};
}

/** In the second dialect, `data.type` is the kind. */
export function customType(node: FlowNode): string | null {
  const type = node.type === 'custom' ? node.data?.['type'] : undefined;
  return typeof type === 'string' ? type : null;
}

export function wiresOf(node: FlowNode): DrawnWires {
  const wires = configOf(node)['wires'];
  if (!isFields(wires)) return {};
  return Object.fromEntries(Object.entries(wires).map(([output, targets]) => [output, strings(targets)]));
}

export function labelOf(node: FlowNode): string {
  const label = node.data?.['label'];
  return typeof label === 'string' && label !== '' ? label : '';
}

export function nodeOf(document: FlowDocument, id: string): FlowNode | undefined {
  return document.nodes.find((node) => node.id === id);
}

/** The objects of a list in a node's config; other values count as empty objects, so that positions match. */
export function entriesOf(node: FlowNode, list: string): Fields[] {
  const value = configOf(node)[list];
  return Array.isArray(value) ? value.map((entry: unknown) => (isFields(entry) ? entry : {})) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item: unknown) => typeof item === 'string') : [];
}

/** Start and end, side by side and unconnected: the initial flow of a rule. */
export function newDocument(): FlowDocument {
  return {
    nodes: [
      { id: 'start', type: 'start', position: { x: 0, y: 120 }, data: { config: { wires: { default: [] } } } },
      { id: 'end', type: 'end', position: { x: 760, y: 120 }, data: { config: { wires: {} } } },
    ],
    edges: [],
  };
}
