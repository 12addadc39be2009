/** Alarms as operations [alarms §4]. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationCommand, automationQuery } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import type { Capability } from './capability.ts';
import { decimal } from './decimal.ts';
import { listOf } from './page.ts';
import { moment, nullable, successOf, whyText } from './wire.ts';

const actor = strict({ kind: Type.String(), id: Type.String() });

/** Longest time for which an alarm is shelved: a day, in seconds. */
export const shelveSecondsMax = 86_400;

/** Changes of one answer; a longer window is refused unless it is asked for its newest. */
export const alarmChangesMax = 10_000;

/** Alarms that one call acknowledges. */
export const acknowledgedMax = 1000;

const id = Type.String({ minLength: 1, maxLength: 256, description: 'the id of an alarm' });
const state = Type.Enum([
  'active-unacknowledged',
  'active-acknowledged',
  'cleared-unacknowledged',
  'normal',
  'shelved',
]);
const priority = Type.Enum(['low', 'medium', 'high', 'critical']);
export const alarmEntry = strict({
  id,
  name: Type.String(),
  priority,
  state,
  message: nullable(Type.String()),
  point: nullable(
    strict({
      instance: Type.Integer(),
      point_type: Type.Enum(['measurement', 'action']),
      point: Type.Integer(),
    }),
  ),
  threshold: nullable(
    strict({ kind: Type.Enum(['above', 'below', 'equals']), value: Type.Number(), deadband: Type.Number() }),
  ),
  since: nullable(moment),
  count: Type.Integer(),
  first_out: Type.Boolean(),
  acknowledged_by: nullable(actor),
  shelved_until: nullable(moment),
});
const alarmPath = strict({ alarm_id: id });
const confirmed = Type.Literal(true);

export const alarms = {
  list: automationQuery({
    name: 'automation.alarm.list',
    summary: 'List alarms with their states',
    path: '/alarms',
    params: wire.noParams,
    query: strict({ state: Type.Optional(state), priority: Type.Optional(priority) }),
    answer: successOf(listOf(alarmEntry)),
  }),
  history: automationQuery({
    name: 'automation.alarm.history',
    summary: 'List changes of alarms in a time range',
    path: '/alarms/history',
    params: wire.noParams,
    query: strict({
      from: Type.Optional(moment),
      to: Type.Optional(moment),
      limit: Type.Optional(decimal(1, alarmChangesMax, `only the newest changes, 1 to ${alarmChangesMax}`)),
    }),
    answer: successOf(
      strict({
        list: Type.Array(strict({ id, state, at: moment, by: nullable(actor), reason: nullable(Type.String()) })),
      }),
    ),
  }),
  acknowledge: automationCommand({
    name: 'automation.alarm.acknowledge',
    summary: 'Acknowledge an alarm',
    method: 'POST',
    path: '/alarms/:alarm_id/acknowledge',
    risk: 'low',
    permission: 'automation.point.command',
    idempotent: true,
    params: alarmPath,
    query: wire.noQuery,
    body: strict({ confirmed }),
    answer: successOf(alarmEntry),
  }),
  acknowledgeMany: automationCommand({
    name: 'automation.alarm.acknowledge-many',
    summary: 'Acknowledge those of the given alarms that are unacknowledged',
    method: 'POST',
    path: '/alarms/acknowledge',
    risk: 'low',
    permission: 'automation.point.command',
    idempotent: true,
    params: wire.noParams,
    query: wire.noQuery,
    body: strict({
      alarm_ids: Type.Array(id, {
        minItems: 1,
        maxItems: acknowledgedMax,
        uniqueItems: true,
        description: `1 to ${acknowledgedMax} ids of alarms`,
      }),
      confirmed,
    }),
    answer: successOf(strict({ acknowledged: Type.Array(id), left: Type.Array(id) })),
  }),
  shelve: automationCommand({
    name: 'automation.alarm.shelve',
    summary: 'Shelve an alarm for a time',
    method: 'POST',
    path: '/alarms/:alarm_id/shelve',
    risk: 'medium',
    permission: 'automation.point.command',
    idempotent: false,
    params: alarmPath,
    query: wire.noQuery,
    body: strict({
      for_seconds: Type.Integer({ minimum: 1, maximum: shelveSecondsMax, description: 'seconds, at most a day' }),
      reason: whyText,
      confirmed,
    }),
    answer: successOf(alarmEntry),
  }),
  unshelve: automationCommand({
    name: 'automation.alarm.unshelve',
    summary: 'End the shelving of an alarm',
    method: 'POST',
    path: '/alarms/:alarm_id/unshelve',
    risk: 'low',
    permission: 'automation.point.command',
    idempotent: false,
    params: alarmPath,
    query: wire.noQuery,
    body: strict({ confirmed }),
    answer: successOf(alarmEntry),
  }),
} as const satisfies Record<string, Capability>;
