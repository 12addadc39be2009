/** The operations on rules that are kept as files [rules §12], with their wire. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationCommand, automationQuestion } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import type { Capability } from './capability.ts';
import { differenceMembers } from './revisions.ts';
import { cooldownMsMax, priorityMax } from './rule-limits.ts';
import { nullable, successOf } from './wire.ts';

/** Rules that one plan may hold. */
const plannedRulesMax = 20_000;

const word = <S extends string>(value: S) => Type.Literal(value);
/** The whole rule: what is absent is as in a new rule, but `enabled`, which stays as it is. */
const fileRule = strict({
  key: wire.ruleKey,
  name: wire.ruleName,
  description: Type.Optional(nullable(wire.ruleDescription)),
  mode: Type.Optional(wire.ruleMode),
  enabled: Type.Optional(Type.Boolean()),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: priorityMax })),
  cooldown_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: cooldownMsMax })),
  trigger_config: Type.Optional(nullable(wire.sentDocument)),
  flow_json: Type.Optional(wire.sentDocument),
  nodes_json: Type.Optional(wire.sentDocument),
  tests: Type.Optional(wire.testList),
});
const rules = Type.Array(fileRule, { maxItems: plannedRulesMax });
const digest = Type.String({ pattern: '^[0-9a-f]{64}$', description: '64 hexadecimal digits' });
const action = Type.Union([word('create'), word('change'), word('delete'), word('unchanged')]);
const change = strict({
  key: Type.String(),
  name: Type.String(),
  action,
  rule_id: nullable(wire.ruleId),
  revision: nullable(Type.Integer()),
  drift: Type.Boolean(),
  enabled: nullable(strict({ before: Type.Boolean(), after: Type.Boolean() })),
  difference: nullable(strict(differenceMembers)),
  tests: nullable(
    strict({ passed: Type.Integer(), failures: Type.Array(strict({ name: Type.String(), message: Type.String() })) }),
  ),
  warnings: Type.Array(wire.warning),
});

export const ruleFiles = {
  plan: {
    ...automationQuestion({
      name: 'automation.rule.plan',
      summary: 'Plan the changes of a folder of rule files, without storing them',
      path: '/rules/plan',
      params: wire.noParams,
      query: wire.noQuery,
      body: strict({ rules }),
      answer: successOf(strict({ digest, changes: Type.Array(change) })),
    }),
    bodyLimit: 'plan',
  },
  apply: {
    ...automationCommand({
      name: 'automation.rule.apply',
      summary: 'Apply a plan of rules: exactly that one, as a whole',
      method: 'POST',
      path: '/rules/apply',
      risk: 'high',
      idempotent: true,
      params: wire.noParams,
      query: wire.noQuery,
      body: strict({ rules, digest, reason: Type.Optional(wire.reasonText), confirmed: wire.confirmed }),
      answer: successOf(
        strict({
          digest,
          applied: Type.Array(strict({ key: Type.String(), action, rule_id: wire.ruleId, revision: Type.Integer() })),
        }),
      ),
    }),
    bodyLimit: 'plan',
  },
} as const satisfies Record<string, Capability>;
