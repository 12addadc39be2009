/**
 * The interface of a processor in this repository: a function from an accepted request to its findings. The protocol's own
 * members (identity, digest, watermark, times) are added here, the same for every processor.
 */
import {
  type FallbackBlock,
  type ForecastOutput,
  type ForecastPoint,
  forecastOutputSchemaId,
  type ProcessingResult,
  type ProcessorRef,
  resultSchemaId,
  type UnavailableBlock,
  type UnavailableResult,
  type UsedArtifact,
} from '../../api/processing.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import { fallbackForecast } from '../../contract/kind/fallback.ts';
import type { FallbackPolicy } from '../../contract/task/declaration.ts';
import { timeMs } from '../../contract/wire/normal-times.ts';
import type { AcceptedRequest } from '../check-request.ts';

/** The result; expiry is the task's maximum age unless a shorter one is given. */
export type Findings =
  | {
      readonly status: 'produced';
      readonly points: readonly ForecastPoint[];
      readonly artifact?: UsedArtifact;
      readonly warnings?: readonly string[];
      /** The basis of the answer, for people; at most `wireLimits.detailsBytesMax` as JSON. */
      readonly details?: object;
      readonly expiresAfterSeconds?: number;
    }
  | {
      readonly status: 'fallback';
      readonly points: readonly ForecastPoint[];
      readonly fallback: FallbackBlock;
      readonly warnings?: readonly string[];
      readonly expiresAfterSeconds: number;
    }
  | { readonly status: 'unavailable'; readonly unavailable: UnavailableBlock; readonly warnings?: readonly string[] };

/** Honours `signal`, which aborts at the request's deadline and when the sender disconnects. */
export type Work = (accepted: AcceptedRequest, signal: AbortSignal) => Promise<Findings>;

export function resultOf(
  findings: Findings,
  { request, declaration }: AcceptedRequest,
  about: { readonly processor: ProcessorRef; readonly issuedAtMs: number },
): ProcessingResult {
  const common: Omit<UnavailableResult, 'status' | 'unavailable'> = {
    schema: resultSchemaId,
    request_id: request.request_id,
    task: request.task,
    binding: request.binding,
    input_digest: request.input_digest,
    issued_at: formatTimestamp(about.issuedAtMs),
    input_watermark: request.frame.quality.input_watermark,
    processor: about.processor,
    warnings: [...(findings.warnings ?? [])],
  };
  if (findings.status === 'unavailable') return { ...common, status: 'unavailable', unavailable: findings.unavailable };
  const ageSeconds = findings.expiresAfterSeconds ?? declaration.output.expires_after_seconds;
  const output: ForecastOutput = {
    schema: forecastOutputSchemaId,
    kind: 'forecast',
    target: declaration.target.name,
    unit: declaration.output.unit,
    sign_convention: declaration.output.sign_convention,
    cadence_seconds: declaration.frame.cadence_seconds,
    timestamp_semantics: 'interval_end',
    points: [...findings.points],
  };
  const expires_at = formatTimestamp(about.issuedAtMs + ageSeconds * 1000);
  if (findings.status === 'fallback')
    return { ...common, status: 'fallback', expires_at, output, fallback: findings.fallback };
  const { artifact, details } = findings;
  return {
    ...common,
    status: 'produced',
    expires_at,
    output,
    ...(artifact !== undefined && { artifact }),
    ...(details !== undefined && { details }),
  };
}

/** The labels that a request asks for: one cadence after `as_of`, and on. */
export function horizonLabels({ request, declaration }: AcceptedRequest): string[] {
  const asOfMs = timeMs(request.frame.as_of);
  const cadenceMs = declaration.frame.cadence_seconds * 1000;
  return Array.from({ length: request.options.horizon_steps }, (_, index) =>
    formatTimestamp(asOfMs + (index + 1) * cadenceMs),
  );
}

/**
 * The findings of one named strategy of the task, with the same numbers that the service will compute; null if
 * the frame lacks the needed values. Every requested probability repeats the value.
 */
export function fallbackFindings(
  policy: FallbackPolicy,
  accepted: AcceptedRequest,
  reasonCode: string,
): Extract<Findings, { status: 'fallback' }> | null {
  const { frame, options } = accepted.request;
  const forecast = fallbackForecast(policy, frame, accepted.declaration.frame.timezone, options.horizon_steps);
  if (forecast === null) return null;
  const labels = horizonLabels(accepted);
  const points = forecast.values.map((value, index): ForecastPoint => {
    const timestamp = labels[index];
    if (timestamp === undefined) throw new Error('more values than labels');
    const quantiles = options.quantiles?.map((probability) => ({ probability, value }));
    return { timestamp, value, ...(quantiles !== undefined && { quantiles }) };
  });
  return {
    status: 'fallback',
    points,
    fallback: {
      strategy: policy.strategy,
      strategy_version: policy.version,
      reason_code: reasonCode,
      source_feature: policy.source_feature,
      based_on_data_through: forecast.basedOnDataThrough,
    },
    warnings: ['MODEL_FALLBACK_USED'],
    expiresAfterSeconds: policy.max_output_age_seconds,
  };
}
