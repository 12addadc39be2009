/** The requirements for a route that keeps its results, or runs on a schedule [data-processing §8]. */
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import type { RouteSettings } from './routes.ts';

export interface KeepingFault {
  /** Member of the route, as a JSON Pointer. */
  readonly path: string;
  readonly reason: string;
}

export function keepingFaults(route: RouteSettings, task: TaskDeclaration): readonly KeepingFault[] {
  const { keep_results: keeps, schedule, confirmation } = route;
  const faults: KeepingFault[] = [];
  const measured = task.inputs.history.some(
    ({ name, source }) => name === task.target.name && source.kind === 'measurement',
  );
  if (keeps && !measured)
    faults.push({
      path: '/keep_results',
      reason: `needs the target ${task.target.name} as a recorded history input: kept results are compared with it`,
    });
  if (schedule === null) return faults;
  const { every_seconds: every, offset_seconds: offset = 0, horizon_steps: steps, quantiles = [] } = schedule;
  const fault = (member: string, reason: string): void => void faults.push({ path: `/schedule${member}`, reason });
  if (confirmation === 'required')
    fault('', 'a route that needs confirmation cannot have a schedule: set remote_preapproved and confirmation: never');
  if (offset >= every) fault('/offset_seconds', `must be less than every_seconds, ${every}`);
  if (steps !== undefined && steps > task.frame.horizon_steps)
    fault('/horizon_steps', `must be at most the task's ${task.frame.horizon_steps}`);
  if (quantiles.length > task.output.max_quantiles)
    fault('/quantiles', `must be at most ${task.output.max_quantiles}, the task's max_quantiles`);
  if (quantiles.some((quantile, index) => index > 0 && quantile <= (quantiles[index - 1] ?? 0)))
    fault('/quantiles', 'must increase');
  return faults;
}
