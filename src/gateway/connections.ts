/**
 * The open connections of the server ([platform §2.4]): a limit per address, closing after
 * refusals, and draining of requests and WebSockets at shutdown.
 */
import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { addressKey, isLoopback } from './client-address.ts';

export interface ConnectionLimits {
  readonly connections_per_address: number;
  readonly connections_per_loopback: number;
}

export interface Connections {
  /** Waits for `close`, which ends when every connection has closed; after `drainMs` the rest is destroyed. */
  drain(close: () => Promise<void>, drainMs: number): Promise<{ readonly cut: number }>;
}

/** After our side of a connection is closed, the other side has this time to close: time to read a refusal. */
const lingerMs = 500;

/** `isProxy`: a trusted proxy's connections are those of many clients, and only limited by the total. */
export function trackConnections(
  server: HttpServer,
  clock: Clock,
  limits: ConnectionLimits,
  isProxy: (address: string) => boolean,
): Connections {
  const open = new Set<Socket>();
  const byAddress = new Map<string, number>();
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    const key = addressKey(address);
    const count = (byAddress.get(key) ?? 0) + 1;
    const most = isLoopback(address) ? limits.connections_per_loopback : limits.connections_per_address;
    if (count > most && !isProxy(address)) {
      socket.destroy();
      return;
    }
    byAddress.set(key, count);
    open.add(socket);
    socket.once('finish', () => {
      clock.after(lingerMs, () => socket.destroy());
    });
    socket.once('close', () => {
      open.delete(socket);
      const left = (byAddress.get(key) ?? 1) - 1;
      if (left === 0) byAddress.delete(key);
      else byAddress.set(key, left);
    });
  });
  return {
    async drain(close, drainMs) {
      let cut = 0;
      // A connection without a request yet is not in flight.
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
