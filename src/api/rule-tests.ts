/** The operation that runs the tests of a rule [rules §11.2], with its wire; the tests themselves are `testList`. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationQuestion } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import { nullable, successOf } from './wire.ts';

/** A stored rule, a draft of one, or a rule of a file: what is absent is as in the stored rule. */
const body = strict({
  rule_id: Type.Optional(wire.ruleId),
  flow_json: Type.Optional(wire.sentDocument),
  nodes_json: Type.Optional(wire.sentDocument),
  tests: Type.Optional(wire.testList),
});

const answer = successOf(
  strict({
    rule_id: nullable(wire.ruleId),
    passed: Type.Integer(),
    failed: Type.Integer(),
    results: Type.Array(
      strict({
        name: Type.String(),
        passed: Type.Boolean(),
        differences: Type.Array(strict({ field: Type.String(), expected: Type.Unknown(), actual: Type.Unknown() })),
        outcome: nullable(wire.outcome),
        error: nullable(Type.String()),
        writes: Type.Array(strict({ instance: Type.Integer(), point: Type.Integer(), value: Type.Number() })),
      }),
    ),
  }),
);

export const ruleTests = {
  run: automationQuestion({
    name: 'automation.rule.test',
    summary: 'Run the tests of a rule, or of a draft; nothing is stored or sent',
    path: '/rules/test',
    params: wire.noParams,
    query: wire.noQuery,
    body,
    answer,
  }),
} as const;
