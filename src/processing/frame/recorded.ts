/**
 * Recorded features [data-processing §4.2]: the windows of one request, read in one snapshot, and their findings
 * about duplicates, clocks and ranges.
 */
import { formatTimestamp } from '../../base/timestamp.ts';
import type { InstantSpan, WindowAnswer } from '../../historian/historian.ts';
import type { BoundInput, CommissionedRoute, RecordedSource, RunSource } from '../commission/commissioned.ts';
import { sourceLimits } from '../limits.ts';
import type { HistoryAdapter, SeriesWindow } from '../source/history-adapter.ts';
import { inTaskUnit, recordedWindow } from '../source/recorded-window.ts';
import { type Cells, emptyCells, goodCells, isMissing, mark, setCell } from './cells.ts';
import { type Feature, featureReason } from './feature.ts';
import { type Grid, gridLabel } from './grid.ts';
import type { FramePlan } from './plan.ts';
import type { Reason, SegmentName } from './reason.ts';

const daySeconds = 86_400;

export interface RecordedFeatures {
  readonly history: readonly Feature[];
  /** The last whole day before the cutoff, by future feature with the fallback `persistence_day`. */
  readonly lastDay: ReadonlyMap<string, WindowAnswer>;
}

type RecordedInput = BoundInput<RecordedSource>;

export async function readRecorded(
  plan: FramePlan,
  adapter: HistoryAdapter,
  signal: AbortSignal,
): Promise<RecordedFeatures> {
  const inputs = recordedInputs(plan.route);
  const twins = persistenceTwins(plan.route);
  const windows = [
    ...inputs.map(({ input, source }) => windowOf(plan, plan.history.steps, source, input.range)),
    ...twins.map(({ input, source }) => windowOf(plan, daySeconds / plan.cadenceSeconds, source, input.range)),
  ];
  const found = await adapter.read(windows, signal);
  if (found.length !== windows.length) throw new Error('the history adapter did not answer every window');
  const sources = [...inputs, ...twins].map(({ source }) => source);
  const answers = sources.map((source, index) => inTaskUnit(source, plan.history.cadenceMs, answerAt(found, index)));
  const history = inputs.map((bound, index) => featureOf(plan, bound, answerAt(answers, index)));
  const lastDay = new Map(
    twins.map(({ input }, index) => [input.name, answerAt(answers, inputs.length + index)] as const),
  );
  return { history, lastDay };
}

function recordedInputs(route: CommissionedRoute): RecordedInput[] {
  return route.history.flatMap(({ input, source }) => (source.kind === 'recorded' ? [{ input, source }] : []));
}

function persistenceTwins(route: CommissionedRoute): RecordedInput[] {
  return route.future.flatMap(({ input, source }) => {
    const recorded = source.kind === 'runs' ? source.recorded : null;
    return recorded === null ? [] : [{ input, source: recorded }];
  });
}

function windowOf(
  plan: FramePlan,
  steps: number,
  source: RecordedSource,
  range: SeriesWindow['range'] & object,
): SeriesWindow {
  return recordedWindow(source, {
    asOfMs: plan.asOfMs,
    cadenceMs: plan.history.cadenceMs,
    steps,
    maxSourceSkewMs: plan.route.task.quality.max_source_skew_seconds * 1000,
    range,
  });
}

function answerAt(answers: readonly WindowAnswer[], index: number): WindowAnswer {
  const answer = answers[index];
  if (answer === undefined) throw new Error(`no answer for window ${index}`);
  return answer;
}

function featureOf(plan: FramePlan, { input, source }: RecordedInput, answer: WindowAnswer): Feature {
  const place = { segment: 'history', input, grid: plan.history } as const;
  return {
    ...place,
    cells: cellsOf(answer),
    sourceKind: 'history',
    sourceRef: source.sourceRef,
    watermarkMs: answer.watermarkMs,
    issuedMs: null,
    reasons: windowReasons(place, source, answer),
  };
}

function cellsOf(answer: WindowAnswer): Cells {
  const cells = goodCells(answer.cells);
  for (let index = 0; index < cells.marks.length; index++)
    if (answer.uncertainCells[index] === 1 && !isMissing(cells, index)) cells.marks[index] = mark.uncertain;
  return cells;
}

/** The quality rules that the rows of a window violate, independent of the cells. */
function windowReasons(
  place: { readonly segment: SegmentName; readonly input: Feature['input']; readonly grid: Grid },
  source: RecordedSource,
  answer: WindowAnswer,
): Reason[] {
  const reasons: Reason[] = [];
  if (source.duplicatePolicy === 'reject' && answer.firstDuplicateMs !== null) {
    const instant = { firstMs: answer.firstDuplicateMs, lastMs: answer.firstDuplicateMs };
    const observed = formatTimestamp(answer.firstDuplicateMs);
    reasons.push(labelled(place, featureReason(place, 'duplicate_sample', observed, null), instant));
  }
  const skewed = answer.rows === 0 ? 0 : answer.skewedRows / answer.rows;
  if (skewed > sourceLimits.skewed_ratio)
    reasons.push(
      labelled(place, featureReason(place, 'clock_skew', skewed, sourceLimits.skewed_ratio), answer.skewedSpan),
    );
  if (place.input.out_of_range === 'reject' && answer.outOfRangeRows > 0)
    reasons.push(labelled(place, featureReason(place, 'range', answer.outOfRangeRows, 0), answer.outOfRangeSpan));
  return reasons;
}

/** With the labels of the intervals that contain the rows. */
function labelled({ grid }: { readonly grid: Grid }, reason: Reason, span: InstantSpan | null): Reason {
  if (span === null) return reason;
  return { ...reason, first_label: gridLabel(grid, span.firstMs), last_label: gridLabel(grid, span.lastMs) };
}

/**
 * `persistence_day` [data-processing §4.8]: each future label takes the recorded value of the same time of day in the 24 hours
 * that end at the cutoff. Filled cells are substituted, with the provenance of the record.
 */
export function persistedDay(
  plan: FramePlan,
  input: Feature['input'],
  source: RunSource,
  answer: WindowAnswer,
): Feature {
  const { recorded } = source;
  if (recorded === null) throw new Error(`${input.name} was commissioned without a record to persist`);
  const place = { segment: 'future_covariates', input, grid: plan.future } as const;
  const cells = emptyCells(plan.future.steps);
  for (let index = 0; index < plan.future.steps; index++)
    setCell(cells, index, answer.cells[index % answer.cells.length] ?? Number.NaN, mark.substituted);
  return {
    ...place,
    cells,
    sourceKind: 'history',
    sourceRef: recorded.sourceRef,
    watermarkMs: answer.watermarkMs,
    issuedMs: null,
    // The rows lie before the future grid; their labels are those of history.
    reasons: windowReasons({ ...place, grid: plan.history }, recorded, answer),
  };
}
