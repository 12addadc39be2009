/** Points, overrides and limits as operations [points §7], [points §8]: the site in view and in hand. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationCommand, automationQuery } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import type { Capability } from './capability.ts';
import { decimal, pageText } from './decimal.ts';
import { listOf } from './page.ts';
import { moment, nullable, successOf, whyText } from './wire.ts';

const wireNumber = decimal(0, 4_294_967_295);
const bound = nullable(Type.Number());
const kind = Type.Enum(['measurement', 'action']);

/** Longest duration of an override or a limit: a week, in seconds. */
export const grantSecondsMax = 604_800;

const pointPath = strict({ instance: wireNumber, point: wireNumber });
const grantId = Type.String({
  pattern: '^[0-9]{1,10}[.][0-9]{1,10}[.][0-9a-f-]{36}$',
  description: 'the id of an override or a limit',
});
/** With its point, so that a record about it can name the point. */
export const grantIdOf = (instance: number, point: number, unique: string): string => `${instance}.${point}.${unique}`;

const quality = Type.Enum(['good', 'uncertain', 'missing', 'stale', 'bad', 'invalid', 'out-of-range', 'offline']);
const actor = strict({ kind: Type.String(), id: Type.String() });
const owner = strict({
  kind: Type.Enum(['limit', 'override', 'rule', 'safe', 'none']),
  id: Type.String(),
  name: Type.String(),
  until: nullable(moment),
});
const pointEntry = strict({
  instance: Type.Integer(),
  instance_name: Type.String(),
  point_type: kind,
  point: Type.Integer(),
  name: Type.String(),
  unit: Type.String(),
  value: nullable(Type.Number()),
  /** The value of a text point. */
  text: nullable(Type.String()),
  quality,
  observed_at: nullable(moment),
  channel: Type.String(),
  channel_state: Type.Enum(['online', 'offline']),
  /** Which flow is positive, as `site.yaml` says. */
  sign_convention: nullable(Type.String()),
  writable: Type.Boolean(),
  recorded: Type.Boolean(),
  min: bound,
  max: bound,
  last_error: nullable(strict({ code: Type.String(), message: Type.String(), at: moment })),
  last_command: nullable(
    strict({
      value: Type.Number(),
      written: Type.Number(),
      at: moment,
      result: Type.Enum(['accepted', 'written', 'failed', 'superseded', 'expired']),
      by: actor,
    }),
  ),
  owner: nullable(owner),
});
const ruleOfPoint = { rule_id: Type.Integer(), name: Type.String(), enabled: Type.Boolean() };
const grantFacts = {
  override_id: grantId,
  instance: Type.Integer(),
  point: Type.Integer(),
  until: moment,
  by: actor,
  reason: Type.String(),
};
const overrideFacts = { ...grantFacts, kind: Type.Literal('override'), value: Type.Number() };
const limitFacts = { ...grantFacts, kind: Type.Literal('limit'), min: bound, max: bound };
const active = { state: Type.Literal('active') };
const overrideEntry = strict({ ...overrideFacts, ...active });
const limitEntry = strict({ ...limitFacts, ...active });
const released = { state: Type.Literal('released') };
const releasedEntry = Type.Union([strict({ ...overrideFacts, ...released }), strict({ ...limitFacts, ...released })]);

const duration = Type.Integer({ minimum: 1, maximum: grantSecondsMax, description: 'seconds, at most a week' });
const confirmed = Type.Literal(true);

