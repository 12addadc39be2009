/** One feature of a frame during assembly: its readings, their source, and the violated rules. */
import type { TaskInput } from '../../contract/task/declaration.ts';
import type { Cells } from './cells.ts';
import { type Grid, label } from './grid.ts';
import type { ObservedSpan } from './quality.ts';
import type { Reason, ReasonRule, SegmentName } from './reason.ts';

type SourceKind = 'history' | 'live' | 'history_and_live' | 'covariate' | 'calendar';

export interface Feature {
  readonly segment: SegmentName;
  readonly input: TaskInput;
  readonly grid: Grid;
  readonly cells: Cells;
  readonly sourceKind: SourceKind;
  readonly sourceRef: string;
  /** Time of the data cut; null without any observation. */
  readonly watermarkMs: number | null;
  /** Of covariate runs only. */
  readonly issuedMs: number | null;
  readonly reasons: readonly Reason[];
}

/** A reason about one feature; `span` names its labels. */
export function featureReason(
  feature: Pick<Feature, 'segment' | 'input' | 'grid'>,
  rule: ReasonRule,
  observed: Reason['observed'],
  limit: Reason['limit'],
  span: ObservedSpan | null = null,
): Reason {
  const place = { rule, segment: feature.segment, feature: feature.input.name, observed, limit };
  if (span === null) return place;
  return { ...place, first_label: label(feature.grid, span.first), last_label: label(feature.grid, span.last) };
}

export function wholeGrid(grid: Grid): ObservedSpan {
  return { first: 0, last: grid.steps - 1 };
}
