/**
 * A task over recorded history [data-processing §8]: for each instant the frame as known then, through the processor like a live call,
 * scored against the current record. No result is stored.
 */
import type { CallAudit } from '../../api/capability.ts';
import type { ForecastOptions, NormalisedFrame, ProcessTaskRequest } from '../../api/processing.ts';
import type { ScoreGroup, ScoreKind } from '../../api/processing-results.ts';
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Log } from '../../base/log.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import { inTurns } from '../../base/turns.ts';
import type { Historian } from '../../historian/historian.ts';
import { resolveCall } from '../call.ts';
import type { CommissionedRoute } from '../commission/commissioned.ts';
import { refusalLine } from '../frame/reason.ts';
import { backtestLimits } from '../limits.ts';
import { processTask } from '../process.ts';
import type { Processor } from '../processor/processor.ts';
import { routeSlots } from '../slots.ts';
import { covariateFiles } from '../source/covariate-file.ts';
import { embeddedHistory } from '../source/embedded-history.ts';
import { noLiveState } from '../source/live-state.ts';
import { type ActualAt, readActuals } from './actuals.ts';
import { newResultOf } from './keep.ts';
import type { NewResult } from './result-store.ts';
import { ScoreBoard } from './score.ts';

export interface BacktestQuestion {
  readonly route: CommissionedRoute;
  readonly cutoffs: readonly number[];
  readonly options: ForecastOptions;
  readonly by: ScoreKind;
}

export interface BacktestParts {
  readonly processor: Processor;
  readonly historian: Pick<Historian, 'snapshot'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: CallAudit;
  readonly onResult: (result: NewResult, frame: NormalisedFrame) => void;
  /** Calls made so far, and their total. */
  readonly onProgress: (done: number, all: number) => void;
}

interface RefusedCalls {
  readonly code: string;
  /** One line for the operator. */
  readonly reason: string;
  readonly count: number;
  /** The first cutoff. */
  readonly firstMs: number;
}

export interface BacktestReport {
  readonly groups: readonly ScoreGroup[];
  /** Calls without a result, by reason, in the order of the first of each. */
  readonly refused: readonly RefusedCalls[];
  /** Labels from the first target to the last past one. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly actualAt: ActualAt;
}

/** From `fromMs` on, before `toMs`, in milliseconds. Throws Fault `invalid-input` if they do not fit the task, or are too many. */
export function cutoffsOf(
  { task: { frame } }: Pick<CommissionedRoute, 'task'>,
  { fromMs, toMs, everyMs }: { readonly fromMs: number; readonly toMs: number; readonly everyMs: number },
): readonly number[] {
  const cadenceMs = frame.cadence_seconds * 1000;
  if (toMs <= fromMs) throw new Fault('invalid-input', 'the end must be later than the first cutoff');
  if (everyMs < cadenceMs || everyMs % cadenceMs !== 0 || fromMs % cadenceMs !== 0)
    throw new Fault(
      'invalid-input',
      `cutoffs must be multiples of ${frame.cadence_seconds} seconds since the epoch, the task's cadence`,
    );
  const count = Math.ceil((toMs - fromMs) / everyMs);
  if (count > backtestLimits.cutoffs)
    throw new Fault(
      'invalid-input',
      `this would be ${count} calls; at most ${backtestLimits.cutoffs} are made at once, so give a shorter span or more time between them`,
    );
  return Array.from({ length: count }, (_, index) => fromMs + index * everyMs);
}

/** `cutoffs` are those of `cutoffsOf`. */
export async function backtest(question: BacktestQuestion, parts: BacktestParts): Promise<BacktestReport> {
  const { route, cutoffs, options, by } = question;
  const { clock } = parts;
  const { timezone: timeZone, cadence_seconds: cadence } = route.task.frame;
  const cadenceMs = cadence * 1000;
  const [firstCutoffMs = 0] = cutoffs;
  const firstMs = firstCutoffMs + cadenceMs;
  const newestMs = Math.floor(clock.wallMs() / cadenceMs) * cadenceMs;
  const lastMs = Math.min((cutoffs.at(-1) ?? 0) + options.horizon_steps * cadenceMs, newestMs);
  const never = new AbortController().signal;
  const actualAt = await readActuals(route, { firstMs, lastMs }, embeddedHistory(parts.historian), never);
  const board = new ScoreBoard({ by, fromMs: firstMs, toMs: lastMs + 1, cadenceMs, timeZone, actualAt });
  const refused = new Map<string, RefusedCalls>();
  for (const [index, asOfMs] of cutoffs.entries()) {
    const { result, refusal } = await askAt(asOfMs, question, parts);
    if (refusal !== null) {
      const reason = refusalLine(refusal);
      const before = refused.get(reason) ?? { code: refusal.code, reason, count: 0, firstMs: asOfMs };
      refused.set(reason, { ...before, count: before.count + 1 });
    }
    if (result !== null) {
      const numbers = result.outcome.status === 'unavailable' ? null : result.outcome.numbers;
      board.add({ ...result, status: result.outcome.status, numbers });
    }
    parts.onProgress(index + 1, cutoffs.length);
  }
  return { groups: await inTurns(clock, board.groups()), refused: [...refused.values()], firstMs, lastMs, actualAt };
}

/** One call, at the time when its newest label had settled. */
async function askAt(
  asOfMs: number,
  { route, options }: BacktestQuestion,
  { processor, historian, clock, log, audit, onResult }: BacktestParts,
): Promise<{ readonly result: NewResult | null; readonly refusal: Fault | null }> {
  const { task, binding } = route;
  const body: ProcessTaskRequest = {
    task_id: task.id,
    expected_task_revision: task.revision,
    binding_id: binding.id,
    expected_binding_revision: binding.revision,
    as_of: formatTimestamp(asOfMs),
    options,
  };
  const knownAtMs = asOfMs + task.frame.settle_seconds * 1000;
  let result: NewResult | null = null;
  const call = resolveCall(body, undefined, [route], clock);
  const asked = processTask(
    call,
    {
      clock,
      log,
      slots: routeSlots(),
      sources: { history: embeddedHistory(historian, knownAtMs), covariates: covariateFiles },
      live: () => noLiveState,
      processor: () => processor,
      keep(own, frame, digest, processed) {
        // As if it had been stored then: all of its targets were in the future.
        result = newResultOf(own, frame, digest, processed, asOfMs);
        if (result !== null) onResult(result, frame);
        return Promise.resolve(null);
      },
    },
    audit,
  );
  try {
    await asked;
    return { result, refusal: null };
  } catch (error) {
    // An answer `unavailable` is a result, too.
    if (error instanceof Fault) return { result, refusal: result === null ? error : null };
    throw error;
  }
}
