/**
 * Rule files [rules §9]: `{"schema":"svc.rules.v1","rules":[…]}`, each rule in the editor
 * form or, for a legacy compact-only rule, as `nodes_json`.
 */
import Type, { type Static } from 'typebox';
import { characters, testList } from '../api/automation-schemas.ts';
import { cooldownMsMax, nameMax, priorityMax } from '../api/rule-limits.ts';
import { decoder } from '../base/decode.ts';
import { Fault } from '../base/fault.ts';
import { JsonError, parseJson } from '../base/json.ts';
import { emptyTopologyText } from '../rules/serialise.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import { deriveColumns } from './rule-document.ts';
import { testsOf, testsText } from './rule-tests.ts';
import { parsedOrNull } from './rule-view.ts';
import type { RuleChanges } from './store/rule-store.ts';
import type { RuleRow } from './store/rule-table.ts';

const ruleFileSchema = 'svc.rules.v1';

const optionalNull = <T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

const ruleEntry = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 1000, pattern: '\\S', description: 'more than blanks' }),
    description: optionalNull(Type.String({ maxLength: 2000 })),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: priorityMax })),
    cooldown_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: cooldownMsMax })),
    trigger_config: optionalNull(Type.Object({})),
    flow_json: optionalNull(Type.Object({})),
    nodes_json: Type.Optional(Type.Object({})),
    tests: Type.Optional(testList),
  },
  { additionalProperties: false },
);
const ruleFile = Type.Object(
  { schema: Type.Literal(ruleFileSchema), rules: Type.Array(ruleEntry, { maxItems: 20_000 }) },
  { additionalProperties: false },
);

type RuleEntry = Static<typeof ruleEntry>;
const decodeFile = decoder(ruleFile);

/** One rule of a file, checked and derived. `changes` has the members that the file has: what is absent stays as it is, or is as in a new rule. */
export interface ImportedRule {
  readonly name: string;
  readonly description: string | null;
  readonly changes: RuleChanges;
}

export type ReadRules =
  | { readonly ok: true; readonly rules: ImportedRule[] }
  | { readonly ok: false; readonly problems: string[] };

/** Reads one file; every problem of every rule, each as one line that names the file and the rule. */
export function decodeRuleFile(fileName: string, text: string, catalogue: SiteCatalogue): ReadRules {
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { ok: false, problems: [`${fileName}: ${error.message}`] };
  }
  const decoded = decodeFile(document);
  if (!decoded.ok)
    return { ok: false, problems: decoded.issues.map(({ path, message }) => `${fileName}: ${path || '/'} ${message}`) };
  const rules: ImportedRule[] = [];
  const problems: string[] = [];
  for (const [index, entry] of decoded.value.rules.entries()) {
    try {
      rules.push(readRule(entry, catalogue));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      for (const line of linesOf(error)) problems.push(`${fileName}: rules/${index} (${entry.name}): ${line}`);
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rules };
}

function readRule(entry: RuleEntry, catalogue: SiteCatalogue): ImportedRule {
  const name = entry.name.trim();
  if (characters(name) > nameMax) throw new Fault('invalid-input', `the name has more than ${nameMax} characters`);
  const flow = entry.flow_json ?? undefined;
  if (flow !== undefined && entry.nodes_json !== undefined)
    throw new Fault('invalid-input', 'send flow_json or nodes_json, not both');
  // `{}` is what an export writes for a stub.
  const nodes =
    entry.nodes_json !== undefined && Object.keys(entry.nodes_json).length === 0 ? undefined : entry.nodes_json;
  const derived = deriveColumns(
    {
      flow_json: flow,
      nodes_json: nodes,
      ...(entry.trigger_config === undefined ? {} : { trigger_config: entry.trigger_config }),
    },
    catalogue,
  );
  const { description, priority, cooldown_ms, tests } = entry;
  const hasFlow = entry.flow_json !== undefined || entry.nodes_json !== undefined;
  const { flow_json, nodes_json } = derived.flow ?? { flow_json: null, nodes_json: emptyTopologyText };
  return {
    name,
    description: description ?? null,
    changes: {
      name,
      ...(description === undefined ? {} : { description }),
      ...(priority === undefined ? {} : { priority }),
      ...(cooldown_ms === undefined ? {} : { cooldown_ms }),
      ...(derived.trigger === undefined ? {} : { trigger_config: derived.trigger.trigger_config }),
      ...(hasFlow ? { flow: { flow_json, nodes_json } } : {}),
      ...(tests === undefined ? {} : { tests: testsText(tests) }),
      enabled: false,
    },
  };
}

function linesOf(fault: Fault): string[] {
  const issues = fault.details?.['issues'];
  if (!Array.isArray(issues) || issues.length === 0) return [fault.message];
  return issues.map((issue: { path?: string; message?: string }) =>
    `${issue.path ?? ''} ${issue.message ?? ''}`.trim(),
  );
}

/** The stored rules in the form that an import reads; enabled or not, ids and revisions left out. */
export function ruleFileOf(rows: readonly RuleRow[]): string {
  const rules = rows.map((row) => ({
    name: row.name,
    description: row.description,
    priority: row.priority,
    cooldown_ms: row.cooldown_ms,
    trigger_config: row.trigger_config === null ? null : parsedOrNull(row.trigger_config),
    // A compact-only rule has no editor document: only its topology is exported.
    ...(row.flow_json === null
      ? { nodes_json: parsedOrNull(row.nodes_json) }
      : { flow_json: parsedOrNull(row.flow_json) }),
    ...(row.tests === null ? {} : { tests: testsOf(row) }),
  }));
  return `${JSON.stringify({ schema: ruleFileSchema, rules }, null, 2)}\n`;
}
