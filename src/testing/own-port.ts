/**
 * A port that nobody else takes until its server listens, or while it is being restarted. The kernel's own choice (port 0) suits a server
 * that keeps it; once closed, it may become the local port of any connection.
 */

import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** All below what Linux (32768) and other systems (49152) give to connections. */
const firstPort = 20_000;
const ports = 6_000;
let next = randomInt(ports);

/** Belongs to this process as long as it lives: it listens on the port's twin, `ports` above it, which no server uses. */
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

/** Null when somebody else listens there. */
function listenOn(port: number): Promise<Server | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
