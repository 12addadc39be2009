/** The variables of a rule with their current values: `GET /api/rules/{id}/variables` [rules §2.6]. */
import { timeLabel } from '../base/timestamp.ts';
import { maxAgeOf } from '../rules/node/parts.ts';
import type { Topology } from '../rules/topology.ts';
import type { PointKind, SiteCatalogue } from '../site/catalogue.ts';
import type { QualityWord } from '../site/quality.ts';
import { qualityWord, type Snapshot, usable } from '../site/snapshot.ts';

export interface RuleVariable {
  readonly name: string;
  readonly node_ids: readonly string[];
  readonly instance: number;
  readonly point_type: PointKind;
  readonly point: number;
  readonly unit: string;
  /** Null if the variable is unavailable: a run would be skipped now. */
  readonly value: number | null;
  readonly quality: QualityWord;
  /** When the value was read from its source; null if it never was. */
  readonly observed_at: string | null;
}

export function variablesOf(topology: Topology, catalogue: SiteCatalogue, snapshot: Snapshot): RuleVariable[] {
  const found = new Map<string, RuleVariable & { node_ids: string[] }>();
  for (const [nodeId, node] of topology.nodes) {
    if (!('variables' in node) || node.variables === undefined) continue;
    for (const read of node.variables) {
      const facts = catalogue.point(read);
      if (facts === undefined) throw new Error('a checked topology reads an unknown point');
      const maxAgeMs = maxAgeOf(read, facts);
      const key = `${read.name} ${facts.index} ${maxAgeMs}`;
      const known = found.get(key);
      if (known !== undefined) {
        known.node_ids.push(nodeId);
        continue;
      }
      found.set(key, {
        name: read.name,
        node_ids: [nodeId],
        instance: read.instance,
        point_type: read.point_type,
        point: read.point,
        unit: facts.unit,
        ...reading(snapshot, facts.index, maxAgeMs),
      });
    }
  }
  return [...found.values()];
}

function reading(
  snapshot: Snapshot,
  index: number,
  maxAgeMs: number,
): Pick<RuleVariable, 'value' | 'quality' | 'observed_at'> {
  const word = qualityWord(snapshot, index, maxAgeMs);
  const ageMs = snapshot.monotonicMs - (snapshot.observedMs[index] ?? 0);
  return {
    value: usable(snapshot, index, maxAgeMs) ? (snapshot.values[index] ?? Number.NaN) : null,
    quality: word,
    observed_at: word === 'missing' ? null : timeLabel(snapshot.wallMs - ageMs),
  };
}
