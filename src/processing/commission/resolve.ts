/**
 * The references of one task through one binding to the site ([data-processing §2.3]: commissioning fails closed). Unit, scale, offset,
 * kind and sign convention must be exactly those of site.yaml. Values are only converted from there to the unit of the task:
 * within one kind of unit, and from a counter to its power.
 */
import { dirname, resolve } from 'node:path';
import { calendarTransforms, isCalendarTransform } from '../../contract/calendar.ts';
import { policyOf, type TaskDeclaration, type TaskInput } from '../../contract/task/declaration.ts';
import type { Placed } from '../../contract/task/read.ts';
import type { Site, SitePoint } from '../../site/site.ts';
import { unitFactor } from '../../site/units.ts';
import type { Binding, RecordedField } from './binding.ts';
import type { BoundInput, CalendarSource, RecordedSource, RunSource } from './commissioned.ts';

export interface PlacedBinding extends Placed<Binding> {
  /** Full path of the file, from which its own paths are relative. */
  readonly path: string;
  /** Folder of the service's files. */
  readonly dataDir: string;
}

export interface ResolveContext {
  readonly task: Placed<TaskDeclaration>;
  readonly binding: PlacedBinding;
  readonly site: Site;
  /** True if history comes from an adapter that supports only `last` and `reject`. */
  readonly lastOnly: boolean;
  fault(line: string): void;
}

const daySeconds = 86_400;

export function resolveHistory(context: ResolveContext): BoundInput<RecordedSource | CalendarSource>[] {
  const { inputs } = context.task.value;
  return inputs.history.flatMap((input, index) => {
    const source = historySource(input, `/inputs/history/${index}`, context);
    return source === null ? [] : [{ input, source }];
  });
}

export function resolveFuture(
  context: ResolveContext,
  history: readonly BoundInput<RecordedSource | CalendarSource>[],
): BoundInput<RunSource | CalendarSource>[] {
  return context.task.value.inputs.future_covariates.flatMap((input, index) => {
    const source = futureSource(input, `/inputs/future_covariates/${index}`, history, context);
    return source === null ? [] : [{ input, source }];
  });
}

function futureSource(
  input: TaskInput,
  path: string,
  history: readonly BoundInput<RecordedSource | CalendarSource>[],
  context: ResolveContext,
): RunSource | CalendarSource | null {
  const { source } = input;
  if (source.kind === 'calendar') return calendarSource(input, source.transform, path, context);
  // A measurement here was refused when the declaration was parsed.
  if (source.kind === 'measurement') return null;
  return runSource(input, source, path, history, context);
}

function historySource(
  input: TaskInput,
  path: string,
  context: ResolveContext,
): RecordedSource | CalendarSource | null {
  const { source } = input;
  if (source.kind === 'calendar') return calendarSource(input, source.transform, path, context);
  const recorded =
    source.kind === 'measurement'
      ? measurement(source.instance_ref, source.point_ref, path, context)
      : recordedField(source.dataset_ref, source.field, path, context);
  if (recorded === null) return null;
  checkSign(input, recorded, path, context);
  const point = sitePoint(recorded, context);
  const conversion = conversionOf(input, recorded.field, point?.counter === true, path, context);
  const policy = policyOf(context.task.value, input.name);
  const tail = context.task.value.frame.live_tail === 'allowed';
  if (tail && source.kind === 'measurement' && policy.aggregation !== 'last')
    context.fault(context.task.at(path, `live_tail needs aggregation last, not ${policy.aggregation}`));
  if (conversion.isCounter && policy.aggregation !== 'mean')
    context.fault(context.task.at(path, `a counter needs aggregation mean, not ${policy.aggregation}`));
  if (tail && (conversion.isCounter || conversion.factor !== 1))
    context.fault(context.task.at(path, 'live_tail needs the unit of the point itself'));
  if (context.lastOnly && (policy.aggregation !== 'last' || policy.duplicate_policy !== 'reject'))
    context.fault(context.task.at(path, 'the upstream history adapter needs aggregation last and duplicates reject'));
  if (point === null) return null;
  return {
    kind: 'recorded',
    series: { instance: recorded.field.instance, point: recorded.field.point },
    pointIndex: point.index,
    sourceRef: recorded.field.source_ref,
    aggregation: policy.aggregation,
    duplicatePolicy: policy.duplicate_policy,
    ...conversion,
  };
}

