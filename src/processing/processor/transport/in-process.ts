/**
 * A processor in this process, behind the same interface: request and answer are bytes here too, so that
 * nothing is shared and every check of the wire runs. For tests, and for a site whose processor is a function.
 */
import { processorMediaType } from '../../../api/processing.ts';
import type { Clock } from '../../../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../../../base/deadline.ts';
import { rejection } from '../../../contract/validate/rejection.ts';
import { requestBytes } from '../../../contract/wire/request-bytes.ts';
import type { HttpAnswer } from '../../../egress/exchange.ts';
import type { ProcessorSettings } from '../../commission/routes.ts';
import { readAnswer, readHealth, wantedOf } from '../answer.ts';
import { type Processor, type ProcessorAnswer, unavailable } from '../processor.ts';

/** The answering function: the route, the request's headers (names in lower case) and its body, as a server receives them. */
export type AnswerRequest = (
  route: 'process' | 'health',
  request: { readonly headers: Readonly<Record<string, string | undefined>>; readonly body: Uint8Array },
  signal: AbortSignal,
) => Promise<HttpAnswer>;

export type InProcessSettings = Pick<
  ProcessorSettings,
  'id' | 'version' | 'contract' | 'max_request_bytes' | 'max_response_bytes' | 'request_timeout_ms'
>;

export function inProcessProcessor(
  settings: InProcessSettings,
  answer: AnswerRequest,
  parts: { readonly clock: Clock; readonly bearerToken: string | null },
): Processor {
  const authorization = parts.bearerToken === null ? undefined : `Bearer ${parts.bearerToken}`;

  async function ask(
    route: 'process' | 'health',
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<HttpAnswer | ProcessorAnswer> {
    const limit = deadline(parts.clock, settings.request_timeout_ms, signal);
    const headers = { 'content-type': route === 'process' ? processorMediaType : undefined, authorization };
    try {
      return await untilAborted(answer(route, { headers, body }, limit.signal), limit.signal);
    } catch {
      if (!limit.signal.aborted) return unavailable('DISCONNECTED');
      return timeIsUp(limit.signal) ? { outcome: 'timeout' } : unavailable('DISCONNECTED');
    } finally {
      limit.cancel();
    }
  }

  return {
    id: settings.id,

    async process(request, signal, leaving) {
      const body = requestBytes(request);
      if (body.byteLength > settings.max_request_bytes) return { outcome: 'oversized' };
      if (leaving !== undefined) await leaving();
      const ended = await ask('process', body, signal);
      if ('outcome' in ended) return ended;
      const { maxBytes, longer } = wantedOf(ended, settings.max_response_bytes);
      if (ended.body.byteLength <= maxBytes) return readAnswer(ended, request.request_id);
      if (longer === 'refused') return { outcome: 'rejected', rejection: rejection('max_response_bytes', '') };
      return readAnswer({ ...ended, body: new Uint8Array() }, request.request_id);
    },

    async health(signal) {
      const startMs = parts.clock.monotonicMs();
      const ended = await ask('health', new Uint8Array(), signal);
      if ('outcome' in ended) return { health: 'unavailable', latencyMs: null };
      return { health: readHealth(ended, settings), latencyMs: parts.clock.monotonicMs() - startMs };
    },
  };
}
