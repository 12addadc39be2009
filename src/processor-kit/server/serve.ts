/**
 * The processor-facing routes over HTTP [processor §1]: `POST /v1/process` and `GET /v1/health`, for the processors in this
 * repository. Bytes are bounded in size, time and number before anything is parsed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Timer } from '../../base/clock.ts';
import { deadline, untilAborted } from '../../base/deadline.ts';
import { bearerFault } from '../../contract/wire/bearer.ts';
import { busy, type ProcessorReply, refuse, requestAnswerer, type ServedProcessor } from './answer-request.ts';
import { connectionsMax, idleSweepMs, lingerMs, requestHeaderBytes } from './limits.ts';

export interface ProcessorServer {
  readonly port: number;
  /** Stops accepting connections, lets answers finish for `graceMs`, then closes the rest. */
  close(graceMs: number): Promise<void>;
}

export async function serveProcessor(
  served: ServedProcessor,
  where: { readonly host: string; readonly port: number },
): Promise<ProcessorServer> {
  const server = createServer({ maxHeaderSize: requestHeaderBytes }, processorListener(served));
  server.maxConnections = connectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(where.port, where.host, resolve);
  });
  return { port: portOf(server), close: (graceMs) => close(server, served, graceMs) };
}

/** The request listener, for an existing server. */
function processorListener(served: ServedProcessor): (request: IncomingMessage, response: ServerResponse) => void {
  const answerer = requestAnswerer(served);
  let reading = 0;

  async function respond(request: IncomingMessage, gone: AbortSignal): Promise<ProcessorReply> {
    const path = request.url?.split('?', 1)[0];
    const headers = singleHeaders(request);
    // Node omits the body of an answer to HEAD.
    if (path === '/v1/health' && ['GET', 'HEAD'].includes(request.method ?? '')) return answerer.health(headers);
    if (path !== '/v1/process' || request.method !== 'POST') return refuse('ROUTE_NOT_FOUND');
    // Without a valid token no body is read.
    const denied = served.bearerToken === null ? null : bearerFault(headers['authorization'], served.bearerToken);
    if (denied !== null) return refuse(denied);
    if (reading >= served.limits.max_reading) return busy(served.limits);
    reading++;
    const body = await readBody(request, served, gone).finally(() => void reading--);
    return body instanceof Uint8Array ? answerer.process({ headers, body }, gone) : body;
  }

  return (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the sender is gone')));
    respond(request, gone.signal).then(
      (reply) => send(request, response, reply, served),
      (error: unknown) => {
        if (gone.signal.aborted) return;
        served.log.error('a request was not answered', { error: error instanceof Error ? error.name : 'unknown' });
        send(request, response, refuse('PROCESSOR_INTERNAL'), served);
      },
    );
  };
}

/** The body, or the reply to one that is too long or too slow; the rest is not read. */
async function readBody(
  request: IncomingMessage,
  served: ServedProcessor,
  gone: AbortSignal,
): Promise<Uint8Array | ProcessorReply> {
  const { max_request_bytes: limitBytes, read_timeout_ms: timeoutMs } = served.limits;
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return refuse('FRAME_TOO_LARGE');
  const limit = deadline(served.clock, timeoutMs, gone);
  try {
    return await untilAborted(collect(request, limitBytes), limit.signal);
  } catch (error) {
    if (gone.aborted || !limit.signal.aborted) throw error;
    return refuse('DEADLINE_EXCEEDED');
  } finally {
    limit.cancel();
  }
}

function collect(request: IncomingMessage, limitBytes: number): Promise<Uint8Array | ProcessorReply> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes <= limitBytes) chunks.push(chunk);
      else {
        request.pause();
        resolve(refuse('FRAME_TOO_LARGE'));
      }
    });
    request.once('end', () => resolve(Buffer.concat(chunks, bytes)));
    request.once('error', reject);
  });
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ProcessorReply,
  { clock }: ServedProcessor,
): void {
  if (response.destroyed) return;
  // A connection with unread bytes cannot carry another request.
  const unread = request.complete ? {} : { connection: 'close' };
  response.writeHead(status, { ...headers, ...unread, 'content-length': body.byteLength });
  response.end(body);
  if (request.complete) return;
  // Closing at once would lose the answer for a sender that is still writing: input is discarded for a while.
  request.removeAllListeners('data').resume();
  const cut = clock.after(lingerMs, () => request.destroy());
  request.once('close', () => cut.cancel());
}

/** Node joins or drops duplicate headers; a header that must be unique is read only if it is. */
function singleHeaders(request: IncomingMessage): Readonly<Record<string, string | undefined>> {
  const distinct = request.headersDistinct;
  return Object.fromEntries(Object.entries(distinct).map(([name, values]) => [name, values?.join(', ')]));
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

async function close(server: Server, served: ServedProcessor, graceMs: number): Promise<void> {
  const { clock } = served;
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // After its last answer a connection is idle, and would be kept open for seconds.
  let sweep: Timer | undefined;
  const sweepIdle = (): void => {
    server.closeIdleConnections();
    sweep = clock.after(idleSweepMs, sweepIdle);
  };
  sweepIdle();
  const timer = clock.after(graceMs, () => server.closeAllConnections());
  await closed;
  timer.cancel();
  sweep?.cancel();
}
