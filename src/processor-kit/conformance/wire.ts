/** Requests to a processor under test: raw requests out, raw answers back, with the same limits as the service's own calls. */
import { processorMediaType } from '../../api/processing.ts';
import type { Clock } from '../../base/clock.ts';
import { isProcessorMediaType } from '../../contract/wire/media-type.ts';
import { decodeMessage } from '../../contract/wire/message.ts';
import { exchange, type HttpAnswer } from '../../egress/exchange.ts';
import { isLoopbackAddress, systemResolve } from '../../egress/pinned-address.ts';

/** Maximum size of an answer, and maximum wait for it. */
const answerBytesMax = 16_777_216;
const connectTimeoutMs = 5000;

export interface Target {
  readonly endpoint: URL;
  readonly bearerToken: string | null;
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
}

export interface Sent {
  readonly route: 'v1/process' | 'v1/health';
  readonly body: string | null;
  readonly contentType?: string;
  readonly contentEncoding?: string;
  /** Another token than the target's, or none. */
  readonly bearerToken?: string | null;
}

export type Got =
  | { readonly ok: true; readonly answer: HttpAnswer; readonly elapsedMs: number }
  /** The reason for a missing answer, in one word. */
  | { readonly ok: false; readonly end: string };

/** A message of the contract's media type, or the fault of the answer. */
export type GotMessage =
  | { readonly ok: true; readonly message: unknown }
  | { readonly ok: false; readonly why: string };

export async function send(target: Target, sent: Sent): Promise<Got> {
  const base = new URL(target.endpoint);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  const token = sent.bearerToken === undefined ? target.bearerToken : sent.bearerToken;
  const startMs = target.clock.monotonicMs();
  const ended = await exchange(
    {
      url: new URL(sent.route, base),
      boundary: isLocal(base) ? 'local' : 'remote',
      method: sent.body === null ? 'GET' : 'POST',
      headers: {
        accept: processorMediaType,
        ...(sent.body !== null && { 'content-type': sent.contentType ?? processorMediaType }),
        ...(sent.contentEncoding !== undefined && { 'content-encoding': sent.contentEncoding }),
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      body: sent.body === null ? null : new TextEncoder().encode(sent.body),
      connectTimeoutMs,
      requestTimeoutMs: target.requestTimeoutMs,
      wanted: () => ({ maxBytes: answerBytesMax, longer: 'refused' }),
    },
    { clock: target.clock, resolve: systemResolve },
    new AbortController().signal,
  );
  const elapsedMs = target.clock.monotonicMs() - startMs;
  return ended.end === 'answer' ? { ok: true, answer: ended.answer, elapsedMs } : { ok: false, end: ended.end };
}

/** Names of this machine; anything else must be https. */
export function isLocal(url: URL): boolean {
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return name === 'localhost' || isLoopbackAddress(name);
}

export function messageOf(got: Got): GotMessage {
  if (!got.ok) return { ok: false, why: `no answer: ${got.end}` };
  const { contentType, contentEncoding, body, status } = got.answer;
  if (!isProcessorMediaType(contentType)) return { ok: false, why: `${status} with another media type` };
  if (contentEncoding !== undefined) return { ok: false, why: `${status} with a content encoding` };
  const message = decodeMessage(body);
  return message.ok
    ? { ok: true, message: message.value }
    : { ok: false, why: `${status}, body: ${message.issue.rule}` };
}
