/** The difference between two contents of a rule, computed in the page with the service's own comparison [rules §1.5]. */
import { type ComparedRule, type RuleDifference, ruleDifference } from '../../../src/rules/difference.ts';
import type { Topology } from '../../../src/rules/topology.ts';
import { parseTrigger } from '../../../src/rules/trigger/parse.ts';
import type { Content } from './draft-history.ts';
import { checkContent } from './problems.ts';
import { ruleInWords } from './rule-in-words.ts';
import type { ConsoleCatalogue } from './site-catalogue.ts';

export interface ContentDifference extends RuleDifference {
  /** The rule in words; null without a flow, or with errors. */
  readonly sentence: { readonly before: string | null; readonly after: string | null };
}

export function contentDifference(before: Content, after: Content, catalogue: ConsoleCatalogue): ContentDifference {
  const old = checkContent(before, catalogue).topology;
  const now = checkContent(after, catalogue).topology;
  // With errors on one side, wires and actuators are unknown: only the drawings are compared.
  const areKnown = (old !== null || before.flow === null) && (now !== null || after.flow === null);
  return {
    ...ruleDifference(compared(before, areKnown ? old : null), compared(after, areKnown ? now : null)),
    sentence: { before: inWords(before, old, catalogue), after: inWords(after, now, catalogue) },
  };
}

function compared({ flow, ...settings }: Content, topology: Topology | null): ComparedRule {
  return { settings, flow, nodes: topology?.nodes ?? new Map() };
}

function inWords(content: Content, topology: Topology | null, catalogue: ConsoleCatalogue): string | null {
  if (topology === null) return null;
  const trigger = content.trigger_config === null ? null : parseTrigger(content.trigger_config, catalogue);
  if (trigger?.ok === false) return null;
  return ruleInWords(content, trigger?.trigger ?? null, topology, catalogue);
}
