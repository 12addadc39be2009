/**
 * The open connections of the server, for its end (decisions §1, Operations): requests in flight get a time to finish,
 * then their connections are cut, WebSockets that do not answer included.
 */
import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';

export interface Connections {
  /** Waits for `close`, which ends when every connection has; after `drainMs` those that are left are cut. */
  drain(close: () => Promise<void>, drainMs: number): Promise<{ readonly cut: number }>;
}

export function trackConnections(server: HttpServer, clock: Clock): Connections {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return {
    async drain(close, drainMs) {
      let cut = 0;
      // One that has not said anything yet is not a request in flight.
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
      const timer = clock.after(drainMs, () => {
        cut = open.size;
        for (const socket of open) socket.destroy();
      });
      await close();
      timer.cancel();
      return { cut };
    },
  };
}
