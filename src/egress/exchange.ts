/**
 * One HTTP exchange with a configured endpoint: a fresh connection to pinned addresses, no redirects, no proxy, nothing
 * compressed, size and time bounded while reading. Interim answers (1xx) are passed over.
 */
import { type ClientRequest, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { Clock } from '../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../base/deadline.ts';
import { outboundLimits } from './limits.ts';
import { type PinnedAddress, pinnedAddresses, pinnedLookup, type Resolve } from './pinned-address.ts';

export interface AnswerHead {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

export interface HttpAnswer extends AnswerHead {
  /** Empty when the asker did not want it. */
  readonly body: Uint8Array;
}

export interface Exchange {
  readonly url: URL;
  readonly boundary: 'local' | 'remote';
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** The wanted part of such an answer's body. */
  readonly wanted: (head: AnswerHead) => Wanted;
}

export interface Wanted {
  /** 0: nothing. */
  readonly maxBytes: number;
  /** Whether a longer body spoils the answer, or is left unread. */
  readonly longer: 'refused' | 'unread';
}

export interface Network {
  readonly clock: Clock;
  readonly resolve: Resolve;
}

export type ExchangeEnd =
  | { readonly end: 'answer'; readonly answer: HttpAnswer }
  /** Longer than the limit; the rest was never read. */
  | { readonly end: 'too_large' }
  /** Bytes that are not HTTP answer. */
  | { readonly end: 'not_http' }
  | { readonly end: 'no_connection'; readonly cause: string }
  | { readonly end: 'disconnected'; readonly cause: string }
  | { readonly end: 'timeout' }
  /** The caller went away: the processor is not to blame. */
  | { readonly end: 'abandoned' };

export type ExchangeFailure = Exclude<ExchangeEnd, { readonly end: 'answer' }>;

/** The failure in words, for the log and for the operator. */
export function failureWords(failure: ExchangeFailure): string {
  switch (failure.end) {
    case 'too_large':
      return 'the answer is too large';
    case 'not_http':
      return 'the answer is not HTTP';
    case 'no_connection':
      return `no connection: ${failure.cause}`;
    case 'disconnected':
      return `the connection ended: ${failure.cause}`;
    case 'timeout':
      return 'no answer in time';
    case 'abandoned':
      return 'the request was cancelled';
  }
}

export async function exchange(asked: Exchange, network: Network, signal: AbortSignal): Promise<ExchangeEnd> {
  const limit = deadline(network.clock, asked.requestTimeoutMs, signal);
  const connecting = deadline(network.clock, asked.connectTimeoutMs, limit.signal);
  let request: ClientRequest | null = null;
  let connected = false;
  try {
    const addresses = await untilAborted(
      pinnedAddresses(asked.url, asked.boundary, network.resolve),
      connecting.signal,
    );
    if (addresses.length === 0)
      return { end: 'no_connection', cause: `${asked.url.hostname} does not resolve to this machine` };
    const open = openRequest(asked, addresses, () => {
      connected = true;
      connecting.cancel();
    });
    request = open;
    connecting.signal.addEventListener('abort', () => open.destroy(), { once: true });
    return await untilAborted(ask(open, asked), limit.signal);
  } catch (error) {
    if (connecting.signal.aborted || limit.signal.aborted) {
      const late = timeIsUp(limit.signal) || (!limit.signal.aborted && timeIsUp(connecting.signal));
      return { end: late ? 'timeout' : 'abandoned' };
    }
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'HPE_HEADER_OVERFLOW') return { end: 'too_large' };
    if (code.startsWith('HPE_')) return { end: 'not_http' };
    return { end: connected ? 'disconnected' : 'no_connection', cause: causeOf(error, code) };
  } finally {
    connecting.cancel();
    limit.cancel();
    // Cuts the connection: nothing of an answer that was refused is read on.
    request?.destroy();
  }
}

/** An error of several addresses has no message of its own. */
function causeOf(error: unknown, code: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return message === '' ? code : message;
}

function openRequest(
  { url, method, headers, body }: Exchange,
  addresses: readonly PinnedAddress[],
  onConnect: () => void,
): ClientRequest {
  const isSecure = url.protocol === 'https:';
  const request = (isSecure ? requestSecure : requestPlain)(url, {
    method,
    headers: {
      ...headers,
      'accept-encoding': 'identity',
      connection: 'close',
      ...(body !== null && { 'content-length': String(body.byteLength) }),
    },
    agent: false,
    lookup: pinnedLookup(addresses),
    maxHeaderSize: outboundLimits.answerHeaderBytes,
    // Whatever the environment says: a certificate is always checked.
    rejectUnauthorized: true,
  });
  request.on('socket', (socket) => socket.once(isSecure ? 'secureConnect' : 'connect', onConnect));
  // Errors after the end of the exchange are ignored.
  request.on('error', () => undefined);
  request.end(body ?? undefined);
  return request;
}

/** Fails with what broke the request first: an answer that is cut off does not say why. */
async function ask(request: ClientRequest, asked: Exchange): Promise<ExchangeEnd> {
  const failed = new Promise<never>((_, reject) => void request.once('error', reject));
  const answer = new Promise<IncomingMessage>((resolve) => void request.once('response', resolve));
  return Promise.race([failed, answer.then((given) => read(given, asked))]);
}

async function read(answer: IncomingMessage, asked: Exchange): Promise<ExchangeEnd> {
  const { headersDistinct } = answer;
  const head = {
    status: answer.statusCode ?? 0,
    contentType: single(headersDistinct['content-type']),
    contentEncoding: single(headersDistinct['content-encoding']),
  };
  const { maxBytes, longer } = asked.wanted(head);
  const unread: ExchangeEnd = { end: 'answer', answer: { ...head, body: new Uint8Array() } };
  if (maxBytes === 0) return unread;
  const tooLong: ExchangeEnd = longer === 'refused' ? { end: 'too_large' } : unread;
  if (Number(single(headersDistinct['content-length']) ?? 0) > maxBytes) return tooLong;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return tooLong;
    chunks.push(chunk);
  }
  return { end: 'answer', answer: { ...head, body: Buffer.concat(chunks, bytes) } };
}

/** A duplicate header is ambiguous: Node's joined text is not a known value. */
function single(header: readonly string[] | undefined): string | undefined {
  return header?.join(', ');
}
