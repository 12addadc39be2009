/** The operations on the revisions of rules [rules §1.4], [rules §1.5], with their wire. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationCommand, automationQuery, automationQuestion } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import type { Capability } from './capability.ts';
import { decimal, idText } from './decimal.ts';
import { cooldownMsMax, priorityMax } from './rule-limits.ts';
import { moment, nullable, successOf } from './wire.ts';

const word = <S extends string>(value: S) => Type.Literal(value);
const revisionsQuery = strict({ before: Type.Optional(idText), limit: Type.Optional(decimal(1, 100)) });
const revisionParams = strict({ id: idText, revision: idText });
const restoreBody = strict({
  revision: wire.revisionNumber,
  expected_revision: Type.Optional(wire.revisionNumber),
  reason: Type.Optional(wire.reasonText),
  confirmed: wire.confirmed,
});
const duplicateBody = strict({
  name: wire.ruleName,
  reason: Type.Optional(wire.reasonText),
  confirmed: wire.confirmed,
});
const differenceQuery = strict({ from: idText, to: Type.Optional(idText) });
/** A draft: what it does not name is as in the stored rule. */
const draftBody = strict({
  from: Type.Optional(wire.revisionNumber),
  name: Type.Optional(wire.ruleName),
  description: Type.Optional(nullable(wire.ruleDescription)),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: priorityMax })),
  cooldown_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: cooldownMsMax })),
  trigger_config: Type.Optional(nullable(wire.sentDocument)),
  flow_json: Type.Optional(wire.sentDocument),
  tests: Type.Optional(wire.testList),
});

const changeClass = Type.Union([
  word('layout'),
  word('wording'),
  word('settings'),
  word('expression'),
  word('wiring'),
  word('added'),
  word('removed'),
]);
const revisionMembers = {
  revision: Type.Integer(),
  name: Type.String(),
  enabled: Type.Boolean(),
  mode: wire.ruleMode,
  digest: Type.String(),
  action: nullable(Type.String()),
  author: nullable(strict({ kind: Type.String(), id: Type.String() })),
  at: moment,
  correlation_id: nullable(Type.String()),
  reason: nullable(Type.String()),
  restored_from: nullable(Type.Integer()),
};
const revisionsAnswer = successOf(
  strict({ rule_id: wire.ruleId, list: Type.Array(strict(revisionMembers)), next_before: nullable(Type.Integer()) }),
);
const revisionAnswer = successOf(strict({ rule_id: wire.ruleId, ...revisionMembers, document: wire.ruleDocument }));
const restoreAnswer = successOf(
  strict({
    id: wire.ruleId,
    status: word('restored'),
    revision: Type.Integer(),
    enabled: Type.Boolean(),
    warnings: Type.Array(wire.warning),
  }),
);
const wireEnd = strict({ from: Type.String(), output: Type.String(), to: Type.String() });
const nodeHead = { id: Type.String(), label: nullable(Type.String()) };
/** The changes from one state of a rule to another, by meaning. */
export const differenceMembers = {
  classes: Type.Array(changeClass),
  settings: Type.Array(strict({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() })),
  nodes: strict({
    added: Type.Array(strict(nodeHead)),
    removed: Type.Array(strict(nodeHead)),
    changed: Type.Array(
      strict({
        ...nodeHead,
        fields: Type.Array(strict({ path: Type.String(), before: Type.Unknown(), after: Type.Unknown() })),
      }),
    ),
  }),
  wires: strict({ added: Type.Array(wireEnd), removed: Type.Array(wireEnd) }),
  actuators: Type.Array(
    strict({
      instance: Type.Integer(),
      point: Type.Integer(),
      change: Type.Union([word('added'), word('removed'), word('value'), word('condition')]),
    }),
  ),
  sentence: strict({ before: nullable(Type.String()), after: nullable(Type.String()) }),
};
const differenceAnswer = successOf(strict(differenceMembers));

export const revisions = {
  list: automationQuery({
    name: 'automation.rule.revisions',
    summary: 'List the revisions of a rule, newest first',
    path: '/rules/:id/revisions',
    params: wire.ruleParams,
    query: revisionsQuery,
    answer: revisionsAnswer,
  }),
  get: automationQuery({
    name: 'automation.rule.revision',
    summary: 'Read a revision of a rule',
    path: '/rules/:id/revisions/:revision',
    params: revisionParams,
    query: wire.noQuery,
    answer: revisionAnswer,
  }),
  difference: automationQuery({
    name: 'automation.rule.diff',
    summary: 'Compare two revisions of a rule',
    path: '/rules/:id/diff',
    params: wire.ruleParams,
    query: differenceQuery,
    answer: differenceAnswer,
  }),
  draftDifference: automationQuestion({
    name: 'automation.rule.diff-draft',
    summary: 'Compare a draft with a revision, without storing it',
    path: '/rules/:id/diff',
    params: wire.ruleParams,
    query: wire.noQuery,
    body: draftBody,
    answer: differenceAnswer,
  }),
  restore: automationCommand({
    name: 'automation.rule.restore',
    summary: 'Restore a revision of a rule, as a new revision',
    method: 'POST',
    path: '/rules/:id/restore',
    risk: 'high',
    idempotent: false,
    params: wire.ruleParams,
    query: wire.noQuery,
    body: restoreBody,
    answer: restoreAnswer,
  }),
  duplicate: automationCommand({
    name: 'automation.rule.duplicate',
    summary: 'Create a rule as a copy of another, disabled',
    method: 'POST',
    path: '/rules/:id/duplicate',
    risk: 'low',
    idempotent: false,
    params: wire.ruleParams,
    query: wire.noQuery,
    body: duplicateBody,
    answer: wire.createAnswer,
  }),
} as const satisfies Record<string, Capability>;
