/**
 * The work of a processor without a model (decisions §4 "Fallbacks"): the first of the task's named strategies, in
 * declared order, that the frame has the history for; a frame that has it for none is honestly unavailable.
 */
import { fallbackFindings, type Work } from './work.ts';

export const fallbackWork: Work = async (accepted) => {
  for (const policy of accepted.declaration.fallbacks) {
    const findings = fallbackFindings(policy, accepted, 'MODEL_UNAVAILABLE');
    if (findings !== null) return findings;
  }
  const retry_after_seconds = accepted.declaration.frame.cadence_seconds;
  return {
    status: 'unavailable',
    unavailable: { reason_code: 'INSUFFICIENT_HISTORY', retryable: true, retry_after_seconds },
  };
};
