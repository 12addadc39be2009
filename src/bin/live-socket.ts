/** Puts the live stream on `/ws` of the HTTP server: the WebSocket library on one side, `StreamSocket` on the other. */
import websocket, { type WebSocket } from '@fastify/websocket';
import type { LiveStream, StreamSocket } from '../automation/live-stream.ts';
import { Fault } from '../base/fault.ts';
import { answerRaw } from '../gateway/raw-answer.ts';
import type { Server } from '../gateway/server.ts';

export async function addLiveSocket(server: Server, stream: LiveStream, messageBytesMax: number): Promise<void> {
  const { fastify } = server;
  await fastify.register(websocket, { options: { maxPayload: messageBytesMax, perMessageDeflate: false } });
  // Not of the WebSocket kind, or asked for without an upgrade: refused in the envelope like everything else.
  fastify.websocketServer.on('wsClientError', (_error, socket) =>
    answerRaw(socket, new Fault('invalid-input', 'the WebSocket handshake is not valid')),
  );
  const connect = (socket: WebSocket): void => {
    const adapted: StreamSocket = {
      send: (text) => socket.send(text),
      close: (code, reason) => socket.close(code, reason),
      bufferedBytes: () => socket.bufferedAmount,
      onMessage: (listener) =>
        void socket.on('message', (data: Buffer, isBinary: boolean) =>
          listener(isBinary ? null : data.toString('utf8')),
        ),
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
    wsHandler: connect,
  });
}
