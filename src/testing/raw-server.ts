/** A loopback server that may answer with any bytes at all: it reads one HTTP request, and the test does the rest. */
import { createServer, type Socket } from 'node:net';

export interface RawRequest {
  readonly head: string;
  readonly body: string;
}

export interface RawServer {
  readonly port: number;
  /** Every request that arrived completely, oldest first. */
  readonly received: readonly RawRequest[];
  close(): Promise<void>;
}

export async function rawServer(behave: (socket: Socket, request: RawRequest) => void): Promise<RawServer> {
  const received: RawRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A client that has seen enough closes the connection while bytes are on the way.
    socket.on('error', () => undefined);
    let text = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      text = Buffer.concat([text, chunk]);
      const request = whole(text);
      if (request === null) return;
      socket.off('data', onData).resume();
      received.push(request);
      behave(socket, request);
    };
    socket.on('data', onData);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    received,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

function whole(text: Buffer): RawRequest | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = text.subarray(0, end).toString('latin1');
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  const body = text.subarray(end + 4);
  return body.byteLength < length ? null : { head, body: body.toString('utf8') };
}

/** A response as bytes; `content-length` unless the headers say how the body ends. */
export function rawResponse(
  status: number | string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = '',
): Buffer {
  const bytes = Buffer.from(body);
  const framed = Object.keys(headers).some((name) => /^(content-length|transfer-encoding)$/i.test(name));
  const lines = Object.entries(framed ? headers : { ...headers, 'content-length': String(bytes.byteLength) });
  const head = [
    `HTTP/1.1 ${status}${typeof status === 'number' ? ' X' : ''}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}
