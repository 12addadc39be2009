/**
 * Reads a task file into a declaration with every default filled in, or reports all its errors with file and line
 * [data-processing §2.2]. These checks need no other file: whether the members of one declaration are consistent.
 */
import { decoder } from '../../base/decode.ts';
import { notFinite, parseYaml, YamlError, type YamlFile } from '../../base/yaml.ts';
import { isTimeZone } from '../../site/local-time.ts';
import { isCalendarTransform } from '../calendar.ts';
import type { FallbackPolicy, MissingPolicy, TaskDeclaration, TaskInput, ValueRange } from './declaration.ts';
import { type InputText, type TaskText, taskGrammar } from './grammar.ts';

/** Clocks of sources may be this far ahead of the service's clock unless the task says otherwise [data-processing §2.2]. */
const defaultSourceSkewSeconds = 5;
const weekSeconds = 604_800;
const daySeconds = 86_400;

/** A configuration file: its content, and the place to name when another file contradicts it. */
export interface Placed<T> {
  readonly value: T;
  /** `file:line: reason` for a JSON Pointer into the file. */
  at(path: string, reason: string): string;
}

const decode = decoder(taskGrammar);

/** Throws a YamlError with one line per error. */
export function readTask(text: string, fileName: string): Placed<TaskDeclaration> {
  const file = parseYaml(text, fileName);
  const faults = notFinite(file.value, '').map((path) => file.at(path, 'must be a finite number'));
  const decoded = decode(file.value);
  if (!decoded.ok)
    throw new YamlError([...faults, ...decoded.issues.map((issue) => file.at(issue.path, issue.message))]);
  const task = declarationOf(decoded.value);
  const fault = (path: string, reason: string): void => void faults.push(file.at(path, reason));
  checkInputs(decoded.value, fault);
  checkTarget(task, fault);
  checkAlignment(task, fault);
  checkFallbacks(task, decoded.value, fault);
  if (!isTimeZone(task.frame.timezone)) fault('/frame/timezone', 'is not an IANA time zone');
  if (faults.length > 0) throw new YamlError(faults);
  return { value: task, at: (path, reason) => (file satisfies YamlFile).at(path, reason) };
}

type Fault = (path: string, reason: string) => void;

function declarationOf(text: TaskText): TaskDeclaration {
  const { quality, output } = text;
  return {
    schema: text.schema,
    id: text.id,
    revision: text.revision,
    kind: text.kind,
    processor_contract: text.processor_contract,
    description: text.description ?? '',
    target: text.target,
    frame: {
      ...text.frame,
      live_tail: text.frame.live_tail ?? 'forbidden',
      settle_seconds: text.frame.settle_seconds ?? 0,
    },
    inputs: {
      history: text.inputs.history.map(inputOf),
      future_covariates: (text.inputs.future_covariates ?? []).map(inputOf),
    },
    alignment: {
      ...text.alignment,
      feature_policies: text.alignment.feature_policies ?? [],
      missing_policy: missingPolicyOf(text.alignment.missing_policy),
    },
    quality: {
      ...quality,
      max_issue_age_seconds: quality.max_issue_age_seconds ?? null,
      max_source_skew_seconds: quality.max_source_skew_seconds ?? defaultSourceSkewSeconds,
    },
    output: {
      ...output,
      minimum: output.minimum ?? null,
      maximum: output.maximum ?? null,
      median_equals_value: output.median_equals_value ?? false,
      zero_is_baseline: output.zero_is_baseline ?? false,
    },
    egress: { remote_allowed: text.egress?.remote_allowed ?? false },
    fallbacks: (text.fallbacks ?? []).map(fallbackOf),
  };
}

function inputOf(text: InputText): TaskInput {
  return {
    name: text.name,
    value_type: text.value_type ?? 'number',
    unit: text.unit ?? null,
    source: text.source,
    range: text.range ?? {},
    out_of_range: text.out_of_range ?? 'missing',
  };
}

function missingPolicyOf(text: TaskText['alignment']['missing_policy']): MissingPolicy {
  return typeof text === 'string' ? text : { method: text.method, max_cells: text.max_cells ?? null };
}

function fallbackOf(text: NonNullable<TaskText['fallbacks']>[number]): FallbackPolicy {
  const season = text.strategy === 'historical-average' ? weekSeconds : null;
  return { ...text, season_seconds: text.season_seconds ?? season, weeks: text.weeks ?? null };
}

function checkInputs(text: TaskText, fault: Fault): void {
  if ((text.inputs.static_features ?? []).length > 0)
    fault('/inputs/static_features', 'static features cannot be bound by configuration; remove them');
  for (const segment of ['history', 'future_covariates'] as const) {
    const seen = new Set<string>();
    (text.inputs[segment] ?? []).forEach((input, index) => {
      const path = `/inputs/${segment}/${index}`;
      if (seen.has(input.name)) fault(`${path}/name`, `duplicate feature ${input.name} in ${segment}`);
      seen.add(input.name);
      checkInput(input, path, fault);
    });
  }
}

