/** The options of a forecast [data-processing §6.2]: what the contract allows, and what a task allows. */
import { type ForecastOptions, forecastOptionsSchema } from '../../api/processing.ts';
import type { TaskDeclaration } from '../task/declaration.ts';
import { bad, type Wire, type WireIssue } from '../wire/issue.ts';
import { shape } from '../wire/shape.ts';

const optionsShape = shape(forecastOptionsSchema);

/** Refuses unknown options, nulls, horizons and probabilities outside the limits, and probabilities out of order. */
export function decodeForecastOptions(value: unknown): Wire<ForecastOptions> {
  const options = optionsShape(value);
  if (!options.ok) return options;
  const { quantiles = [] } = options.value;
  const unordered = quantiles.findIndex(
    (probability, index) => index > 0 && probability <= (quantiles[index - 1] ?? 0),
  );
  return unordered < 0 ? options : bad(`/quantiles/${unordered}`, 'increasing');
}

/** Null when the task allows the options. */
export function beyondTask(
  options: ForecastOptions,
  task: Pick<TaskDeclaration, 'frame' | 'output'>,
): WireIssue | null {
  if (options.horizon_steps > task.frame.horizon_steps) return { path: '/horizon_steps', rule: 'max_horizon_steps' };
  if ((options.quantiles?.length ?? 0) > task.output.max_quantiles)
    return { path: '/quantiles', rule: 'max_quantiles' };
  return null;
}
