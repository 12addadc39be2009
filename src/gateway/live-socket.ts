/** Puts the live stream on `/ws` of the HTTP server: the WebSocket library on one side, `StreamSocket` on the other. */
import type { IncomingMessage } from 'node:http';
import websocket, { type WebSocket } from '@fastify/websocket';
import { closeCodes, expiredReason, type StreamSocket } from '../api/live-stream.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import type { RateLimits } from './rate-limit.ts';
import { answerRaw } from './raw-answer.ts';
import type { Server } from './server.ts';
import { checkSameOrigin, cookieOf } from './session-cookie.ts';

export interface LiveSocketParts {
  /** Takes each connection over. */
  readonly stream: { connect(socket: StreamSocket): void };
  readonly rateLimits: RateLimits;
  readonly log: Log;
  readonly messageBytesMax: number;
}

/** The facts about a client before its first message. */
interface Handshake {
  /** The cookie of a session, if the connection comes from a page of the service itself. */
  readonly session: string | null;
  readonly address: string;
  readonly correlationId: string;
}

export async function addLiveSocket(server: Server, parts: LiveSocketParts): Promise<void> {
  const { stream, rateLimits, log, messageBytesMax } = parts;
  const { fastify } = server;
  await fastify.register(websocket, { options: { maxPayload: messageBytesMax, perMessageDeflate: false } });
  // Not of the WebSocket kind, or asked for without an upgrade: refused in the envelope like everything else.
  fastify.websocketServer.on('wsClientError', (_error, socket) =>
    answerRaw(socket, new Fault('invalid-input', 'the WebSocket handshake is not valid')),
  );
  // A token guessed here counts like one guessed at a route.
  const failed = async ({ address, correlationId }: Handshake): Promise<void> => {
    log.warn('authentication failed', { correlation_id: correlationId });
    // The socket is closed already; that its address failed too often changes nothing more.
    await rateLimits.countFailedAuthentication(address).catch(() => undefined);
  };
  const connect = (socket: WebSocket, handshake: Handshake): void => {
    const adapted: StreamSocket = {
      send: (text) => socket.send(text),
      close: (code, reason) => {
        if (code === closeCodes.unauthenticated && reason !== expiredReason) void failed(handshake);
        socket.close(code, reason);
      },
      session: handshake.session,
      bufferedBytes: () => socket.bufferedAmount,
      onMessage: (listener) =>
        void socket.on('message', (data: Buffer, isBinary: boolean) =>
          listener(isBinary ? null : data.toString('utf8')),
        ),
      onPing: (listener) => void socket.on('ping', () => listener()),
      onClose: (listener) => void socket.on('close', listener),
    };
    // A connection that breaks is closed by the library; there is nothing else to do about it.
    socket.on('error', () => undefined);
    stream.connect(adapted);
  };
  fastify.route({
    method: 'GET',
    url: '/ws',
    handler: (_request, reply) => reply.callNotFound(),
    wsHandler: (socket, request) =>
      connect(socket, { address: request.ip, correlationId: request.correlationId, session: sessionOf(request.raw) }),
  });
}

/** A browser lets any page connect anywhere and sends the cookies along: only our own pages may use them. */
function sessionOf({ headersDistinct }: IncomingMessage): string | null {
  const request = { header: (name: string) => headersDistinct[name]?.join('; ') };
  try {
    checkSameOrigin(request);
  } catch {
    return null;
  }
  return cookieOf(request);
}