export const points = {
  list: automationQuery({
    name: 'automation.point.list',
    summary: 'List points with their values, quality, last command and owner',
    path: '/points',
    params: wire.noParams,
    query: strict({
      instance: Type.Optional(wireNumber),
      kind: Type.Optional(kind),
      quality: Type.Optional(quality),
      search: Type.Optional(Type.String({ maxLength: 128 })),
      page: Type.Optional(pageText),
      page_size: Type.Optional(decimal(1, 500)),
    }),
    answer: successOf(listOf(pointEntry)),
  }),
  series: automationQuery({
    name: 'automation.point.series',
    summary: 'Read the trend of a recorded point in buckets',
    path: '/points/:instance/:point_type/:point/series',
    params: strict({ instance: wireNumber, point_type: kind, point: wireNumber }),
    query: strict({
      from: moment,
      to: moment,
      buckets: Type.Optional(decimal(1, 2000)),
    }),
    answer: successOf(
      strict({
        from: moment,
        to: moment,
        bucket_seconds: Type.Integer(),
        unit: Type.String(),
        buckets: Type.Array(
          strict({
            t: moment,
            min: Type.Number(),
            max: Type.Number(),
            mean: Type.Number(),
            last: Type.Number(),
            observations: Type.Number(),
          }),
        ),
      }),
    ),
  }),
  rules: automationQuery({
    name: 'automation.point.rules',
    summary: 'List the rules that read or write a point, with what they compare it with',
    path: '/points/:instance/:point_type/:point/rules',
    params: strict({ instance: wireNumber, point_type: kind, point: wireNumber }),
    query: wire.noQuery,
    answer: successOf(
      strict({
        readers: Type.Array(
          strict({
            ...ruleOfPoint,
            thresholds: Type.Array(
              strict({
                node_id: Type.String(),
                name: Type.String(),
                operator: Type.Enum(['<', '<=', '>', '>=', '==', '!=']),
                value: Type.Number(),
              }),
            ),
          }),
        ),
        writers: Type.Array(strict({ ...ruleOfPoint, node_ids: Type.Array(Type.String()) })),
      }),
    ),
  }),
  override: automationCommand({
    name: 'automation.point.override',
    summary: 'Hold an action point at a value for a time, above all rules',
    method: 'POST',
    path: '/points/:instance/action/:point/override',
    risk: 'high',
    permission: 'automation.point.command',
    idempotent: false,
    params: pointPath,
    query: wire.noQuery,
    body: strict({ value: Type.Number(), for_seconds: duration, reason: whyText, confirmed }),
    answer: successOf(overrideEntry),
  }),
  limit: automationCommand({
    name: 'automation.point.limit',
    summary: 'Limit the values of an action point for a time',
    method: 'POST',
    path: '/points/:instance/action/:point/limit',
    risk: 'high',
    permission: 'automation.point.command',
    idempotent: false,
    params: pointPath,
    query: wire.noQuery,
    body: strict({
      min: Type.Optional(Type.Number()),
      max: Type.Optional(Type.Number()),
      for_seconds: duration,
      reason: whyText,
      confirmed,
    }),
    answer: successOf(limitEntry),
  }),
  overrides: automationQuery({
    name: 'automation.point.overrides',
    summary: 'List overrides and limits in force',
    path: '/overrides',
    params: wire.noParams,
    query: wire.noQuery,
    answer: successOf(listOf(Type.Union([overrideEntry, limitEntry]))),
  }),
  release: automationCommand({
    name: 'automation.point.release',
    summary: 'End an override or a limit before its time',
    method: 'DELETE',
    path: '/overrides/:override_id',
    risk: 'high',
    permission: 'automation.point.command',
    idempotent: true,
    params: strict({ override_id: grantId }),
    query: wire.deleteQuery,
    body: wire.optionalConfirmedBody,
    confirmedIn: 'body-or-query',
    answer: successOf(releasedEntry),
  }),
  ownership: automationQuery({
    name: 'automation.point.ownership',
    summary: 'Read the owners of an action point, the refused writers and the next owner',
    path: '/points/:instance/action/:point/ownership',
    params: pointPath,
    query: strict({ from: Type.Optional(moment), to: Type.Optional(moment) }),
    answer: successOf(
      strict({
        segments: Type.Array(
          strict({
            from: moment,
            to: nullable(moment),
            owner,
            value: nullable(Type.Number()),
            contenders: Type.Array(
              strict({ kind: Type.String(), id: Type.String(), name: Type.String(), reason: Type.String() }),
            ),
          }),
        ),
        next: nullable(strict({ owner, at: nullable(moment) })),
      }),
    ),
  }),
} as const satisfies Record<string, Capability>;
