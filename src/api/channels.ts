/** Channels to devices as operations [points §8.5], [points §8.6]: how each is doing, what goes over it, what is behind it. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationQuery } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import { decimal } from './decimal.ts';
import { listOf } from './page.ts';
import { moment, nullable, successOf } from './wire.ts';

const kind = Type.Enum(['measurement', 'action']);
const channelPath = strict({
  channel: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$', description: 'the id of a channel' }),
});

/** Registers, or bits, of one scan. */
export const scanCountMaximum = 1000;

const channelEntry = strict({
  channel: Type.String(),
  driver: Type.String(),
  /** Setpoint asks the device for its values: its channel can be scanned. */
  polled: Type.Boolean(),
  /** What is exchanged with the device is kept: its channel can be traced. */
  traced: Type.Boolean(),
  state: Type.Enum(['online', 'refusing', 'offline']),
  points: Type.Integer(),
  last_reading_at: nullable(moment),
  last_error: nullable(
    strict({
      code: Type.String(),
      message: Type.String(),
      at: moment,
      instance: Type.Integer(),
      point_type: kind,
      point: Type.Integer(),
    }),
  ),
  /** Null on a standby: only the leader connects to the devices. */
  traffic: nullable(
    strict({
      read: Type.Integer(),
      unread: Type.Integer(),
      late: Type.Integer(),
      sent: Type.Integer(),
      failed: Type.Integer(),
      dropped: Type.Integer(),
    }),
  ),
});

export const channels = {
  list: automationQuery({
    name: 'automation.channel.list',
    summary: 'List the channels with their state, counters and last error',
    path: '/channels',
    params: wire.noParams,
    query: wire.noQuery,
    answer: successOf(listOf(channelEntry)),
  }),
  trace: automationQuery({
    name: 'automation.channel.trace',
    summary: 'Read the newest requests to a device with raw answers, or its newest messages',
    path: '/channels/:channel/trace',
    params: channelPath,
    query: wire.noQuery,
    answer: successOf(
      strict({
        channel: Type.String(),
        /** Since the device layer started. */
        counts: strict({ answered: Type.Integer(), refused: Type.Integer(), no_answer: Type.Integer() }),
        /** Oldest first. */
        exchanges: Type.Array(
          strict({
            at: moment,
            duration_ms: Type.Number(),
            request: Type.String(),
            answer: Type.String(),
            result: Type.Enum(['answered', 'refused', 'no-answer']),
          }),
        ),
      }),
    ),
  }),
  scan: {
    ...automationQuery({
      name: 'automation.channel.scan',
      summary: 'Scan a device for registers or SunSpec models',
      path: '/channels/:channel/scan',
      params: channelPath,
      query: strict({
        unit: Type.Optional(decimal(0, 255, 'a unit from 0 to 255')),
        table: Type.Optional(Type.Enum(['holding', 'input', 'coil', 'discrete'])),
        from: Type.Optional(decimal(0, 65_535, 'the first register, from 0 to 65535')),
        count: Type.Optional(decimal(1, scanCountMaximum, `how many, 1 to ${scanCountMaximum}`)),
      }),
      answer: successOf(
        strict({
          channel: Type.String(),
          registers: Type.Array(
            strict({
              unit: Type.Integer(),
              table: Type.String(),
              register: Type.Integer(),
              words: Type.Array(Type.Integer()),
            }),
          ),
          /** Of a device that describes itself. */
          models: Type.Array(
            strict({
              model: Type.Integer(),
              name: nullable(Type.String()),
              register: Type.Integer(),
              length: Type.Integer(),
              points: Type.Array(
                strict({
                  point: Type.String(),
                  unit: Type.String(),
                  value: nullable(Type.Union([Type.Number(), Type.String()])),
                }),
              ),
            }),
          ),
        }),
      ),
    }),
    // It is read only, but it keeps a device busy.
    permission: 'automation.rule.manage',
    rate: 'search',
  },
} as const;
