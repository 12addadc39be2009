/** Compares two states of a rule [rules §1.5]: the semantic difference, and both in words. */
import { inTurns } from '../base/turns.ts';
import { type ComparedRule, type RuleDifference, ruleDifference } from '../rules/difference.ts';
import { englishDuration, englishNumber, englishSentence } from '../rules/english.ts';
import { isFields } from '../rules/issues.ts';
import type { NodeParts } from '../rules/node/parts.ts';
import { sentenceOf } from '../rules/sentence.ts';
import type { AutomationParts } from './automation-parts.ts';
import { topologySteps, triggerOf } from './rule-document.ts';
import { testsOf } from './rule-tests.ts';
import { parsedOrNull } from './rule-view.ts';
import type { RuleRow } from './store/rule-table.ts';

export interface RuleComparison extends RuleDifference {
  readonly sentence: { readonly before: string | null; readonly after: string | null };
}

export async function compared(parts: AutomationParts, before: RuleRow, after: RuleRow): Promise<RuleComparison> {
  const sentence = { before: await inWords(parts, before), after: await inWords(parts, after) };
  return { ...ruleDifference(comparable(before), comparable(after)), sentence };
}

function comparable(row: RuleRow): ComparedRule {
  const { name, description, mode, priority, cooldown_ms } = row;
  const trigger = row.trigger_config === null ? null : parsedOrNull(row.trigger_config);
  const topology = parsedOrNull(row.nodes_json);
  const nodes = isFields(topology) && isFields(topology['nodes']) ? topology['nodes'] : {};
  return {
    settings: { name, description, mode, priority, cooldown_ms, trigger_config: trigger, tests: testsOf(row) },
    flow: row.flow_json === null ? null : parsedOrNull(row.flow_json),
    // Only this program writes the column.
    nodes: new Map(Object.entries(nodes as Readonly<Record<string, NodeParts>>)),
  };
}

/** Null for a rule without a flow, and for one that refers to something the site no longer has. */
async function inWords(parts: AutomationParts, row: RuleRow): Promise<string | null> {
  const catalogue = parts.catalogue();
  const topology = await inTurns(parts.clock, topologySteps(row.nodes_json, catalogue));
  if (topology === null) return null;
  const instances = new Map(parts.site().instances.map(({ id, name }) => [id, name]));
  const trigger = triggerOf(row.trigger_config, catalogue);
  return sentenceOf(
    { trigger, cooldown_ms: row.cooldown_ms, topology },
    {
      words: englishSentence,
      number: englishNumber,
      duration: englishDuration,
      point(ref) {
        const point = catalogue.point(ref);
        const instance = instances.get(ref.instance) ?? String(ref.instance);
        return point === undefined ? undefined : { label: `${instance} · ${point.name}`, unit: point.unit };
      },
    },
  );
}
