/**
 * One HTTP exchange with a configured endpoint: a fresh connection to pinned addresses, no redirects, no proxy, nothing
 * compressed, size and time bounded while reading. The only file that knows undici.
 */
import { Client, errors } from 'undici';
import type { Clock } from '../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../base/deadline.ts';
import { outboundLimits } from './limits.ts';
import { pinnedAddresses, pinnedLookup, type Resolve } from './pinned-address.ts';

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
  /** What to read of the body of such an answer. */
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
  /** Bytes that are no HTTP answer. */
  | { readonly end: 'not_http' }
  | { readonly end: 'no_connection' }
  | { readonly end: 'disconnected' }
  | { readonly end: 'timeout' }
  /** The caller went away: the processor is not to blame. */
  | { readonly end: 'abandoned' };

export async function exchange(asked: Exchange, network: Network, signal: AbortSignal): Promise<ExchangeEnd> {
  const limit = deadline(network.clock, asked.requestTimeoutMs, signal);
  const connecting = deadline(network.clock, asked.connectTimeoutMs, limit.signal);
  let client: Client | null = null;
  let connected = false;
  try {
    const addresses = await untilAborted(
      pinnedAddresses(asked.url, asked.boundary, network.resolve).catch(() => []),
      connecting.signal,
    );
    if (addresses.length === 0) return { end: 'no_connection' };
    client = new Client(asked.url.origin, {
      connect: { timeout: 0, lookup: pinnedLookup(addresses) },
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: outboundLimits.answerHeaderBytes,
      pipelining: 0,
    });
    const open = client;
    client.once('connect', () => {
      connected = true;
      connecting.cancel();
    });
    connecting.signal.addEventListener('abort', () => void open.destroy().catch(() => undefined), { once: true });
    return await untilAborted(ask(client, asked, limit.signal), limit.signal);
  } catch (error) {
    if (connecting.signal.aborted || limit.signal.aborted) {
      const late = timeIsUp(limit.signal) || (!limit.signal.aborted && timeIsUp(connecting.signal));
      return { end: late ? 'timeout' : 'abandoned' };
    }
    if (error instanceof errors.HTTPParserError) return { end: 'not_http' };
    if (error instanceof errors.HeadersOverflowError) return { end: 'too_large' };
    return { end: connected ? 'disconnected' : 'no_connection' };
  } finally {
    connecting.cancel();
    limit.cancel();
    // Cuts the connection: nothing of an answer that was refused is read on.
    await client?.destroy().catch(() => undefined);
  }
}

async function ask(client: Client, asked: Exchange, signal: AbortSignal): Promise<ExchangeEnd> {
  const {
    statusCode: status,
    headers,
    body,
  } = await client.request({
    method: asked.method,
    path: asked.url.pathname,
    headers: { ...asked.headers, 'accept-encoding': 'identity' },
    body: asked.body,
    signal,
    reset: true,
  });
  body.on('error', () => undefined);
  const head = {
    status,
    contentType: single(headers['content-type']),
    contentEncoding: single(headers['content-encoding']),
  };
  const { maxBytes, longer } = asked.wanted(head);
  const unread: ExchangeEnd = { end: 'answer', answer: { ...head, body: new Uint8Array() } };
  if (maxBytes === 0) return unread;
  const tooLong: ExchangeEnd = longer === 'refused' ? { end: 'too_large' } : unread;
  if (Number(single(headers['content-length']) ?? 0) > maxBytes) return tooLong;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return tooLong;
    chunks.push(chunk);
  }
  return { end: 'answer', answer: { ...head, body: Buffer.concat(chunks, bytes) } };
}

/** A header that stands twice has no one meaning: the joined text is none that is known. */
function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}
