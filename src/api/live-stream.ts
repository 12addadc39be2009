/** The live stream `/ws` [rules §8]: what a client says, its decoder, and the connection that carries it. */
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { decodeOrRefuse } from '../base/decode.ts';
import { Fault } from '../base/fault.ts';

const authenticateSchema = Type.Object(
  { type: Type.Literal('authenticate'), token: Type.Optional(Type.String({ minLength: 1, maxLength: 16_384 })) },
  { additionalProperties: false },
);
const subscribeSchema = Type.Object(
  {
    type: Type.Literal('subscribe'),
    data: Type.Object(
      {
        source: Type.Literal('rule'),
        channels: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);
const subscribePointsSchema = Type.Object(
  {
    type: Type.Literal('subscribe'),
    data: Type.Object(
      { source: Type.Literal('point'), channels: Type.Array(Type.String({ maxLength: 40 })) },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);

const subscribeAlarmsSchema = Type.Object(
  {
    type: Type.Literal('subscribe'),
    data: Type.Object(
      { source: Type.Literal('alarm'), channels: Type.Optional(Type.Array(Type.String({ maxLength: 256 }))) },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);

export type StreamMessage =
  | Static<typeof authenticateSchema>
  | Static<typeof subscribeSchema>
  | Static<typeof subscribePointsSchema>
  | Static<typeof subscribeAlarmsSchema>;

/** How many rules, how many points and how many alarms one stream may name. */
export interface StreamLimits {
  readonly stream_channels: number;
  readonly stream_points: number;
  readonly stream_alarms: number;
}

const decodeAuthenticate = decodeOrRefuse(authenticateSchema, 'message');
const decodeSubscribe = decodeOrRefuse(subscribeSchema, 'message');
const decodeSubscribePoints = decodeOrRefuse(subscribePointsSchema, 'message');
const decodeSubscribeAlarms = decodeOrRefuse(subscribeAlarmsSchema, 'message');

/** One client message; throws a Fault `invalid-input` for anything else. A subscription replaces the one before. */
export function decodeStreamMessage(text: string, limits: StreamLimits): StreamMessage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Fault('invalid-input', 'message: is not JSON');
  }
  const kind = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  if (kind === 'authenticate') return decodeAuthenticate(value);
  switch (sourceOf(value)) {
    case 'point':
      return bounded(decodeSubscribePoints(value), limits.stream_points, 'points');
    case 'alarm':
      return bounded(decodeSubscribeAlarms(value), limits.stream_alarms, 'alarms');
    default:
      return bounded(decodeSubscribe(value), limits.stream_channels, 'rules');
  }
}

function bounded<M extends { readonly data: { readonly channels?: readonly unknown[] | undefined } }>(
  message: M,
  most: number,
  what: string,
): M {
  if ((message.data.channels ?? []).length > most)
    throw new Fault('invalid-input', `message /data/channels: at most ${most} ${what}`);
  return message;
}

function sourceOf(value: unknown): unknown {
  const data: unknown = typeof value === 'object' && value !== null && 'data' in value ? value.data : undefined;
  return typeof data === 'object' && data !== null && 'source' in data ? data.source : undefined;
}

/** One client's connection, whatever carries it. */
export interface StreamSocket {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** The cookie of a session that came with the connection from a page of the service itself; null without one. */
  readonly session: string | null;
  /** A session's cookie came from a page of another host: browsers let any page open connections with the user's cookies. */
  readonly isForeign: boolean;
  /** Bytes sent that the client has not taken yet. */
  bufferedBytes(): number;
  /** Asks the client for a pong, which every client sends by itself. */
  ping(): void;
  onPong(listener: () => void): void;
  onMessage(listener: (text: string | null) => void): void;
  /** A ping of the client, which is answered already. */
  onPing(listener: () => void): void;
  onClose(listener: () => void): void;
}

/** Close codes of RFC 6455; 4001 and 4003 are ours. */
export const closeCodes = {
  goingAway: 1001,
  unsupported: 1003,
  policy: 1008,
  busy: 1013,
  unauthenticated: 4001,
  denied: 4003,
};

/** A token that was good has ended: closed as unauthenticated, but nobody guessed anything. */
export const expiredReason = 'token expired';
