/**
 * Steps 9 and 10 of [data-processing §4.1]: calls the processor with one frame, validates its answer, stamps a valid one. Each outcome
 * is a value; `refusalOf` is the refusal for the caller of the application route.
 */
import type { DerivedData } from '../../api/processing.ts';
import type { Clock } from '../../base/clock.ts';
import { timeIsUp } from '../../base/deadline.ts';
import { Fault } from '../../base/fault.ts';
import { newId } from '../../base/id.ts';
import { type ResultQuestion, validateResult } from '../../contract/validate/result.ts';
import { processorLimits } from '../processor/limits.ts';
import { type Leaving, type Processor, type ProcessorAnswer, unavailable } from '../processor/processor.ts';
import { stampDerivedData } from './stamp.ts';

export type Processed =
  | { readonly outcome: 'derived'; readonly derived: DerivedData }
  | Exclude<ProcessorAnswer, { readonly outcome: 'answered' }>;

export type Unprocessed = Exclude<Processed, { readonly outcome: 'derived' }>;

export interface Asking {
  readonly question: Omit<ResultQuestion, 'nowMs'>;
  /** The caller's `x-request-id`, which DerivedData carries. */
  readonly callerId: string;
  readonly leaving?: Leaving;
}

export async function askProcessor(
  processor: Processor,
  { question, callerId, leaving }: Asking,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Processed> {
  const answer = await processor.process(question.request, signal, leaving);
  if (answer.outcome !== 'answered') return answer;
  // The answer and the timer may come in one turn: after the deadline no answer is accepted.
  if (timeIsUp(signal)) return { outcome: 'timeout' };
  const acceptedAtMs = clock.wallMs();
  const verdict = validateResult(answer.message, { ...question, nowMs: acceptedAtMs });
  if (verdict.outcome === 'rejected') return verdict;
  const { result } = verdict;
  if (result.status === 'unavailable') {
    const { reason_code, retryable, retry_after_seconds: seconds = null } = result.unavailable;
    const retryAfterSeconds = seconds === null ? null : Math.min(seconds, processorLimits.retryAfterSecondsMax);
    return unavailable(reason_code, { retryable, retryAfterSeconds });
  }
  const { quality } = question.request.frame;
  const derived = stampDerivedData(result, { resultId: newId(), requestId: callerId, acceptedAtMs, quality });
  return { outcome: 'derived', derived };
}

/** The application's answer [data-processing §5.4]: codes only, never text of a processor. */
export function refusalOf(ended: Unprocessed): Fault {
  switch (ended.outcome) {
    case 'rejected': {
      const { check, path, rule } = ended.rejection;
      return new Fault('result-rejected', 'the processor returned an invalid result', {
        details: { check, path, ...(rule !== null && { rule }) },
      });
    }
    case 'refused':
      return new Fault('processor-refused', 'the processor refused this request', { details: { code: ended.code } });
    case 'unavailable': {
      const { reason, retryable, retryAfterSeconds } = ended;
      return new Fault('processing-unavailable', 'no result is available now', {
        details: { reason, ...(retryAfterSeconds !== null && { retry_after_seconds: retryAfterSeconds }) },
        retryable,
        ...(retryAfterSeconds !== null && { retryAfterMs: retryAfterSeconds * 1000 }),
      });
    }
    case 'timeout':
      return new Fault('deadline-exceeded', 'the processor did not answer in time');
    case 'oversized':
      return new Fault('frame-too-large', 'the request is larger than the route of this task allows');
  }
}
