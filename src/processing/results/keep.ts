/** Stores results of process calls, for routes that request it [data-processing §8]. A result that cannot be stored is still answered. */
import type { NormalisedFrame } from '../../api/processing.ts';
import type { Clock } from '../../base/clock.ts';
import { newId } from '../../base/id.ts';
import type { Log } from '../../base/log.ts';
import { dayMs } from '../../base/timestamp.ts';
import type { RetentionTime } from '../../storage/retention-clock.ts';
import type { ProcessCall } from '../call.ts';
import type { Processed } from '../derived/ask-processor.ts';
import type { ProcessingLimits } from '../limits.ts';
import { numbersOf } from './packed.ts';
import { referencesOf } from './references.ts';
import type { NewResult, ResultKind, ResultStore } from './result-store.ts';

export interface KeepParts {
  readonly store: Pick<ResultStore, 'keep'>;
  readonly limits: ProcessingLimits;
  readonly clock: Clock;
  readonly retention: RetentionTime;
  readonly log: Log;
}

/** Whether the result was stored; null if there was nothing to store. */
export type KeepResult = (
  call: ProcessCall,
  frame: NormalisedFrame,
  inputDigest: string,
  processed: Processed,
) => Promise<boolean | null>;

export function resultKeeper({ store, limits, clock, retention, log }: KeepParts): KeepResult {
  return async (call, frame, inputDigest, processed) => {
    const { route } = call;
    if (!route.route.keep_results) return null;
    const keptMs = clock.wallMs();
    const result = newResultOf(call, frame, inputDigest, processed, keptMs);
    if (result === null) return null;
    try {
      await store.keep(result, retention.nowMs() - limits.kept_days * dayMs);
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error('could not store a result', { task: route.task.id, result_id: result.resultId, reason });
      return false;
    }
  };
}

/** Null for outcomes that are not about the forecast. */
export function newResultOf(
  call: ProcessCall,
  frame: NormalisedFrame,
  inputDigest: string,
  processed: Processed,
  keptMs: number,
): NewResult | null {
  const outcome = outcomeOf(call, frame, processed);
  if (outcome === null) return null;
  const { plan, options, route } = call;
  const { cadenceMs, firstMs, steps } = plan.future;
  return {
    resultId: outcome.status === 'unavailable' ? newId() : outcome.derived.result_id,
    kind: kindOf(route),
    asOfMs: plan.asOfMs,
    keptMs,
    firstMs,
    lastMs: firstMs + (steps - 1) * cadenceMs,
    steps,
    probabilities: options.quantiles ?? [],
    inputDigest,
    outcome,
  };
}

export function kindOf({ task, binding }: ProcessCall['route']): ResultKind {
  return { taskId: task.id, taskRevision: task.revision, bindingId: binding.id, bindingRevision: binding.revision };
}

/** Null for outcomes that are not about the forecast: a refusal, a rejected answer, a call that ended at its deadline. */
function outcomeOf(
  { route, options }: ProcessCall,
  frame: NormalisedFrame,
  processed: Processed,
): NewResult['outcome'] | null {
  if (processed.outcome === 'unavailable') return { status: 'unavailable', reasonCode: processed.reason };
  if (processed.outcome !== 'derived') return null;
  const { derived } = processed;
  const { points } = derived.data;
  const numbers = {
    ...numbersOf(points, options.quantiles ?? []),
    references: referencesOf(frame, route.task, points.length),
  };
  return { status: derived.processing_status, derived, numbers };
}
