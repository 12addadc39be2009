/** An aligned frame that meets its policy, in wire form [data-processing §3.1]. */
import {
  type AggregateQuality,
  frameSchemaId,
  type NormalisedFrame,
  type ProvenanceEntry,
  type Segment,
} from '../../api/processing.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import type { AlignedFeature } from './align.ts';
import { wireQuality, wireValues } from './cells.ts';
import { type Grid, labels } from './grid.ts';
import type { FramePlan } from './plan.ts';
import { maxGapSeconds, missingRatio, substitutedSamples } from './quality.ts';

export function wireFrame(plan: FramePlan, features: readonly AlignedFeature[]): NormalisedFrame {
  const history = features.filter((feature) => feature.segment === 'history');
  const future = features.filter((feature) => feature.segment === 'future_covariates');
  return {
    schema: frameSchemaId,
    as_of: formatTimestamp(plan.asOfMs),
    cadence_seconds: plan.cadenceSeconds,
    history: segmentOf(plan.history, history),
    // Omitted, not empty, if the task declares no future features.
    ...(future.length === 0 ? {} : { future_covariates: segmentOf(plan.future, future) }),
    static_features: {},
    quality: qualityOf(plan, features),
    provenance: features.map((feature) => provenanceOf(plan, feature)),
  };
}

function segmentOf(grid: Grid, features: readonly AlignedFeature[]): Segment {
  const series = features.map(({ input, cells }) => {
    if (input.unit === null) throw new Error(`${input.name} was commissioned without a unit`);
    const values = wireValues(cells);
    return [
      input.name,
      { value_type: 'number' as const, unit: input.unit, values, quality: wireQuality(cells) },
    ] as const;
  });
  return { timestamps: labels(grid), features: Object.fromEntries(series) };
}

function qualityOf(plan: FramePlan, features: readonly AlignedFeature[]): AggregateQuality {
  const cells = features.map((feature) => feature.cells);
  const observed = features.filter((feature) => feature.segment === 'history').map((feature) => feature.observed);
  // Calendar values record the cut but are not observations: they never advance the watermark.
  const watermarks = features.filter((feature) => feature.sourceKind !== 'calendar').map(watermarkOf);
  return {
    input_watermark: formatTimestamp(Math.max(...watermarks)),
    missing_ratio: missingRatio(cells),
    max_gap_seconds: maxGapSeconds(observed, plan.cadenceSeconds),
    live_tail_included: features.some(({ sourceKind }) => sourceKind === 'live' || sourceKind === 'history_and_live'),
    substituted_samples: substitutedSamples(cells),
  };
}

function provenanceOf({ route }: FramePlan, feature: AlignedFeature): ProvenanceEntry {
  return {
    segment: feature.segment,
    feature: feature.input.name,
    source_kind: feature.sourceKind,
    ...(route.keepsSourceRefs ? { source_ref: feature.sourceRef } : {}),
    watermark: formatTimestamp(watermarkOf(feature)),
    ...(feature.issuedMs === null ? {} : { issued_at: formatTimestamp(feature.issuedMs) }),
  };
}

function watermarkOf(feature: AlignedFeature): number {
  if (feature.watermarkMs === null) throw new Error(`${feature.input.name} has no watermark and was not refused`);
  return feature.watermarkMs;
}
