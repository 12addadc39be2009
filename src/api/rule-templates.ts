/** The operations on templates of rules [rules §13], with their wire. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationCommand, automationQuery, automationQuestion } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import type { Capability } from './capability.ts';
import { idText } from './decimal.ts';
import { mapOf } from './map-schema.ts';
import { differenceMembers } from './revisions.ts';
import { nullable, successOf } from './wire.ts';

const word = <S extends string>(value: S) => Type.Literal(value);
const templateName = Type.String({
  pattern: '^([a-z0-9][a-z0-9-]{0,63}|rule:[1-9][0-9]{0,15})$',
  description: 'the name of a template, or rule:<id>',
});
const pointReference = strict({ instance: wire.pointNumber, point_type: wire.pointKind, point: wire.pointNumber });
/** Parameters that a template may have of each sort. */
const argumentsMax = 256;
const pointArguments = mapOf(pointReference, { maxProperties: argumentsMax });
const numberArguments = mapOf(Type.Number(), { maxProperties: argumentsMax });
const template = strict({
  template: templateName,
  title: Type.String(),
  about: Type.String(),
  version: Type.Integer(),
  points: Type.Array(
    strict({
      name: Type.String(),
      about: Type.String(),
      point_type: wire.pointKind,
      unit: nullable(Type.String()),
    }),
  ),
  numbers: Type.Array(
    strict({
      name: Type.String(),
      about: Type.String(),
      unit: nullable(Type.String()),
      min: nullable(Type.Number()),
      max: nullable(Type.Number()),
      default: Type.Number(),
    }),
  ),
});
const given = { points: Type.Optional(pointArguments), numbers: Type.Optional(numberArguments) };

export const ruleTemplates = {
  list: automationQuery({
    name: 'automation.rule.templates',
    summary: 'List the rule templates, included and of the site; with `rule`, that rule as one',
    path: '/templates',
    params: wire.noParams,
    query: strict({ rule: Type.Optional(idText) }),
    answer: successOf(strict({ templates: Type.Array(template) })),
  }),
  instantiate: automationCommand({
    name: 'automation.rule.instantiate',
    summary: 'Create a rule from a template, disabled',
    method: 'POST',
    path: '/rules/from-template',
    risk: 'low',
    idempotent: false,
    params: wire.noParams,
    query: wire.noQuery,
    body: strict({
      template: templateName,
      name: wire.ruleName,
      points: pointArguments,
      numbers: Type.Optional(numberArguments),
      reason: Type.Optional(wire.reasonText),
      confirmed: wire.confirmed,
    }),
    answer: successOf(
      strict({ id: wire.ruleId, name: Type.String(), status: word('created'), warnings: Type.Array(wire.warning) }),
    ),
  }),
  difference: automationQuestion({
    name: 'automation.rule.template-diff',
    summary: 'Compare a rule with its template',
    path: '/rules/:id/template-diff',
    params: wire.ruleParams,
    query: wire.noQuery,
    body: strict(given),
    answer: successOf(
      strict({
        template: templateName,
        version: Type.Integer(),
        from_version: Type.Integer(),
        points: pointArguments,
        numbers: numberArguments,
        difference: strict(differenceMembers),
      }),
    ),
  }),
  update: automationCommand({
    name: 'automation.rule.template-update',
    summary: 'Update a rule from its template',
    method: 'POST',
    path: '/rules/:id/template-update',
    risk: 'high',
    idempotent: true,
    params: wire.ruleParams,
    query: wire.noQuery,
    body: strict({
      ...given,
      expected_revision: Type.Optional(wire.revisionNumber),
      reason: Type.Optional(wire.reasonText),
      confirmed: wire.confirmed,
    }),
    answer: successOf(
      strict({ id: wire.ruleId, status: word('updated'), version: Type.Integer(), warnings: Type.Array(wire.warning) }),
    ),
  }),
} as const satisfies Record<string, Capability>;
