/**
 * Step 8 of the validation order [processor §4]: whether an untrusted result answers the request. Every check must pass; one
 * that fails rejects the whole result, and no part of it is used ([data-processing §6.1] `rejected`).
 */
import type { ProcessingResult, UsedArtifact } from '../../api/processing.ts';
import { checkBaseline, checkForecastOutput } from '../kind/forecast-output.ts';
import type { TaskDeclaration } from '../task/declaration.ts';
import { timeMs } from '../wire/normal-times.ts';
import type { NormalisedRequest } from '../wire/request-decode.ts';
import { decodeResult } from '../wire/result-decode.ts';
import { checkFallback, checkPromotion, policyFor } from './fallback-check.ts';
import { type Rejection, rejection, shapeRejection } from './rejection.ts';

/** What the route says about the answering processor. */
export interface ResultRoute {
  readonly processor: { readonly id: string; readonly version: string; readonly contract: string };
  readonly requires_artifact: boolean;
  readonly max_clock_skew_ms: number;
}

export interface ResultQuestion {
  readonly request: NormalisedRequest;
  readonly declaration: TaskDeclaration;
  readonly route: ResultRoute;
  /** Wall milliseconds of acceptance. */
  readonly nowMs: number;
}

export type ResultVerdict =
  /** In its normal form. An `unavailable` result is a valid answer too. */
  | { readonly outcome: 'accepted'; readonly result: ProcessingResult }
  | { readonly outcome: 'rejected'; readonly rejection: Rejection };

/** Checks a parsed message. One that is not strict JSON has already been refused. */
export function validateResult(message: unknown, question: ResultQuestion): ResultVerdict {
  const decoded = decodeResult(message);
  if (!decoded.ok) return { outcome: 'rejected', rejection: shapeRejection(decoded.issue) };
  const result = decoded.value;
  const rejected =
    checkCorrelation(result, question) ??
    checkTimes(result, question) ??
    checkPromotion(result) ??
    checkArtifact(result, question) ??
    checkContent(result, question);
  return rejected === null ? { outcome: 'accepted', result } : { outcome: 'rejected', rejection: rejected };
}

/** Exactly the request's identity, and the processor that the route specifies. */
function checkCorrelation(result: ProcessingResult, { request, route }: ResultQuestion): Rejection | null {
  if (result.request_id !== request.request_id) return rejection('request_id', '/request_id');
  if (result.task.id !== request.task.id) return rejection('task', '/task/id');
  if (result.task.revision !== request.task.revision) return rejection('task', '/task/revision');
  if (result.task.kind !== request.task.kind) return rejection('task', '/task/kind');
  if (result.binding.id !== request.binding.id) return rejection('binding', '/binding/id');
  if (result.binding.revision !== request.binding.revision) return rejection('binding', '/binding/revision');
  if (result.input_digest !== request.input_digest) return rejection('input_digest', '/input_digest');
  for (const member of ['id', 'version', 'contract'] as const) {
    if (result.processor[member] !== route.processor[member]) return rejection('processor', `/processor/${member}`);
  }
  return null;
}

/** Deadline, issue time within the clock skew, and the exact watermark of the frame. */
function checkTimes(result: ProcessingResult, { request, route, nowMs }: ResultQuestion): Rejection | null {
  if (nowMs > timeMs(request.deadline)) return rejection('deadline', '');
  const issuedMs = timeMs(result.issued_at);
  const skewMs = route.max_clock_skew_ms;
  if (issuedMs < timeMs(request.submitted_at) - skewMs || issuedMs > nowMs + skewMs)
    return rejection('issued_at', '/issued_at');
  return result.input_watermark === request.frame.quality.input_watermark
    ? null
    : rejection('input_watermark', '/input_watermark');
}

/**
 * When the request selects an artifact, or the route requires one, a produced result must name it; a result that names one
 * must name the selected one.
 */
function checkArtifact(result: ProcessingResult, { request, route }: ResultQuestion): Rejection | null {
  const { artifact: selected } = request;
  if (result.artifact === undefined) {
    const needed = result.status === 'produced' && (selected !== undefined || route.requires_artifact);
    return needed ? rejection('artifact', '/artifact', 'required') : null;
  }
  if (selected === undefined) return null;
  const used: UsedArtifact = result.artifact;
  for (const member of ['kind', 'family', 'version', 'artifact_digest'] as const) {
    if (selected[member] !== undefined && used[member] !== selected[member])
      return rejection('artifact', `/artifact/${member}`);
  }
  return null;
}

/** Output and expiry; a fallback has its own, shorter, bound. An unavailable result has neither. */
function checkContent(result: ProcessingResult, question: ResultQuestion): Rejection | null {
  const { request, declaration, nowMs } = question;
  if (result.status === 'unavailable') return null;
  const asked = { task: declaration, asOf: request.frame.as_of, options: request.options };
  if (result.status === 'produced') {
    return (
      checkExpiry(result, declaration.output.expires_after_seconds, nowMs) ?? checkForecastOutput(result.output, asked)
    );
  }
  const policy = policyFor(result, declaration);
  if (policy === null) return rejection('fallback_not_allowed', '/fallback/strategy');
  return (
    checkExpiry(result, policy.max_output_age_seconds, nowMs) ??
    checkForecastOutput(result.output, asked) ??
    checkBaseline(result.output, declaration) ??
    checkFallback(result, policy, request.frame, declaration.frame.timezone)
  );
}

/** After the issue, within the longest age of such output, and later than the moment of acceptance. */
function checkExpiry(
  result: { readonly issued_at: string; readonly expires_at: string },
  maxAgeSeconds: number,
  nowMs: number,
): Rejection | null {
  const issuedMs = timeMs(result.issued_at);
  const expiresMs = timeMs(result.expires_at);
  if (expiresMs <= issuedMs) return rejection('expires_at', '/expires_at', 'after_issued_at');
  if (expiresMs > issuedMs + maxAgeSeconds * 1000) return rejection('expires_at', '/expires_at', 'max_output_age');
  return expiresMs > nowMs ? null : rejection('expires_at', '/expires_at', 'expired');
}
