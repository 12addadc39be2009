/**
 * The live tail [data-processing §4.7]: a live sample of (as_of−c, as_of] replaces the final cell of a `last` feature, and
 * nothing else. It is read, never written back.
 */
import type { Log } from '../../base/log.ts';
import { inRange } from '../../contract/task/declaration.ts';
import type { BoundInput, CalendarSource, CommissionedRoute, RecordedSource } from '../commission/commissioned.ts';
import type { LiveSample, LiveState, WatchedPoint } from '../source/live-state.ts';
import { copyOf, countMarks, mark, setCell } from './cells.ts';
import type { Feature } from './feature.ts';
import type { FramePlan } from './plan.ts';

export function withLiveTail(
  plan: FramePlan,
  features: readonly Feature[],
  live: LiveState,
  log: Log,
): readonly Feature[] {
  if (plan.route.task.frame.live_tail === 'forbidden') return features;
  const sources = new Map(plan.route.history.map((bound) => [bound.input.name, bound] as const));
  return features.map((feature) => {
    const source = lastSource(sources.get(feature.input.name));
    if (source === null) return feature;
    const sample = live.sample({ pointIndex: source.pointIndex, cadenceMs: plan.history.cadenceMs }, plan.asOfMs);
    const obstacle = obstacleTo(sample, feature, plan);
    if (sample !== null && obstacle === null) return replaceTail(feature, sample);
    log.info('live tail not used', { feature: feature.input.name, reason: obstacle });
    return feature;
  });
}

function lastSource(bound: BoundInput<RecordedSource | CalendarSource> | undefined): RecordedSource | null {
  if (bound?.source.kind !== 'recorded' || bound.source.aggregation !== 'last') return null;
  return bound.source;
}

function obstacleTo(sample: LiveSample | null, feature: Feature, plan: FramePlan): string | null {
  if (sample === null) return 'no usable live value';
  if (sample.observedMs > plan.asOfMs) return 'observed after the cutoff';
  if (sample.observedMs <= plan.asOfMs - plan.history.cadenceMs) return 'observed before the last interval';
  if (feature.watermarkMs !== null && sample.observedMs < feature.watermarkMs) return 'older than the stored value';
  if (!inRange(sample.value, feature.input.range)) return 'outside the declared range';
  return null;
}

function replaceTail(feature: Feature, sample: LiveSample): Feature {
  const cells = copyOf(feature.cells);
  const tail = cells.values.length - 1;
  setCell(cells, tail, sample.value, sample.uncertain ? mark.uncertain : mark.good);
  // Only the live sample is there: no part of the feature comes from the store.
  const alone = countMarks(cells, mark.missing) === tail;
  return {
    ...feature,
    cells,
    sourceKind: alone ? 'live' : 'history_and_live',
    watermarkMs: sample.observedMs,
  };
}

/** The points whose live samples calls of these routes may use, without duplicates. */
export function watchedPoints(routes: readonly CommissionedRoute[]): readonly WatchedPoint[] {
  const found = new Map<string, WatchedPoint>();
  for (const { task, history } of routes) {
    if (task.frame.live_tail === 'forbidden') continue;
    const cadenceMs = task.frame.cadence_seconds * 1000;
    for (const bound of history) {
      const source = lastSource(bound);
      if (source !== null) found.set(`${source.pointIndex} ${cadenceMs}`, { pointIndex: source.pointIndex, cadenceMs });
    }
  }
  return [...found.values()];
}