/** The conversion from the record's unit to the task's: none, within one dimension, or from a counter to its power. */
function conversionOf(
  input: TaskInput,
  { unit, counter }: RecordedField,
  isCounterPoint: boolean,
  path: string,
  context: ResolveContext,
): { readonly factor: number; readonly isCounter: boolean } {
  const factor = unitFactor(unit, input.unit ?? '');
  if (factor !== undefined) return { factor, isCounter: false };
  const power = counter === true || isCounterPoint ? unitFactor(unit, `${input.unit}h`) : undefined;
  if (power !== undefined) return { factor: power, isCounter: true };
  checkUnit(input, unit, path, context);
  return { factor: 1, isCounter: false };
}

/** A recorded point in the binding, and its position there. */
interface DescribedPoint {
  readonly field: RecordedField;
  readonly scale: number;
  readonly offset: number;
  readonly path: string;
}

function measurement(
  instanceRef: string,
  pointRef: string,
  path: string,
  context: ResolveContext,
): DescribedPoint | null {
  const instance = own(context.binding.value.instances, instanceRef);
  const point = own(instance?.points, pointRef);
  if (instance === undefined || point === undefined) {
    const missing = instance === undefined ? `instance ${instanceRef}` : `point ${pointRef} of ${instanceRef}`;
    context.fault(context.task.at(`${path}/source`, `${nameOf(context.binding)} has no ${missing}`));
    return null;
  }
  return {
    field: { ...point, instance: instance.instance },
    scale: point.scale,
    offset: point.offset,
    path: `/instances/${escaped(instanceRef)}/points/${escaped(pointRef)}`,
  };
}

function recordedField(
  datasetRef: string,
  fieldName: string,
  path: string,
  context: ResolveContext,
): DescribedPoint | null {
  const dataset = own(context.binding.value.datasets, datasetRef);
  const field = dataset?.source === 'historian' ? own(dataset.fields, fieldName) : undefined;
  if (field !== undefined) {
    const place = `/datasets/${escaped(datasetRef)}/fields/${escaped(fieldName)}`;
    return { field, scale: field.scale ?? 1, offset: field.offset ?? 0, path: place };
  }
  const reason =
    dataset === undefined
      ? `${nameOf(context.binding)} has no dataset ${datasetRef}`
      : dataset.source === 'file'
        ? `history needs recorded values, and dataset ${datasetRef} holds runs`
        : `dataset ${datasetRef} has no field ${fieldName}`;
  context.fault(context.task.at(`${path}/source`, reason));
  return null;
}

type Compared = string | number | undefined;

/** The point of site.yaml, or null; every differing member is a separate error. */
function sitePoint(described: DescribedPoint, { site, binding, fault }: ResolveContext): SitePoint | null {
  const { field, path } = described;
  const named = site.points.filter((point) => point.instance === field.instance && point.id === field.point);
  const point = named.find((candidate) => candidate.kind === 'measurement');
  if (point === undefined) {
    const reason = named.length === 0 ? 'is not in site.yaml' : 'is an action point in site.yaml, not a measurement';
    fault(binding.at(path, `point ${field.point} of instance ${field.instance} ${reason}`));
    return null;
  }
  const compare = (member: string, ours: Compared, theirs: Compared): void => {
    if (ours !== theirs)
      fault(binding.at(`${path}/${member}`, `is ${shown(ours)} here and ${shown(theirs)} in site.yaml`));
  };
  compare('unit', field.unit, point.unit);
  compare('scale', described.scale, point.scale);
  compare('offset', described.offset, point.offset);
  compare('sign_convention', field.sign_convention, point.signConvention);
  return point;
}

