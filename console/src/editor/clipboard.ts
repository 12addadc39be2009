/** Nodes as text: copied as `{"nodes":[…]}`, pasted from that or from any flow document. */
import { parseJson } from '../../../src/base/json.ts';
import { type FlowDocument, type FlowNode, readDocument } from './flow-document.ts';

export function copiedText(document: FlowDocument, ids: ReadonlySet<string>): { text: string; count: number } {
  const nodes = document.nodes.filter(({ id }) => ids.has(id));
  return { text: JSON.stringify({ nodes }, null, 2), count: nodes.length };
}

/** Null for a text that is not a flow. */
export function pastedNodes(text: string): readonly FlowNode[] | null {
  try {
    const nodes = readDocument(parseJson(text))?.nodes;
    return nodes === undefined || nodes.length === 0 ? null : nodes;
  } catch {
    return null;
  }
}
