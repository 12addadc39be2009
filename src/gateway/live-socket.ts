/** Serves the live stream at `/ws` of the HTTP server: an adapter from the WebSocket library to `StreamSocket`. */
import websocket, { type WebSocket } from '@fastify/websocket';
import { closeCodes, expiredReason, type StreamSocket } from '../api/live-stream.ts';
import { Fault } from '../base/fault.ts';
import { createFaultLog, type Log } from '../base/log.ts';
import type { RateLimits } from './rate-limit.ts';
import { answerRaw } from './raw-answer.ts';
import type { Server } from './server.ts';
import { type CookieRequest, cookieOf, headersOf, isSameOrigin } from './session-cookie.ts';

export interface LiveSocketParts {
  /** Receives each connection. */
  readonly stream: { connect(socket: StreamSocket): void };
  readonly rateLimits: RateLimits;
  readonly log: Log;
  readonly messageBytesMax: number;
}

/** Properties of a client before its first message. */
interface Handshake extends Pick<StreamSocket, 'session' | 'isForeign'> {
  readonly address: string;
  readonly correlationId: string;
}

export async function addLiveSocket(server: Server, parts: LiveSocketParts): Promise<void> {
  const { stream, rateLimits, log, messageBytesMax } = parts;
  const { fastify } = server;
  await fastify.register(websocket, { options: { maxPayload: messageBytesMax, perMessageDeflate: false } });
  // Not a WebSocket request, or without an upgrade: refused in the envelope like everything else.
  fastify.websocketServer.on('wsClientError', (_error, socket) =>
    answerRaw(socket, new Fault('invalid-input', 'the WebSocket handshake is not valid')),
  );
  // A failed token here counts like one at a route.
  const failed = async ({ address, correlationId }: Handshake): Promise<void> => {
    log.warn('authentication failed', { correlation_id: correlationId });
    // The socket is already closed; the rate limit of its address needs no further action.
    await rateLimits.countFailedAuthentication(address).catch(() => undefined);
  };
  const faults = createFaultLog(log);
  const sessionOf = (request: CookieRequest): Pick<Handshake, 'session' | 'isForeign'> => {
    const cookie = cookieOf(request);
    if (cookie === null || isSameOrigin(request)) return { session: cookie, isForeign: false };
    const [origin = 'no origin', host = 'no host'] = [request.header('origin'), request.header('host')];
    // Each open page tries again and again.
    faults.failed('live stream', 'live stream with a session refused', {
      reason: `the page is from ${origin}, but the request is for ${host}; a proxy in front must pass on the browser's Host`,
    });
    return { session: null, isForeign: true };
  };
  const connect = (socket: WebSocket, handshake: Handshake): void => {
    const adapted: StreamSocket = {
      send: (text) => socket.send(text),
      close: (code, reason) => {
        if (code === closeCodes.unauthenticated && reason !== expiredReason) void failed(handshake);
        socket.close(code, reason);
      },
      session: handshake.session,
      isForeign: handshake.isForeign,
      bufferedBytes: () => socket.bufferedAmount,
      onMessage: (listener) =>
        void socket.on('message', (data: Buffer, isBinary: boolean) =>
          listener(isBinary ? null : data.toString('utf8')),
        ),
      ping: () => socket.ping(),
      onPong: (listener) => void socket.on('pong', () => listener()),
      onPing: (listener) => void socket.on('ping', () => listener()),
      onClose: (listener) => void socket.on('close', listener),
    };
    // The library closes a broken connection; nothing else needs to be done.
    socket.on('error', () => undefined);
    stream.connect(adapted);
  };
  fastify.route({
    method: 'GET',
    url: '/ws',
    handler: (_request, reply) => reply.callNotFound(),
    wsHandler: (socket, request) =>
      connect(socket, {
        address: request.ip,
        correlationId: request.correlationId,
        ...sessionOf({ header: headersOf(request) }),
      }),
  });
}
