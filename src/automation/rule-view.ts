/** A stored rule as in the API and the audit details [rules §2.2]. */
import { atOnce } from '../base/turns.ts';
import type { RuleRow } from './store/rule-table.ts';

export function ruleView(row: RuleRow) {
  return atOnce(ruleViewSteps(row));
}

/** As `ruleView`, one step per document: each may be as large as a request. */
export function* ruleViewSteps(row: RuleRow) {
  const flow = row.flow_json === null ? null : parsedOrNull(row.flow_json);
  yield;
  const nodes = parsedOrNull(row.nodes_json);
  yield;
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    enabled: row.enabled,
    mode: row.mode,
    priority: row.priority,
    cooldown_ms: row.cooldown_ms,
    trigger_config: row.trigger_config === null ? null : parsedOrNull(row.trigger_config),
    flow_json: flow,
    nodes_json: nodes,
    revision: row.revision,
    created_at: row.created_at,
    updated_at: row.updated_at,
    tests: row.tests === null ? [] : parsedOrNull(row.tests),
    key: row.key,
    applied_revision: row.applied_revision,
  };
}

/**
 * The same view as JSON text, with the documents byte for byte as stored: after parsing and serializing, nodes with
 * integer-like ids would change their order [rules §4.7].
 */
export function ruleText(row: RuleRow): string {
  const known = texts.get(row);
  if (known !== undefined) return known;
  const documents: Readonly<Record<string, string | null>> = {
    trigger_config: row.trigger_config,
    flow_json: row.flow_json,
    nodes_json: row.nodes_json,
    tests: row.tests,
  };
  const members = Object.entries(ruleView(row)).map(([name, value]) => {
    // Null for an absent or damaged document.
    const text = value === null ? null : documents[name];
    return `${JSON.stringify(name)}:${text ?? JSON.stringify(value)}`;
  });
  const text = `{${members.join(',')}}`;
  texts.set(row, text);
  return text;
}

/** For rows that are cached while nothing changes. */
const texts = new WeakMap<RuleRow, string>();

/** A column that was damaged by hand reads as null instead of failing the whole answer. */
export function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
