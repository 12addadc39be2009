/** Rules in a file: `{"schema":"svc.rules.v1","rules":[…]}` [rules §9], read strictly and written by the editor. */
import { isObject, JsonError, parseJson } from '../../../src/base/json.ts';
import { ruleListWords } from '../strings/rule-list.ts';

const words = ruleListWords.importDialog;
const schema = 'svc.rules.v1';
const rulesMax = 1000;

export interface FileRule {
  readonly name: string;
  readonly description: string | null;
  readonly priority: number;
  readonly cooldown_ms: number;
  readonly trigger_config: object | null;
  readonly flow_json: object;
}

/** Throws an Error whose message can be shown. The service's own checks are left to the service. */
export function readRuleFile(text: string): FileRule[] {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new Error(words.notJson(error instanceof JsonError ? error.message : ''), { cause: error });
  }
  if (!isObject(value) || value['schema'] !== schema || !Array.isArray(value['rules'])) throw new Error(words.notRules);
  if (value['rules'].length === 0) throw new Error(words.empty);
  if (value['rules'].length > rulesMax) throw new Error(words.tooMany(rulesMax));
  return value['rules'].map((rule: unknown, index) => readRule(rule, index + 1));
}

function readRule(rule: unknown, at: number): FileRule {
  if (!isObject(rule)) throw new Error(words.badRule(at));
  const { name, description = null, priority = 0, cooldown_ms: cooldownMs = 0, trigger_config: trigger = null } = rule;
  const { flow_json: flow } = rule;
  if (typeof name !== 'string' || (description !== null && typeof description !== 'string'))
    throw new Error(words.badRule(at));
  if (typeof priority !== 'number' || typeof cooldownMs !== 'number') throw new Error(words.badRule(at));
  if (!isObject(flow)) throw new Error(words.noFlow(name));
  if (trigger !== null && !isObject(trigger)) throw new Error(words.badRule(at));
  return { name, description, priority, cooldown_ms: cooldownMs, trigger_config: trigger, flow_json: flow };
}

export function ruleFileText(rules: readonly FileRule[]): string {
  return `${JSON.stringify({ schema, rules }, null, 2)}\n`;
}
