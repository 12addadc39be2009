/**
 * The scope of one request, before anything is read or recorded ([data-processing §4.1] step 2): permission, its
 * exact grids, and the size of its frame.
 */
import type { ForecastOptions } from '../../api/processing.ts';
import { Fault } from '../../base/fault.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import { type CommissionedRoute, frameCells } from '../commission/commissioned.ts';
import { futureGrid, type Grid, historyGrid } from './grid.ts';
import type { Reason } from './reason.ts';

export interface FramePlan {
  readonly route: CommissionedRoute;
  readonly asOfMs: number;
  readonly cadenceSeconds: number;
  readonly history: Grid;
  readonly future: Grid;
  /** Rules that the cutoff itself violates. */
  readonly reasons: readonly Reason[];
}

/** Throws Fault `invalid-input` or `frame-too-large`. `nowMs` is the wall time of the call's arrival. */
export function planFrame(
  route: CommissionedRoute,
  asOfMs: number,
  options: ForecastOptions,
  nowMs: number,
): FramePlan {
  checkCutoff(route, asOfMs, nowMs);
  checkOptions(route, options);
  const { cadence_seconds: cadenceSeconds, history_steps: historySteps } = route.task.frame;
  const cells = frameCells(route, options.horizon_steps);
  if (cells > route.processor.max_frame_cells)
    throw new Fault('frame-too-large', `the frame would have ${cells} cells; ask for fewer horizon_steps`, {
      details: { cells, max_frame_cells: route.processor.max_frame_cells },
    });
  const cadenceMs = cadenceSeconds * 1000;
  return {
    route,
    asOfMs,
    cadenceSeconds,
    history: historyGrid(asOfMs, cadenceMs, historySteps),
    future: futureGrid(asOfMs, cadenceMs, options.horizon_steps),
    reasons: notSettled(route, asOfMs, nowMs),
  };
}

function checkCutoff({ task }: CommissionedRoute, asOfMs: number, nowMs: number): void {
  const { cadence_seconds: cadenceSeconds, history_steps: historySteps } = task.frame;
  if (asOfMs > nowMs) throw new Fault('invalid-input', 'as_of lies in the future');
  if (asOfMs % (cadenceSeconds * 1000) !== 0)
    throw new Fault('invalid-input', `as_of must be a multiple of ${cadenceSeconds} seconds since the epoch`);
  if (asOfMs < (historySteps - 1) * cadenceSeconds * 1000)
    throw new Fault('invalid-input', `as_of must leave room for ${historySteps} labels since the epoch`);
}

function checkOptions({ task }: CommissionedRoute, options: ForecastOptions): void {
  const { horizon_steps: stepsMax } = task.frame;
  if (options.horizon_steps > stepsMax)
    throw new Fault('invalid-input', `options.horizon_steps must be at most ${stepsMax}`);
  const quantiles = options.quantiles ?? [];
  if (quantiles.length > task.output.max_quantiles)
    throw new Fault('invalid-input', `options.quantiles must be at most ${task.output.max_quantiles}`);
  if (quantiles.some((quantile, index) => index > 0 && quantile <= (quantiles[index - 1] ?? 0)))
    throw new Fault('invalid-input', 'options.quantiles must increase');
}

/** The newest bucket counts as complete once it is `settle_seconds` old. */
function notSettled({ task }: CommissionedRoute, asOfMs: number, nowMs: number): Reason[] {
  const { settle_seconds: settleSeconds } = task.frame;
  const observed = (nowMs - asOfMs) / 1000;
  if (observed >= settleSeconds) return [];
  const at = formatTimestamp(asOfMs);
  const labels = { first_label: at, last_label: at };
  return [{ rule: 'not_settled', segment: null, feature: null, observed, limit: settleSeconds, ...labels }];
}
