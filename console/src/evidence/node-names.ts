/** Node labels for reports, which contain node ids. */
import { isFields } from '../../../src/rules/issues.ts';

export type NodeNames = (id: string) => string;

/** The label of each node. Nodes with the same label also show their ids; nodes without a label show only their id. */
export function nodeNames(flow: unknown): NodeNames {
  const nodes: unknown = isFields(flow) ? flow['nodes'] : undefined;
  const labels = new Map<unknown, unknown>(
    (Array.isArray(nodes) ? nodes : [])
      .filter(isFields)
      .map(({ id, data }) => [id, isFields(data) ? data['label'] : undefined]),
  );
  const all = [...labels.values()];
  return (id) => {
    const label = labels.get(id);
    if (typeof label !== 'string' || label === '') return id;
    return all.indexOf(label) === all.lastIndexOf(label) ? label : `${label} (${id})`;
  };
}
