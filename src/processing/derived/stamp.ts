/** DerivedData [data-processing §6.4]: an accepted output with the service's own stamp. Derived data are never live state. */
import {
  type AggregateQuality,
  type DerivedData,
  derivedDataSchemaId,
  type FallbackResult,
  type ProducedResult,
} from '../../api/processing.ts';
import { formatTimestamp } from '../../base/timestamp.ts';

export interface Acceptance {
  /** New, of this result. */
  readonly resultId: string;
  /** The caller's `x-request-id`, which is not sent to the processor. */
  readonly requestId: string;
  readonly acceptedAtMs: number;
  /** Of the frame that the service assembled. */
  readonly quality: AggregateQuality;
}

/** Only for a result that `validateResult` accepted. */
export function stampDerivedData(result: ProducedResult | FallbackResult, acceptance: Acceptance): DerivedData {
  const { quality } = acceptance;
  return {
    schema: derivedDataSchemaId,
    result_id: acceptance.resultId,
    request_id: acceptance.requestId,
    task: result.task,
    binding: result.binding,
    accepted_at: formatTimestamp(acceptance.acceptedAtMs),
    expires_at: result.expires_at,
    input_digest: result.input_digest,
    processing_status: result.status,
    processor: { ...result.processor, ...(result.details !== undefined && { details: result.details }) },
    ...(result.artifact !== undefined && { artifact: result.artifact }),
    quality: {
      input_watermark: quality.input_watermark,
      missing_ratio: quality.missing_ratio,
      max_gap_seconds: quality.max_gap_seconds,
      live_tail_included: quality.live_tail_included,
      substituted_samples: quality.substituted_samples,
      fallback_used: result.status === 'fallback',
    },
    warnings: result.warnings,
    ...(result.status === 'fallback' && { fallback: result.fallback }),
    data: result.output,
  };
}
