/** The draft as a rule that can be evaluated in the page, and the points that it reads. */
import type { Topology } from '../../../src/rules/topology.ts';
import { parseTrigger } from '../../../src/rules/trigger/parse.ts';
import type { Content } from '../editor/draft-history.ts';
import type { ConsoleCatalogue, ConsolePoint } from '../editor/site-catalogue.ts';
import { prepareTrial, type TrialRule } from './evaluate.ts';

interface Read {
  readonly point: ConsolePoint;
  readonly names: string;
}

/** The points that the flow reads, each once, with the names it reads them under. */
export function readsOf(topology: Topology, catalogue: ConsoleCatalogue): Read[] {
  const names = new Map<ConsolePoint, Set<string>>();
  for (const node of topology.nodes.values())
    for (const read of 'variables' in node ? (node.variables ?? []) : []) {
      const point = catalogue.point(read);
      if (point !== undefined) names.set(point, (names.get(point) ?? new Set()).add(read.name));
    }
  return [...names].map(([point, known]) => ({ point, names: [...known].join(', ') }));
}

interface DraftParts {
  readonly ruleId: number;
  readonly revision: number;
  readonly content: Content;
  readonly topology: Topology | null;
  readonly catalogue: ConsoleCatalogue;
}

/** Null while the draft has errors. */
export function preparedTrial({ ruleId, revision, content, topology, catalogue }: DraftParts): TrialRule | null {
  if (topology === null) return null;
  const parsed = content.trigger_config === null ? null : parseTrigger(content.trigger_config, catalogue);
  const trigger = parsed?.ok === true ? parsed.trigger : null;
  const source = { id: ruleId, revision, priority: content.priority, cooldownMs: content.cooldown_ms, trigger };
  return prepareTrial(source, topology, catalogue);
}
