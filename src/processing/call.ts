/**
 * A process call once its route is known ([data-processing §5.1] step 1): resolves the members of the body, or refuses before anything
 * is read or recorded.
 */
import type { ForecastOptions, ProcessTaskRequest } from '../api/processing.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import { parseTimestamp } from '../base/timestamp.ts';
import type { CommissionedRoute } from './commission/commissioned.ts';
import { type FramePlan, planFrame } from './frame/plan.ts';

export interface ProcessCall {
  readonly route: CommissionedRoute;
  readonly plan: FramePlan;
  readonly options: ForecastOptions;
  /** The caller's `x-request-id`, or a fresh one. */
  readonly callerId: string;
  readonly arrivedWallMs: number;
  readonly arrivedMonotonicMs: number;
}

const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** Throws Fault `invalid-input`, `task-not-commissioned` or `frame-too-large`. */
export function resolveCall(
  body: ProcessTaskRequest,
  requestId: string | undefined,
  routes: readonly CommissionedRoute[],
  clock: Clock,
): ProcessCall {
  const arrivedWallMs = clock.wallMs();
  const arrivedMonotonicMs = clock.monotonicMs();
  if (requestId !== undefined && !requestIdPattern.test(requestId))
    throw new Fault('invalid-input', 'the header x-request-id must be 1 to 128 of A-Z a-z 0-9 . _ : -, once');
  const asOfMs = parseTimestamp(body.as_of);
  if (asOfMs === null) throw new Fault('invalid-input', 'as_of is not a valid time');
  const route = routes.find((candidate) => selects(body, candidate));
  if (route === undefined)
    throw new Fault('task-not-commissioned', 'this task and binding, of these revisions, are not commissioned');
  const { options } = body;
  const plan = planFrame(route, asOfMs, options, arrivedWallMs);
  return { route, plan, options, callerId: requestId ?? newId(), arrivedWallMs, arrivedMonotonicMs };
}

/** A revision that is not the commissioned one fails the call closed [data-processing §2.3]. */
function selects(body: ProcessTaskRequest, { task, binding }: CommissionedRoute): boolean {
  return (
    task.id === body.task_id &&
    task.revision === body.expected_task_revision &&
    binding.id === body.binding_id &&
    binding.revision === body.expected_binding_revision
  );
}
