/**
 * A processor without a model [data-processing §6.3]: applies the first of the task's declared strategies that the
 * frame supports. Enough for a site without a forecaster, and the fallback of every processor here.
 */
import type { ForecastPoint } from '../../api/processing.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import type { AcceptedRequest } from '../check-request.ts';
import { type Findings, fallbackFindings, type Work } from './work.ts';

/** Never `produced`; `unavailable` when no declared strategy finds what it needs in the frame. */
export function declaredFallback(accepted: AcceptedRequest, reasonCode: string): Findings {
  for (const policy of accepted.declaration.fallbacks) {
    const findings = fallbackFindings(policy, accepted, reasonCode);
    if (findings !== null && isAcceptable(findings.points, accepted.declaration)) return findings;
  }
  const { cadence_seconds: retry_after_seconds } = accepted.declaration.frame;
  return {
    status: 'unavailable',
    unavailable: { reason_code: 'INSUFFICIENT_HISTORY', retryable: true, retry_after_seconds },
  };
}

/** Inside the task's bounds, and zeros throughout only where zero is its baseline ([data-processing §6.3] 5). */
function isAcceptable(points: readonly ForecastPoint[], { output }: TaskDeclaration): boolean {
  const low = output.minimum ?? Number.NEGATIVE_INFINITY;
  const high = output.maximum ?? Number.POSITIVE_INFINITY;
  const zero = points.every(({ value }) => value === 0);
  return points.every(({ value }) => value >= low && value <= high) && (output.zero_is_baseline || !zero);
}

export const fallbackWork: Work = (accepted) => Promise.resolve(declaredFallback(accepted, 'MODEL_UNAVAILABLE'));
