/** The recorded values of a task's target, on the grid of its forecasts, as known now. */
import type { CommissionedRoute, RecordedSource } from '../commission/commissioned.ts';
import type { HistoryAdapter, SeriesWindow } from '../source/history-adapter.ts';
import { inTaskUnit, recordedWindow } from '../source/recorded-window.ts';

/** Labels per window: the maximum of a frame. */
const labelsPerWindow = 20_000;

/** The recorded value of a label; NaN without one. */
export type ActualAt = (labelMs: number) => number;

/** For the labels from `firstMs` to `lastMs`. Throws Fault `source-unavailable`. */
export async function readActuals(
  route: CommissionedRoute,
  { firstMs, lastMs }: { readonly firstMs: number; readonly lastMs: number },
  history: HistoryAdapter,
  signal: AbortSignal,
): Promise<ActualAt> {
  const { task } = route;
  const cadenceMs = task.frame.cadence_seconds * 1000;
  const { source, range } = targetOf(route);
  const windows: SeriesWindow[] = [];
  for (let fromMs = firstMs; fromMs <= lastMs; fromMs += labelsPerWindow * cadenceMs) {
    const steps = Math.min(labelsPerWindow, (lastMs - fromMs) / cadenceMs + 1);
    windows.push(
      recordedWindow(source, {
        asOfMs: fromMs + (steps - 1) * cadenceMs,
        cadenceMs,
        steps,
        maxSourceSkewMs: task.quality.max_source_skew_seconds * 1000,
        range,
      }),
    );
  }
  const found = windows.length === 0 ? [] : await history.read(windows, signal);
  const answers = found.map((answer) => inTaskUnit(source, cadenceMs, answer));
  return (labelMs) => {
    const cell = (labelMs - firstMs) / cadenceMs;
    return answers[Math.floor(cell / labelsPerWindow)]?.cells[cell % labelsPerWindow] ?? Number.NaN;
  };
}

function targetOf({ task, history }: CommissionedRoute): {
  readonly source: RecordedSource;
  readonly range: SeriesWindow['range'] & object;
} {
  for (const { input, source } of history)
    if (input.name === task.target.name && source.kind === 'recorded') return { source, range: input.range };
  throw new Error(`${task.id} was commissioned without a record of its target`);
}
