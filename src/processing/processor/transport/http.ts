/**
 * A processor behind HTTP [processor §6], [processor §6.3]: the two fixed routes below its endpoint, the
 * contract's media type both ways, one attempt per call.
 */
import { processorMediaType } from '../../../api/processing.ts';
import { createFaultLog } from '../../../base/log.ts';
import { rejection } from '../../../contract/validate/rejection.ts';
import { requestBytes } from '../../../contract/wire/request-bytes.ts';
import { type Exchange, type ExchangeEnd, exchange, failureWords, type Network } from '../../../egress/exchange.ts';
import { systemResolve } from '../../../egress/pinned-address.ts';
import { proxyError, readAnswer, readHealth, wantedOf } from '../answer.ts';
import { Breaker } from '../breaker.ts';
import { processorLimits } from '../limits.ts';
import { type Leaving, type ProcessorAnswer, type ProcessorCondition, unavailable } from '../processor.ts';
import type { ReachedProcessor, TransportParts, TransportSettings } from './transport.ts';

export function http(settings: TransportSettings, parts: TransportParts): ReachedProcessor {
  const base = new URL(settings.endpoint.endsWith('/') ? settings.endpoint : `${settings.endpoint}/`);
  if (settings.boundary === 'remote' && base.protocol !== 'https:')
    throw new Error(`processor ${settings.id} is remote and not https`);
  const network: Network = { clock: parts.clock, resolve: parts.resolve ?? systemResolve };
  const breaker = new Breaker(parts.clock);
  const faults = parts.log === undefined ? null : createFaultLog(parts.log);
  const told = async (asked: Exchange, signal: AbortSignal): Promise<ExchangeEnd> => {
    const ended = await exchange(asked, network, signal);
    if (ended.end === 'answer') faults?.worked(settings.id);
    else if (ended.end !== 'abandoned')
      faults?.failed(settings.id, 'a processor did not answer', {
        processor: settings.id,
        reason: failureWords(ended),
      });
    return ended;
  };
  const common = {
    boundary: settings.boundary,
    connectTimeoutMs: settings.connect_timeout_ms,
    requestTimeoutMs: settings.request_timeout_ms,
  };
  const headers = {
    accept: processorMediaType,
    ...(parts.bearerToken !== null && { authorization: `Bearer ${parts.bearerToken}` }),
  };

  return {
    id: settings.id,
    breakerOpen: () => breaker.open,

    async process(request, signal, leaving) {
      const body = requestBytes(request);
      if (body.byteLength > settings.max_request_bytes) return { outcome: 'oversized' };
      const asked: Exchange = {
        ...common,
        url: new URL('v1/process', base),
        method: 'POST',
        headers: { ...headers, 'content-type': processorMediaType },
        body,
        wanted: (head) => wantedOf(head, settings.max_response_bytes),
      };
      const call = () => told(asked, signal);
      return guarded(breaker, call, (ended) => answerOf(ended, request.request_id), leaving);
    },

    async health(signal) {
      if (breaker.open) return { health: 'unavailable', latencyMs: null };
      const startMs = parts.clock.monotonicMs();
      const asked: Exchange = {
        ...common,
        url: new URL('v1/health', base),
        method: 'GET',
        headers,
        body: null,
        wanted: (head) => wantedOf(head, processorLimits.smallAnswerBytes),
      };
      const ended = await told(asked, signal);
      return conditionOf(ended, settings, parts.clock.monotonicMs() - startMs);
    },
  };
}

function conditionOf(ended: ExchangeEnd, settings: TransportSettings, latencyMs: number): ProcessorCondition {
  if (ended.end !== 'answer') return { health: 'unavailable', latencyMs: null };
  return { health: readHealth(ended.answer, settings), latencyMs };
}

/** One call through the breaker: refused at once while it is open, and counted by its transport outcome. */
async function guarded(
  breaker: Breaker,
  run: () => Promise<ExchangeEnd>,
  read: (ended: ExchangeEnd) => ProcessorAnswer,
  leaving: Leaving | undefined,
): Promise<ProcessorAnswer> {
  const admission = breaker.admit();
  if (!admission.admitted)
    return unavailable('CIRCUIT_OPEN', { retryAfterSeconds: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)) });
  try {
    if (leaving !== undefined) await leaving();
  } catch (error) {
    breaker.abandon();
    throw error;
  }
  const ended = await run();
  const answer = read(ended);
  if (ended.end === 'abandoned') breaker.abandon();
  else if (ended.end === 'no_connection' || ended.end === 'disconnected' || ended.end === 'timeout') breaker.failure();
  else if (answer.outcome === 'unavailable' && answer.reason === proxyError) breaker.failure();
  else breaker.success();
  return answer;
}

function answerOf(ended: ExchangeEnd, requestId: string): ProcessorAnswer {
  switch (ended.end) {
    case 'answer':
      return readAnswer(ended.answer, requestId);
    case 'too_large':
      return { outcome: 'rejected', rejection: rejection('max_response_bytes', '') };
    case 'not_http':
      return { outcome: 'rejected', rejection: rejection('http_status', '', 'http') };
    case 'no_connection':
      return unavailable('CONNECTION_FAILED');
    case 'disconnected':
      return unavailable('DISCONNECTED');
    case 'timeout':
    case 'abandoned':
      return { outcome: 'timeout' };
  }
}
