/** Which points a stored topology may write, by name; what a dialog tells before a rule is let loose. */

import { isObject } from '../../../src/base/json.ts';
import type { SiteView } from '../server/queries.ts';

/** Null for a rule without a flow. */
export function writtenPoints(topology: object, site: SiteView): string[] | null {
  const nodes = 'nodes' in topology && isObject(topology.nodes) ? Object.values(topology.nodes) : [];
  if (nodes.length === 0) return null;
  const names = nodes.flatMap((node) => {
    const writes: unknown = isObject(node) ? node['writes'] : undefined;
    return Array.isArray(writes) ? writes.map((write: unknown) => nameOf(write, site)) : [];
  });
  return [...new Set(names)].toSorted();
}

function nameOf(write: unknown, site: SiteView): string {
  if (!isObject(write)) return '?';
  const kind = write['point_type'] ?? 'action';
  const instance = site.instances.find(({ id }) => id === write['instance']);
  const point = instance?.points.find((candidate) => candidate.id === write['point'] && candidate.kind === kind);
  return `${instance?.name ?? String(write['instance'])} · ${point?.name ?? String(write['point'])}`;
}
