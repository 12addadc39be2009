/** The live stream `/ws` [rules §8]: what a client says, its decoder, and the connection that carries it. */
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { decodeOrRefuse } from '../base/decode.ts';
import { Fault } from '../base/fault.ts';

const authenticateSchema = Type.Object(
  { type: Type.Literal('authenticate'), token: Type.String({ minLength: 1, maxLength: 16_384 }) },
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

export type StreamMessage =
  | Static<typeof authenticateSchema>
  | Static<typeof subscribeSchema>
  | Static<typeof subscribePointsSchema>;

/** How many rules, and how many points, one stream may follow. */
export interface StreamLimits {
  readonly stream_channels: number;
  readonly stream_points: number;
}

const decodeAuthenticate = decodeOrRefuse(authenticateSchema, 'message');
const decodeSubscribe = decodeOrRefuse(subscribeSchema, 'message');
const decodeSubscribePoints = decodeOrRefuse(subscribePointsSchema, 'message');

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
  const isOfPoints = sourceOf(value) === 'point';
  const message = isOfPoints ? decodeSubscribePoints(value) : decodeSubscribe(value);
  const most = isOfPoints ? limits.stream_points : limits.stream_channels;
  if (message.data.channels.length > most)
    throw new Fault('invalid-input', `message /data/channels: at most ${most} ${isOfPoints ? 'points' : 'rules'}`);
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
  /** Bytes sent that the client has not taken yet. */
  bufferedBytes(): number;
  onMessage(listener: (text: string | null) => void): void;
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
