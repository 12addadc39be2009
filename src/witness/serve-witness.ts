/** The two routes of a witness over plain HTTP [audit §9.6]; put a proxy with TLS in front of it to serve others. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { witnessLimits } from './limits.ts';
import type { Witness, WitnessAnswer } from './witness.ts';

export interface ListeningWitness {
  readonly port: number;
  close(): Promise<void>;
}

export async function serveWitness(
  witness: Witness,
  at: { readonly host: string; readonly port: number },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<ListeningWitness> {
  const server = createServer(
    { requestTimeout: witnessLimits.requestTimeoutMs, headersTimeout: witnessLimits.requestTimeoutMs },
    (request, response) => void answer(witness, request, response, log),
  );
  server.maxConnections = witnessLimits.connections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  return {
    port: portOf(server),
    close: () => closeInTime(server, clock),
  };
}

/** Requests in progress are answered; a connection without one, or one that never ends, is cut. */
async function closeInTime(server: Server, clock: Clock): Promise<void> {
  const cut = clock.after(witnessLimits.stopGraceMs, () => server.closeAllConnections());
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  cut.cancel();
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the witness listens on no port');
  return address.port;
}

async function answer(witness: Witness, request: IncomingMessage, response: ServerResponse, log: Log): Promise<void> {
  try {
    const given = await answerOf(witness, request);
    if (given === null) send(response, 404, 'text/plain; charset=utf-8', 'not found\n');
    else if (given === 'too-large') send(response, 413, 'text/plain; charset=utf-8', 'the body is too large\n');
    else send(response, given.status, given.type, given.body);
  } catch (error) {
    log.error('the witness could not answer', { err: error });
    send(response, 500, 'text/plain; charset=utf-8', 'the witness could not store the checkpoint\n');
  }
}

async function answerOf(witness: Witness, request: IncomingMessage): Promise<WitnessAnswer | 'too-large' | null> {
  if (request.method === 'POST' && request.url === '/add-checkpoint') {
    const body = await bodyOf(request);
    return body === null ? 'too-large' : witness.addCheckpoint(body);
  }
  const origin = /^\/([0-9a-f]{64})\/checkpoint$/.exec(request.url ?? '')?.[1];
  // Node omits the body of an answer to HEAD.
  return ['GET', 'HEAD'].includes(request.method ?? '') && origin !== undefined ? witness.checkpoint(origin) : null;
}

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > witnessLimits.bodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
