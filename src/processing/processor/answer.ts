/**
 * Classifies an HTTP answer of a processor [processor §5], [processor §6.1]: a message to validate, a typed refusal, an
 * unavailability, or an invalid answer. Of an error only its code, status and advice are used, never its text.
 */
import { processorErrorSchema, processorHealthSchema } from '../../api/processing.ts';
import { rejection } from '../../contract/validate/rejection.ts';
import { isPlainEncoding, isProcessorMediaType } from '../../contract/wire/media-type.ts';
import { decodeMessage } from '../../contract/wire/message.ts';
import { shape } from '../../contract/wire/shape.ts';
import type { AnswerHead, HttpAnswer, Wanted } from '../../egress/exchange.ts';
import { processorLimits } from './limits.ts';
import { type ProcessorAnswer, type ProcessorCondition, unavailable } from './processor.ts';

const errorShape = shape(processorErrorSchema);
const healthShape = shape(processorHealthSchema);

/** [processor §5]: the category of each status. */
const categories: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'authorization',
  403: 'authorization',
  404: 'not_found',
  413: 'resource_limit',
  415: 'invalid_request',
  422: 'invalid_data',
  429: 'capacity',
  500: 'internal',
  503: 'unavailable',
  504: 'timeout',
};

/** From a proxy that could not reach the processor, unless the body is an envelope of the processor. */
const proxyStatuses: readonly number[] = [502, 503, 504];
/** Counts as a transport failure. */
export const proxyError = 'PROXY_ERROR';

/** Null if the head announces a message; otherwise the final answer, whatever the body. */
function refusedHead(head: AnswerHead): ProcessorAnswer | null {
  const known = head.status === 200 || categories[head.status] !== undefined || proxyStatuses.includes(head.status);
  if (!known) return rejected('http_status');
  const plain = isPlainEncoding(head.contentEncoding);
  if (plain && isProcessorMediaType(head.contentType)) return null;
  // For an unavailable processor only the status counts: the body may come from a proxy in front of it.
  return head.status === 200 ? rejected(plain ? 'media_type' : 'content_encoding') : untypedError(head.status);
}

/** An answer rejected by its head is not read; for an error, the status counts and a long body is not read. */
export function wantedOf(head: AnswerHead, maxResponseBytes: number): Wanted {
  if (refusedHead(head) !== null) return { maxBytes: 0, longer: 'unread' };
  if (head.status !== 200) return { maxBytes: processorLimits.smallAnswerBytes, longer: 'unread' };
  return { maxBytes: maxResponseBytes, longer: 'refused' };
}

export function readAnswer(answer: HttpAnswer, requestId: string): ProcessorAnswer {
  const refused = refusedHead(answer);
  if (refused !== null) return refused;
  const message = decodeMessage(answer.body);
  if (answer.status !== 200)
    return message.ok ? readError(answer.status, message.value, requestId) : untypedError(answer.status);
  if (!message.ok) return { outcome: 'rejected', rejection: rejection('json', message.issue.path, message.issue.rule) };
  return { outcome: 'answered', message: message.value };
}

function readError(status: number, message: unknown, requestId: string): ProcessorAnswer {
  const decoded = errorShape(message);
  if (!decoded.ok) return untypedError(status);
  const { code, category, retryable, details, request_id } = decoded.value;
  const ours = request_id === '' || request_id === requestId;
  if (!ours || category !== categories[status]) return untypedError(status);
  if (status === 504) return { outcome: 'timeout' };
  if (status === 429 || status >= 500) {
    // [processor §5]: capacity errors are always retryable; for others the processor decides.
    return unavailable(code, { retryable: retryable || status === 429, retryAfterSeconds: adviceOf(details) });
  }
  return { outcome: 'refused', status, code };
}

/** An error without a readable envelope: only its status is used. */
function untypedError(status: number): ProcessorAnswer {
  if (proxyStatuses.includes(status)) return unavailable(proxyError);
  if (status === 429) return unavailable('PROCESSOR_BUSY');
  if (status >= 500) return unavailable('PROCESSOR_FAILED');
  return rejected('error_envelope');
}

function adviceOf(details: object): number | null {
  const seconds: unknown = 'retry_after_seconds' in details ? details.retry_after_seconds : null;
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 0) return null;
  return Math.min(seconds, processorLimits.retryAfterSecondsMax);
}

function rejected(check: 'http_status' | 'media_type' | 'content_encoding' | 'error_envelope'): ProcessorAnswer {
  return { outcome: 'rejected', rejection: rejection(check, '') };
}

const healthWords = { ok: 'healthy', degraded: 'degraded', unavailable: 'unavailable' } as const;

/** The answer of `GET /v1/health`; with another identity, all results would be rejected. */
export function readHealth(
  answer: HttpAnswer,
  expected: { readonly id: string; readonly version: string; readonly contract: string },
): ProcessorCondition['health'] {
  if (refusedHead(answer) !== null || answer.status !== 200) return 'unavailable';
  const message = decodeMessage(answer.body);
  const health = message.ok ? healthShape(message.value) : message;
  if (!health.ok) return 'unavailable';
  const { status, processor, version, contract } = health.value;
  const same = processor === expected.id && version === expected.version && contract === expected.contract;
  return same ? healthWords[status] : 'unavailable';
}