function calendarSource(
  input: TaskInput,
  name: string,
  path: string,
  { task, site, fault }: ResolveContext,
): CalendarSource | null {
  // Parsing the declaration refused unknown names.
  if (!isCalendarTransform(name)) return null;
  const transform = calendarTransforms[name];
  if (input.unit !== transform.unit) fault(task.at(`${path}/unit`, `${name} has unit ${transform.unit}`));
  if (transform.needsPlace && (site.latitude === undefined || site.longitude === undefined))
    fault(task.at(`${path}/source`, `${name} needs latitude and longitude in site.yaml`));
  return { kind: 'calendar', transform: name, sourceRef: transform.sourceRef };
}

function runSource(
  input: TaskInput,
  { dataset_ref: datasetRef, field: fieldName }: { readonly dataset_ref: string; readonly field: string },
  path: string,
  history: readonly BoundInput<RecordedSource | CalendarSource>[],
  context: ResolveContext,
): RunSource | null {
  const { task, binding } = context;
  const dataset = own(binding.value.datasets, datasetRef);
  const fault = (reason: string): null => {
    context.fault(task.at(`${path}/source`, reason));
    return null;
  };
  if (dataset === undefined) return fault(`${nameOf(binding)} has no dataset ${datasetRef}`);
  if (dataset.source === 'historian')
    return fault(`future values need runs with an issue time, and dataset ${datasetRef} is recorded history`);
  const field = own(dataset.fields, fieldName);
  if (field === undefined) return fault(`dataset ${datasetRef} has no field ${fieldName}`);
  checkUnit(input, field.unit, path, context);
  const fallback = dataset.fallback ?? 'none';
  const recorded = fallback === 'persistence_day' ? recordedTwin(input, history) : null;
  if (fallback === 'persistence_day' && recorded === null)
    return fault(`persistence_day needs a recorded history feature called ${input.name}`);
  if (fallback === 'persistence_day' && daySeconds % task.value.frame.cadence_seconds !== 0)
    return fault('persistence_day needs a cadence that divides a day');
  return {
    kind: 'runs',
    dataset: datasetRef,
    path: resolve(dataset.relative_to === 'data_dir' ? binding.dataDir : dirname(binding.path), dataset.path),
    maxFileBytes: dataset.max_file_bytes,
    field: fieldName,
    unit: field.unit,
    sourceRef: field.source_ref,
    fallback,
    recorded,
  };
}

function recordedTwin(
  input: TaskInput,
  history: readonly BoundInput<RecordedSource | CalendarSource>[],
): RecordedSource | null {
  const twin = history.find((other) => other.input.name === input.name)?.source;
  return twin?.kind === 'recorded' ? twin : null;
}

function checkUnit(input: TaskInput, unit: string, path: string, { task, binding, fault }: ResolveContext): void {
  if (input.unit !== unit)
    fault(task.at(`${path}/unit`, `is ${shown(input.unit)} here and ${unit} in ${nameOf(binding)}`));
}

/** Only the target has a sign convention; its history must use the same one. */
function checkSign(
  input: TaskInput,
  point: DescribedPoint,
  path: string,
  { task, binding, fault }: ResolveContext,
): void {
  const { target } = task.value;
  if (input.name !== target.name || point.field.sign_convention === target.sign_convention) return;
  const theirs = shown(point.field.sign_convention);
  fault(task.at(path, `the target's sign is ${target.sign_convention} and ${theirs} in ${nameOf(binding)}`));
}

function nameOf(binding: PlacedBinding): string {
  return `binding ${binding.value.id}`;
}

function shown(value: string | number | null | undefined): string {
  return value === undefined || value === null ? 'not given' : String(value);
}

function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
