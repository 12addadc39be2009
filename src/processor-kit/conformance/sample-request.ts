/**
 * A valid request for any task declaration: a frame on the exact grid with plausible values inside every range, its provenance,
 * aggregates and digest. The conformance check sends it, and varies it to make invalid requests.
 */
import {
  type ForecastOptions,
  forecastContractId,
  frameSchemaId,
  type NormalisedFrame,
  type ProvenanceEntry,
  type Segment,
  type Series,
} from '../../api/processing.ts';
import { dayMs, formatTimestamp } from '../../base/timestamp.ts';
import { calendarTransforms, isCalendarTransform } from '../../contract/calendar.ts';
import type { TaskDeclaration, TaskInput } from '../../contract/task/declaration.ts';
import { buildRequest } from '../../contract/wire/request-bytes.ts';
import type { NormalisedRequest } from '../../contract/wire/request-decode.ts';

export interface Sampling {
  /** Wall milliseconds; `as_of` is the last label at or before it. */
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly requestId: string;
  readonly bindingId: string;
}

export function sampleRequest(task: TaskDeclaration, options: ForecastOptions, sampling: Sampling): NormalisedRequest {
  const basis = {
    task: { id: task.id, revision: task.revision, kind: task.kind },
    binding: { id: sampling.bindingId, revision: 1 },
    processor_contract: forecastContractId,
    frame: sampleFrame(task, options.horizon_steps, sampling.nowMs),
    options,
  };
  const about = { callerId: sampling.requestId, submittedAtMs: sampling.nowMs, deadlineMs: sampling.deadlineMs };
  return buildRequest(basis, about);
}

function sampleFrame(task: TaskDeclaration, horizonSteps: number, nowMs: number): NormalisedFrame {
  const cadenceMs = task.frame.cadence_seconds * 1000;
  const asOfMs = Math.floor(nowMs / cadenceMs) * cadenceMs;
  const { history, future_covariates: future } = task.inputs;
  const labels = (first: number, steps: number): number[] =>
    Array.from({ length: steps }, (_, index) => asOfMs + (first + index) * cadenceMs);
  const asOf = formatTimestamp(asOfMs);
  const segment = (inputs: readonly TaskInput[], labelsMs: readonly number[]): Segment => ({
    timestamps: labelsMs.map(formatTimestamp),
    features: Object.fromEntries(inputs.map((input) => [input.name, sampleSeries(input, labelsMs, task)])),
  });
  return {
    schema: frameSchemaId,
    as_of: asOf,
    cadence_seconds: task.frame.cadence_seconds,
    history: segment(history, labels(1 - task.frame.history_steps, task.frame.history_steps)),
    ...(future.length > 0 && { future_covariates: segment(future, labels(1, horizonSteps)) }),
    static_features: {},
    quality: {
      input_watermark: asOf,
      missing_ratio: 0,
      max_gap_seconds: task.frame.cadence_seconds,
      live_tail_included: false,
      substituted_samples: 0,
    },
    provenance: [
      ...history.map((input) => provenanceOf(input, 'history', asOf)),
      ...future.map((input) => provenanceOf(input, 'future_covariates', asOf)),
    ],
  };
}

function provenanceOf(input: TaskInput, segment: 'history' | 'future_covariates', asOf: string): ProvenanceEntry {
  const common = { segment, feature: input.name, watermark: asOf };
  if (input.source.kind === 'calendar') return { ...common, source_kind: 'calendar' };
  return segment === 'history'
    ? { ...common, source_kind: 'history' }
    : { ...common, source_kind: 'covariate', issued_at: asOf };
}

function sampleSeries(input: TaskInput, labelsMs: readonly number[], task: TaskDeclaration): Series {
  const quality = labelsMs.map(() => 'good' as const);
  if (input.value_type === 'string') return { value_type: 'string', values: labelsMs.map(() => 'a'), quality };
  if (input.value_type === 'boolean')
    return { value_type: 'boolean', values: labelsMs.map((labelMs) => labelMs % 2 === 0), quality };
  const at = valueAt(input, task);
  return { value_type: 'number', unit: input.unit ?? '1', values: labelsMs.map(at), quality };
}

/** The calendar's own value, or a daily wave inside the declared range. */
function valueAt(input: TaskInput, task: TaskDeclaration): (labelMs: number) => number {
  const { source, range } = input;
  if (source.kind === 'calendar' && isCalendarTransform(source.transform)) {
    const transform = calendarTransforms[source.transform];
    const place = { timezone: task.frame.timezone, latitude: 47.4, longitude: 8.5, holidays: new Set<string>() };
    return (labelMs) => transform.at(labelMs, place);
  }
  const low = range.minimum ?? range.exclusive_minimum ?? (range.maximum ?? range.exclusive_maximum ?? 200) - 100;
  const high = range.maximum ?? range.exclusive_maximum ?? low + 100;
  return (labelMs) => {
    const wave = Math.sin((2 * Math.PI * (labelMs % dayMs)) / dayMs);
    const value = low + (high - low) * (0.5 + 0.4 * wave);
    return range.integer === true ? Math.round(value) : value;
  };
}
