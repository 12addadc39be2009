/** The result of commissioning [data-processing §2.3]: a task, its binding and its route with every reference resolved. */
import type { ArtifactRef } from '../../api/processing.ts';
import type { CalendarPlace, CalendarTransformName } from '../../contract/calendar.ts';
import type { Aggregation, DuplicatePolicy, TaskDeclaration, TaskInput } from '../../contract/task/declaration.ts';
import type { SeriesId } from '../../historian/historian.ts';
import type { CovariateFallback } from './binding.ts';
import type { ProcessorSettings, RouteSettings } from './routes.ts';

/** A recorded measurement of the site, with the policies of the history feature that reads it. */
export interface RecordedSource {
  readonly kind: 'recorded';
  readonly series: SeriesId;
  /** Index of the point in the live table. */
  readonly pointIndex: number;
  readonly sourceRef: string;
  readonly aggregation: Aggregation;
  readonly duplicatePolicy: DuplicatePolicy;
  /** Factor from the recorded number, or from a counter's hourly growth, to the unit of the task. */
  readonly factor: number;
  /** It counts an amount; the task needs the power. */
  readonly isCounter: boolean;
}

/** One field of a dataset of issued runs, read from a file at each call. */
export interface RunSource {
  readonly kind: 'runs';
  readonly dataset: string;
  readonly path: string;
  readonly maxFileBytes: number;
  readonly field: string;
  readonly unit: string;
  readonly sourceRef: string;
  readonly fallback: CovariateFallback;
  /** The history feature of the same name, which `persistence_day` repeats; null without that fallback. */
  readonly recorded: RecordedSource | null;
}

export interface CalendarSource {
  readonly kind: 'calendar';
  readonly transform: CalendarTransformName;
  readonly sourceRef: string;
}

type BoundSource = RecordedSource | RunSource | CalendarSource;

export interface BoundInput<S extends BoundSource = BoundSource> {
  readonly input: TaskInput;
  readonly source: S;
}

export interface CommissionedRoute {
  readonly task: TaskDeclaration;
  readonly binding: { readonly id: string; readonly revision: number; readonly artifact: ArtifactRef | null };
  readonly processor: ProcessorSettings;
  readonly route: RouteSettings;
  readonly history: readonly BoundInput<RecordedSource | CalendarSource>[];
  readonly future: readonly BoundInput<RunSource | CalendarSource>[];
  readonly place: CalendarPlace;
  /** False if the frame leaves the site: provenance then has no source names [data-processing §3.5]. */
  readonly keepsSourceRefs: boolean;
}

/** Cells in the frame of a request for `horizonSteps` ([processor §6.5], `max_frame_cells`). */
export function frameCells(
  { task, history, future }: Pick<CommissionedRoute, 'task' | 'history' | 'future'>,
  horizonSteps: number,
): number {
  return task.frame.history_steps * history.length + horizonSteps * future.length;
}
