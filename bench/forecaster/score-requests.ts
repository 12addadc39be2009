/** Scored cases as requests of the processor protocol: a task per shape of frame, and a frame per case. */
import {
  type ForecastOptions,
  forecastContractId,
  frameSchemaId,
  type NormalisedFrame,
  type ProvenanceEntry,
  type SampleQuality,
  type Segment,
  type Series,
} from '../../src/api/processing.ts';
import { formatTimestamp } from '../../src/base/timestamp.ts';
import { buildRequest, requestBytes } from '../../src/contract/wire/request-bytes.ts';
import type { Sample } from '../../src/forecaster/sample.ts';
import type { ScoreCase } from './score-data.ts';

/** The name of the target; the data sets use many. */
const targetName = 'target';
const defaultDeadlineMs = 60_000;

/** The text of the declaration that a case's frame matches; cases of one shape share it. */
export function taskText({ sample, minimum, quantiles }: ScoreCase, id: string): string {
  const input = (name: string, source: object) => ({ name, unit: '1', source });
  const covariates = sample.covariates.map(({ name }) =>
    input(name, { kind: 'covariate', dataset_ref: 'weather', field: name }),
  );
  const measured = { kind: 'measurement', instance_ref: 'site', point_ref: targetName };
  const longSeconds = 315_360_000;
  return JSON.stringify({
    schema: 'svc.data-processing-task.v1',
    id,
    revision: 1,
    kind: 'forecast',
    processor_contract: forecastContractId,
    target: { name: targetName, semantic_point: 'site.target', unit: '1', sign_convention: 'positive' },
    frame: {
      cadence_seconds: sample.cadenceMs / 1000,
      history_steps: sample.count,
      horizon_steps: sample.horizon,
      timezone: sample.timeZone,
    },
    inputs: {
      history: [input(targetName, measured), ...covariates],
      ...(covariates.length > 0 && { future_covariates: covariates }),
    },
    alignment: {
      aggregation: 'mean',
      timestamp_semantics: 'interval_end',
      duplicate_policy: 'latest',
      missing_policy: 'allow',
    },
    quality: {
      max_input_age_seconds: longSeconds,
      max_gap_seconds: longSeconds,
      max_missing_ratio: 1,
      require_input_watermark: true,
      require_covariate_issue_time_not_after_as_of: true,
    },
    output: {
      unit: '1',
      sign_convention: 'positive',
      max_quantiles: quantiles.length,
      expires_after_seconds: 3600,
      median_equals_value: true,
      zero_is_baseline: true,
      ...(minimum !== undefined && { minimum }),
    },
    fallbacks: [],
  });
}

/** Equal for cases whose frames match the same declaration. */
export function shapeOf({ sample, minimum, quantiles }: ScoreCase): string {
  const { cadenceMs, count, horizon, timeZone, covariates } = sample;
  const names = covariates.map(({ name }) => name);
  return JSON.stringify([cadenceMs, count, horizon, timeZone, names, minimum, quantiles.length]);
}

export function requestOf(
  { sample, quantiles, series }: ScoreCase,
  taskId: string,
  nowMs: number,
  deadlineMs = defaultDeadlineMs,
): Uint8Array {
  const options: ForecastOptions = { kind: 'forecast', horizon_steps: sample.horizon, quantiles: [...quantiles] };
  const basis = {
    task: { id: taskId, revision: 1, kind: 'forecast' as const },
    binding: { id: series.replaceAll(/[^A-Za-z0-9]/g, '-'), revision: 1 },
    processor_contract: forecastContractId,
    frame: frameOf(sample),
    options,
  };
  return requestBytes(buildRequest(basis, { callerId: '', submittedAtMs: nowMs, deadlineMs }));
}

function frameOf(sample: Sample): NormalisedFrame {
  const { startMs, cadenceMs, count, horizon, target, covariates } = sample;
  const labels = (from: number, steps: number): string[] =>
    Array.from({ length: steps }, (_, index) => formatTimestamp(startMs + (from + index) * cadenceMs));
  const segment = (from: number, steps: number, columns: readonly (readonly [string, Float64Array])[]): Segment => ({
    timestamps: labels(from, steps),
    features: Object.fromEntries(columns.map(([name, values]) => [name, seriesOf(values)])),
  });
  const part = (from: number, to?: number) =>
    covariates.map(({ name, values }) => [name, values.slice(from, to)] as const);
  const history = segment(0, count, [[targetName, target], ...part(0, count)]);
  const future = covariates.length === 0 ? undefined : segment(count, horizon, part(count));
  const asOf = formatTimestamp(startMs + (count - 1) * cadenceMs);
  const names = covariates.map(({ name }) => name);
  return {
    schema: frameSchemaId,
    as_of: asOf,
    cadence_seconds: cadenceMs / 1000,
    history,
    ...(future !== undefined && { future_covariates: future }),
    static_features: {},
    quality: {
      input_watermark: asOf,
      missing_ratio: missingRatio([history, ...(future === undefined ? [] : [future])]),
      max_gap_seconds: longestGap(history) * (cadenceMs / 1000),
      live_tail_included: false,
      substituted_samples: 0,
    },
    provenance: [
      ...[targetName, ...names].map((name): ProvenanceEntry => {
        return { segment: 'history', feature: name, source_kind: 'history', watermark: asOf };
      }),
      ...names.map((name): ProvenanceEntry => {
        const source = { source_kind: 'covariate', watermark: asOf, issued_at: asOf } as const;
        return { segment: 'future_covariates', feature: name, ...source };
      }),
    ],
  };
}

function seriesOf(values: Float64Array): Series {
  const known = Array.from(values, (value) => (Number.isNaN(value) ? null : value));
  const quality = known.map((value): SampleQuality => (value === null ? 'missing' : 'good'));
  return { value_type: 'number', unit: '1', values: known, quality };
}

function missingRatio(segments: readonly Segment[]): number {
  const qualities = segments.flatMap(({ features }) => Object.values(features).map(({ quality }) => quality));
  const count = (of: (quality: readonly SampleQuality[]) => number): number =>
    qualities.reduce((sum, each) => sum + of(each), 0);
  return count((each) => each.filter((quality) => quality === 'missing').length) / count((each) => each.length);
}

/** In cells, counted as the contract does: from before the first label to the last, over all features. */
function longestGap({ features }: Segment): number {
  let longest = 1;
  for (const { quality } of Object.values(features)) {
    let last = -1;
    for (const [cell, each] of quality.entries()) {
      if (each === 'missing') continue;
      longest = Math.max(longest, cell - last);
      last = cell;
    }
    longest = Math.max(longest, quality.length - 1 - last);
  }
  return longest;
}
