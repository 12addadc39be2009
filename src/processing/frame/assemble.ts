/**
 * Frame assembly [data-processing §4.1]: steps 2 to 8 in one function. It only
 * reads. The result is a complete frame, or every rule of the task's policy that the data violates.
 */
import type { NormalisedFrame } from '../../api/processing.ts';
import type { Log } from '../../base/log.ts';
import type { CovariateAdapter } from '../source/covariate-file.ts';
import type { HistoryAdapter } from '../source/history-adapter.ts';
import type { LiveState } from '../source/live-state.ts';
import { align } from './align.ts';
import { calendarFeatures } from './calendar.ts';
import { readCovariates } from './covariates.ts';
import { withLiveTail } from './live-tail.ts';
import type { FramePlan } from './plan.ts';
import { brokenRules } from './policy.ts';
import type { Reason } from './reason.ts';
import { readRecorded } from './recorded.ts';
import { wireFrame } from './wire-frame.ts';

export interface AssemblySources {
  readonly history: HistoryAdapter;
  readonly covariates: CovariateAdapter;
  /** One moment of live state, taken for this call. */
  readonly live: LiveState;
}

export interface AssemblyCall {
  readonly plan: FramePlan;
  readonly sources: AssemblySources;
  /** Aborts at the call's deadline. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

export type Assembly =
  | { readonly ok: true; readonly frame: NormalisedFrame }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

/** Throws Fault `source-unavailable`. */
export async function assembleFrame(call: AssemblyCall): Promise<Assembly> {
  const { plan, sources, signal, log } = call;
  const recorded = await readRecorded(plan, sources.history, signal);
  const history = withLiveTail(plan, recorded.history, sources.live, log);
  const covariates = await readCovariates(plan, sources.covariates, recorded.lastDay, signal);
  const calendar = calendarFeatures(plan);
  signal.throwIfAborted();
  const features = align(plan, [...history, ...covariates, ...calendar]);
  const reasons = brokenRules(plan, features);
  if (reasons.length > 0) return { ok: false, reasons };
  return { ok: true, frame: wireFrame(plan, features) };
}
