/**
 * A port that nobody else takes until its server listens, or while it restarts. The kernel's own choice (port 0) suits a server
 * that keeps it open; once closed, it may become the local port of any connection.
 */

import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** All below the ephemeral ports of Linux (from 32768) and other systems (from 49152). */
const firstPort = 20_000;
const ports = 6_000;
let next = randomInt(ports);

/** Reserved by this process as long as it lives: it listens on the port's twin, `ports` above it, which no server uses. */
export async function ownPort(): Promise<number> {
  for (let tried = 0; tried < ports; tried++) {
    const port = firstPort + next;
    next = (next + 1) % ports;
    const claim = await listenOn(port + ports);
    if (claim === null) continue;
    claim.unref();
    const probe = await listenOn(port);
    if (probe === null) continue;
    await new Promise((resolve) => void probe.close(resolve));
    return port;
  }
  throw new Error(`none of ${ports} ports is free`);
}

/** Null when the port is in use. */
function listenOn(port: number): Promise<Server | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
