/** Samples and their aggregate [data-processing §3.4], recomputed from the cells. */
import type { NormalisedFrame, SampleQuality, Segment } from '../../api/processing.ts';
import { step } from '../wire/issue.ts';
import { type FrameFault, invalid } from './frame-fault.ts';

/** Ratios are compared with a tolerance: an implementation in another language may divide in another order. */
const ratioTolerance = 1e-9;

/** A sample is null if and only if its quality is `missing`. */
export function checkSamples(frame: NormalisedFrame): FrameFault | null {
  for (const [path, segment] of segmentsOf(frame)) {
    for (const [name, series] of Object.entries(segment.features)) {
      const at = series.quality.findIndex(
        (quality, index) => (quality === 'missing') !== (series.values[index] === null),
      );
      if (at >= 0) return invalid(`${path}/features${step(name)}/quality/${at}`, 'missing_is_null');
    }
  }
  return null;
}

export function checkAggregates(frame: NormalisedFrame): FrameFault | null {
  const stated = frame.quality;
  if (Math.abs(stated.missing_ratio - missingRatio(frame)) > ratioTolerance)
    return invalid('/quality/missing_ratio', 'recomputed');
  if (stated.substituted_samples !== countCells(frame, 'substituted'))
    return invalid('/quality/substituted_samples', 'recomputed');
  if (stated.max_gap_seconds !== maxGapSeconds(frame)) return invalid('/quality/max_gap_seconds', 'recomputed');
  const live = frame.provenance.some(
    (entry) => entry.source_kind === 'live' || entry.source_kind === 'history_and_live',
  );
  return stated.live_tail_included === live ? null : invalid('/quality/live_tail_included', 'recomputed');
}

function segmentsOf(frame: NormalisedFrame): readonly (readonly [path: string, segment: Segment])[] {
  const future = frame.future_covariates;
  const history = ['/history', frame.history] as const;
  return future === undefined ? [history] : [history, ['/future_covariates', future]];
}

function allSeries(frame: NormalisedFrame) {
  return segmentsOf(frame).flatMap(([, segment]) => Object.values(segment.features));
}

function countCells(frame: NormalisedFrame, quality: SampleQuality): number {
  let count = 0;
  for (const series of allSeries(frame)) for (const each of series.quality) if (each === quality) count++;
  return count;
}

function missingRatio(frame: NormalisedFrame): number {
  const cells = allSeries(frame).reduce((sum, series) => sum + series.quality.length, 0);
  return countCells(frame, 'missing') / cells;
}

/**
 * The longest distance between consecutive observed labels of one history feature, measured from the window's start (one
 * cadence before the first label) to its end; filled cells close no gap. At least one cadence; the whole window if none.
 */
function maxGapSeconds(frame: NormalisedFrame): number {
  let longestSteps = 1;
  for (const series of Object.values(frame.history.features)) {
    let lastStep = 0;
    series.quality.forEach((quality, index) => {
      if (quality === 'missing' || quality === 'substituted') return;
      longestSteps = Math.max(longestSteps, index + 1 - lastStep);
      lastStep = index + 1;
    });
    longestSteps = Math.max(longestSteps, series.quality.length - lastStep);
  }
  return longestSteps * frame.cadence_seconds;
}
