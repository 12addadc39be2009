/** The rules that read or write a point, with what they compare it with [points §8.4]. */
import { topologySteps } from '../automation/rule-document.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import type { Clock } from '../base/clock.ts';
import { inTurns } from '../base/turns.ts';
import { pointUse, type Threshold } from '../rules/point-use.ts';
import type { PointFacts, SiteCatalogue } from '../site/catalogue.ts';

export interface RulesOfPoint {
  readonly readers: readonly {
    readonly rule_id: number;
    readonly name: string;
    readonly enabled: boolean;
    readonly thresholds: readonly Threshold[];
  }[];
  readonly writers: readonly {
    readonly rule_id: number;
    readonly name: string;
    readonly enabled: boolean;
    readonly node_ids: readonly string[];
  }[];
}

/** Rules read from the store at once. */
const rulesPerRead = 100;

export async function rulesOfPoint(
  parts: { readonly clock: Clock; readonly store: Pick<RuleStore, 'heads' | 'engineRules' | 'names'> },
  point: PointFacts,
  catalogue: SiteCatalogue,
): Promise<RulesOfPoint> {
  const readers: Omit<RulesOfPoint['readers'][number], 'name'>[] = [];
  const writers: Omit<RulesOfPoint['writers'][number], 'name'>[] = [];
  const ids = (await parts.store.heads()).map(({ id }) => id);
  for (let from = 0; from < ids.length; from += rulesPerRead) {
    for (const { id, enabled, nodes_json } of await parts.store.engineRules(ids.slice(from, from + rulesPerRead))) {
      // Most rules do not name the point: what tells so without parsing spares nearly all of the work.
      if (!nodes_json.includes(`"point":${point.point}`)) continue;
      const topology = await inTurns(parts.clock, topologySteps(nodes_json, catalogue));
      if (topology === null) continue;
      const { reads, thresholds, writes } = pointUse(topology, point, catalogue);
      if (reads) readers.push({ rule_id: id, enabled, thresholds });
      if (writes.length > 0) writers.push({ rule_id: id, enabled, node_ids: writes });
    }
  }
  const names = await parts.store.names([...new Set([...readers, ...writers].map(({ rule_id: id }) => id))]);
  const named = <T extends { readonly rule_id: number }>(use: T) => ({ ...use, name: names.get(use.rule_id) ?? '' });
  return { readers: readers.map(named), writers: writers.map(named) };
}
