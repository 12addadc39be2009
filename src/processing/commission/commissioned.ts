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
  /** The recorded number, or of a counter its growth in an hour, times this is in the unit of the task. */
  readonly factor: number;
  /** It counts an amount; the task wants the power. */
  readonly isCounter: boolean;
}

/** One field of a dataset of runs that were issued by somebody, read from a file at each call. */
export interface RunSource {
  readonly kind: 'runs';
  readonly dataset: string;
  readonly path: string;
  readonly maxFileBytes: number;
  readonly field: string;
  readonly unit: string;
  readonly sourceRef: string;
  readonly fallback: CovariateFallback;
  /** The history feature of the same name, which `persistence_day` repeats; null when that fallback is not declared. */
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
  /** False when the frame leaves the site: provenance then carries no source names [data-processing §3.5]. */
  readonly keepsSourceRefs: boolean;
}

/** Cells of the frame that a request for `horizonSteps` asks for ([processor §6.5], `max_frame_cells`). */
export function frameCells(
  { task, history, future }: Pick<CommissionedRoute, 'task' | 'history' | 'future'>,
  horizonSteps: number,
): number {
  return task.frame.history_steps * history.length + horizonSteps * future.length;
}