function checkInput(input: InputText, path: string, fault: Fault): void {
  const type = input.value_type ?? 'number';
  // Measurements, covariate runs and calendars are numbers; a declaration of any other type could never be bound.
  if (type !== 'number') fault(`${path}/value_type`, `no source provides ${type} values`);
  if (type === 'number' && input.unit === undefined) fault(path, 'a number needs a unit');
  if (type !== 'number' && input.unit !== undefined) fault(`${path}/unit`, `${type} values have no unit`);
  if (input.source.kind === 'calendar' && !isCalendarTransform(input.source.transform))
    fault(`${path}/source/transform`, `unknown transform ${input.source.transform}`);
  if (input.range !== undefined && isEmpty(input.range)) fault(`${path}/range`, 'no value can be in this range');
}

function isEmpty(range: ValueRange): boolean {
  const low = Math.max(range.minimum ?? -Infinity, range.exclusive_minimum ?? -Infinity);
  const high = Math.min(range.maximum ?? Infinity, range.exclusive_maximum ?? Infinity);
  return low > high || (low === high && (range.exclusive_minimum === low || range.exclusive_maximum === high));
}

function checkTarget(task: TaskDeclaration, fault: Fault): void {
  const { target, output, inputs } = task;
  if (output.unit !== target.unit) fault('/output/unit', `must be the target's unit ${target.unit}`);
  if (output.sign_convention !== target.sign_convention)
    fault('/output/sign_convention', `must be the target's ${target.sign_convention}`);
  if (output.minimum !== null && output.maximum !== null && output.minimum > output.maximum)
    fault('/output/minimum', 'minimum is above maximum');
  inputs.history.forEach((input, index) => {
    if (input.name === target.name && input.unit !== target.unit)
      fault(`/inputs/history/${index}/unit`, `must be the target's unit ${target.unit}`);
  });
  inputs.future_covariates.forEach((input, index) => {
    const path = `/inputs/future_covariates/${index}`;
    if (input.name === target.name) fault(`${path}/name`, 'future values of the target are never an input');
    if (input.source.kind === 'measurement')
      fault(`${path}/source/kind`, 'a measurement is not known ahead of time; use a covariate or a calendar');
    const past = inputs.history.find((other) => other.name === input.name);
    if (past !== undefined && past.unit !== input.unit)
      fault(`${path}/unit`, `must be ${String(past.unit)}, as in history`);
  });
  if (inputs.history.every((input) => input.source.kind === 'calendar'))
    fault('/inputs/history', 'needs at least one recorded feature: a calendar alone has no watermark');
}

function checkAlignment(task: TaskDeclaration, fault: Fault): void {
  const { feature_policies, missing_policy } = task.alignment;
  const names = new Set([...task.inputs.history, ...task.inputs.future_covariates].map((input) => input.name));
  const seen = new Set<string>();
  feature_policies.forEach((policy, index) => {
    const path = `/alignment/feature_policies/${index}/name`;
    if (!names.has(policy.name)) fault(path, `no input is called ${policy.name}`);
    if (seen.has(policy.name)) fault(path, `${policy.name} has two policies`);
    seen.add(policy.name);
  });
  if (typeof missing_policy === 'string') return;
  const seasonal = missing_policy.method === 'seasonal_day' || missing_policy.method === 'seasonal_week';
  if (!seasonal && missing_policy.max_cells === null)
    fault('/alignment/missing_policy', `${missing_policy.method} needs max_cells`);
  if (seasonal && daySeconds % task.frame.cadence_seconds !== 0)
    fault('/alignment/missing_policy/method', 'needs a cadence that divides a day');
}

function checkFallbacks(task: TaskDeclaration, text: TaskText, fault: Fault): void {
  const seen = new Set<string>();
  task.fallbacks.forEach((policy, index) => {
    const path = `/fallbacks/${index}`;
    if (seen.has(policy.strategy)) fault(`${path}/strategy`, `duplicate strategy ${policy.strategy}`);
    seen.add(policy.strategy);
    const source = task.inputs.history.find((input) => input.name === policy.source_feature);
    if (source === undefined) fault(`${path}/source_feature`, `no history feature is called ${policy.source_feature}`);
    else if (source.unit !== task.output.unit) fault(`${path}/source_feature`, `must have unit ${task.output.unit}`);
    const given = text.fallbacks?.[index];
    const seasonal = policy.strategy !== 'persistence';
    if (policy.strategy === 'seasonal-naive' && given?.season_seconds === undefined)
      fault(path, 'seasonal-naive needs season_seconds');
    if (!seasonal && given?.season_seconds !== undefined)
      fault(`${path}/season_seconds`, 'persistence has no season_seconds');
    if (policy.strategy === 'historical-average' && policy.weeks === null)
      fault(path, 'historical-average needs weeks');
    if (policy.strategy !== 'historical-average' && policy.weeks !== null)
      fault(`${path}/weeks`, `${policy.strategy} has no weeks`);
    if (policy.season_seconds !== null && policy.season_seconds % task.frame.cadence_seconds !== 0)
      fault(`${path}/season_seconds`, 'must be a multiple of the cadence');
  });
}
