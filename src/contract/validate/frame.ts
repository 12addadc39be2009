/**
 * Whether a frame is what the task requires. Steps 4 to 6 of the validation order [processor §4], for receivers of frames:
 * features and units, then grids, then samples, provenance and aggregates, then the task's quality policy.
 */
import type { ForecastOptions, NormalisedFrame, Segment, Series } from '../../api/processing.ts';
import type { TaskDeclaration, TaskInput } from '../task/declaration.ts';
import { step } from '../wire/issue.ts';
import { timeMs } from '../wire/normal-times.ts';
import { type FrameFault, firstFault, invalid } from './frame-fault.ts';
import { checkProvenance } from './frame-provenance.ts';
import { checkFrameQuality } from './frame-quality.ts';
import { checkAggregates, checkSamples } from './frame-samples.ts';

/** Null when the frame is accepted. */
export function checkFrame(frame: NormalisedFrame, task: TaskDeclaration, options: ForecastOptions): FrameFault | null {
  return firstFault(
    () => checkFeatures(frame, task),
    () => checkGrids(frame, task, options.horizon_steps),
    () => checkSamples(frame),
    () => checkProvenance(frame, task),
    () => checkAggregates(frame),
    () => checkFrameQuality(frame, task),
  );
}

/** Step 4: feature set, value types, units. */
function checkFeatures(frame: NormalisedFrame, task: TaskDeclaration): FrameFault | null {
  const { history, future_covariates: future, static_features } = frame;
  const { inputs } = task;
  if (Object.keys(static_features).length > 0) return invalid('/static_features', 'undeclared_feature');
  if (future !== undefined && inputs.future_covariates.length === 0) return invalid('/future_covariates', 'undeclared');
  if (future === undefined && inputs.future_covariates.length > 0) return invalid('/future_covariates', 'required');
  return (
    segmentFeatures(history, inputs.history, '/history') ??
    (future === undefined ? null : segmentFeatures(future, inputs.future_covariates, '/future_covariates'))
  );
}

function segmentFeatures(segment: Segment, inputs: readonly TaskInput[], path: string): FrameFault | null {
  const declared = new Map(inputs.map((input) => [input.name, input]));
  for (const [name, series] of Object.entries(segment.features)) {
    const place = `${path}/features${step(name)}`;
    const input = declared.get(name);
    if (input === undefined) return invalid(place, 'undeclared_feature');
    if (series.value_type !== input.value_type) return invalid(`${place}/value_type`, 'value_type');
    if (unitOf(series) !== input.unit) return { code: 'UNIT_UNSUPPORTED', path: `${place}/unit`, rule: 'unit' };
  }
  const absent = inputs.find((input) => !Object.hasOwn(segment.features, input.name));
  return absent === undefined ? null : invalid(`${path}/features${step(absent.name)}`, 'required');
}

function unitOf(series: Series): string | null {
  return series.value_type === 'number' ? series.unit : null;
}

/** Step 5: order, cadence, window boundaries and lengths; the grid is exact. */
function checkGrids(frame: NormalisedFrame, task: TaskDeclaration, horizonSteps: number): FrameFault | null {
  const { cadence_seconds, history_steps } = task.frame;
  if (frame.cadence_seconds !== cadence_seconds) return invalid('/cadence_seconds', 'cadence');
  const asOfMs = timeMs(frame.as_of);
  const cadenceMs = cadence_seconds * 1000;
  const startMs = asOfMs - (history_steps - 1) * cadenceMs;
  return (
    checkGrid(frame.history, '/history', { startMs, cadenceMs, steps: history_steps }) ??
    (frame.future_covariates === undefined
      ? null
      : checkGrid(frame.future_covariates, '/future_covariates', {
          startMs: asOfMs + cadenceMs,
          cadenceMs,
          steps: horizonSteps,
        }))
  );
}

interface Grid {
  readonly startMs: number;
  readonly cadenceMs: number;
  readonly steps: number;
}

function checkGrid(segment: Segment, path: string, grid: Grid): FrameFault | null {
  if (segment.timestamps.length !== grid.steps) return invalid(`${path}/timestamps`, 'length');
  const off = segment.timestamps.findIndex((text, index) => timeMs(text) !== grid.startMs + index * grid.cadenceMs);
  if (off >= 0) return invalid(`${path}/timestamps/${off}`, 'grid');
  for (const [name, series] of Object.entries(segment.features)) {
    const place = `${path}/features${step(name)}`;
    if (series.values.length !== grid.steps) return invalid(`${place}/values`, 'length');
    if (series.quality.length !== grid.steps) return invalid(`${place}/quality`, 'length');
  }
  return null;
}
