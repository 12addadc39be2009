/** A TCP gate before a server for tests: while it is closed, bytes are dropped silently, as by a cut cable. */
import { connect, createServer, type Socket } from 'node:net';

export interface Gate {
  /** From now on all bytes are dropped silently. */
  shut(): void;
  /** New connections pass; those that lost bytes are closed. */
  reopen(): void;
  /** From now on the answer to a request that contains this text is lost, and the connection with it. */
  loseAnswersTo(text: string): void;
}

export async function startGate(
  port: number,
  url: string,
): Promise<{ readonly gate: Gate; readonly url: string; close(): void }> {
  let open = true;
  let unanswered: string | undefined;
  const mute = new Set<Socket>();
  const sockets = new Set<Socket>();
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (part) => {
      if (mute.has(from)) to.destroy();
      else if (open) to.write(part);
      if (unanswered !== undefined && part.includes(unanswered)) mute.add(to);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      if (open) to.destroy();
    });
  };
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const gate: Gate = {
    shut: () => void (open = false),
    reopen() {
      open = true;
      breakAll();
    },
    loseAnswersTo: (text) => void (unanswered = text),
  };
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the gate has no port');
  const through = new URL(url);
  through.port = String(address.port);
  return {
    gate,
    url: through.href,
    close() {
      server.close();
      breakAll();
    },
  };
}
