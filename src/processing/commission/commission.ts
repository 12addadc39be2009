/**
 * Commissioning [data-processing §2.3]: declarations, bindings and routes against the site, to routes that can run, or every
 * error with file and line. It fails closed. Disabled or uncommissioned parts do not exist for callers: their references are not
 * checked, and they cannot be called.
 */

import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import type { Placed } from '../../contract/task/read.ts';
import type { Site } from '../../site/site.ts';
import { type CommissionedRoute, frameCells } from './commissioned.ts';
import { endpointFault, missingApprovals } from './egress.ts';
import { keepingFaults } from './keeping.ts';
import { type PlacedBinding, resolveFuture, resolveHistory } from './resolve.ts';
import type { ProcessorSettings, RouteSettings, Routes } from './routes.ts';

export interface ProcessingConfiguration {
  readonly tasks: readonly Placed<TaskDeclaration>[];
  readonly bindings: readonly PlacedBinding[];
  readonly routes: Placed<Routes>;
}

export type Commissioning =
  | {
      readonly ok: true;
      readonly routes: readonly CommissionedRoute[];
      readonly processors: readonly ProcessorSettings[];
      /** Null: the embedded store. */
      readonly upstreamHistory: Routes['upstreamHistory'];
    }
  /** Each line is `file:line: reason`. */
  | { readonly ok: false; readonly lines: readonly string[] };

export function commission({ tasks, bindings, routes }: ProcessingConfiguration, site: Site): Commissioning {
  // A set: two routes with the same binding report the same errors.
  const lines = new Set<string>();
  checkUnique(tasks, 'task', lines);
  checkUnique(bindings, 'binding', lines);
  checkEndpoints(routes, lines);
  const commissioned = routes.value.routes.flatMap((route, index) => {
    const found = commissionRoute(route, `/routes/${index}`, { tasks, bindings, routes }, site, lines);
    return found === null ? [] : [found];
  });
  if (lines.size > 0) return { ok: false, lines: [...lines] };
  const { processors, upstreamHistory } = routes.value;
  return { ok: true, routes: commissioned, processors, upstreamHistory };
}

function checkUnique(
  files: readonly Placed<{ readonly id: string; readonly revision: number }>[],
  what: string,
  lines: Set<string>,
): void {
  const seen = new Set<string>();
  for (const file of files) {
    const { id, revision } = file.value;
    const key = `${id} ${revision}`;
    if (seen.has(key))
      lines.add(file.at('/id', `${what} ${id} revision ${revision} is already defined in another file`));
    seen.add(key);
  }
}

function checkEndpoints(routes: Placed<Routes>, lines: Set<string>): void {
  routes.value.processors.forEach((processor, index) => {
    const fault = endpointFault(processor.endpoint, processor.boundary);
    if (fault !== null) lines.add(routes.at(`/processors/${index}/endpoint`, fault));
  });
  const upstream = routes.value.upstreamHistory;
  if (upstream === null) return;
  const boundary = upstream.endpoint.startsWith('https:') ? 'remote' : 'local';
  const fault = endpointFault(upstream.endpoint, boundary);
  if (fault !== null) lines.add(routes.at('/history/endpoint', fault));
}

function commissionRoute(
  route: RouteSettings,
  path: string,
  { tasks, bindings, routes }: ProcessingConfiguration,
  site: Site,
  lines: Set<string>,
): CommissionedRoute | null {
  if (!route.enabled) return null;
  const fault = (member: string, reason: string): null => {
    lines.add(routes.at(`${path}${member}`, reason));
    return null;
  };
  const task = tasks.find(({ value }) => value.id === route.task.id && value.revision === route.task.revision);
  const binding = bindings.find(
    ({ value }) => value.id === route.binding.id && value.revision === route.binding.revision,
  );
  const processor = routes.value.processors.find(({ id }) => id === route.processor);
  if (task === undefined) fault('/task', `unknown task ${route.task.id} of revision ${route.task.revision}`);
  if (binding === undefined)
    fault('/binding', `unknown binding ${route.binding.id} of revision ${route.binding.revision}`);
  if (processor === undefined) fault('/processor', `unknown processor ${route.processor}`);
  if (task === undefined || binding === undefined || processor === undefined) return null;
  if (!binding.value.enabled || !binding.value.commissioned) return null;

  checkEgress(processor, task.value, binding, route, (reason) => void fault('', reason));
  checkContract(processor.contract, task.value.processor_contract, (reason) => void fault('/processor', reason));
  for (const each of keepingFaults(route, task.value)) fault(each.path, each.reason);
  const lastOnly = routes.value.upstreamHistory !== null;
  const context = { task, binding, site, lastOnly, fault: (line: string) => void lines.add(line) };
  const history = resolveHistory(context);
  const future = resolveFuture(context, history);
  const commissioned: CommissionedRoute = {
    task: task.value,
    binding: {
      id: binding.value.id,
      revision: binding.value.revision,
      artifact: binding.value.artifact ?? null,
    },
    processor,
    route,
    history,
    future,
    place: {
      timezone: task.value.frame.timezone,
      latitude: site.latitude ?? null,
      longitude: site.longitude ?? null,
      holidays: new Set(site.holidays),
    },
    keepsSourceRefs: processor.boundary === 'local' || route.egress_source_ref,
  };
  const cellsMin = frameCells(commissioned, 1);
  if (cellsMin > processor.max_frame_cells)
    fault(
      '',
      `a frame of this task has at least ${cellsMin} cells, and max_frame_cells is ${processor.max_frame_cells}`,
    );
  return commissioned;
}

/** Words, not types: one contract is known today, and the next one must not be accepted by accident. */
function checkContract(spoken: string, needed: string, fault: (reason: string) => void): void {
  if (spoken !== needed) fault(`speaks ${spoken}, and the task needs ${needed}`);
}

function checkEgress(
  processor: ProcessorSettings,
  task: TaskDeclaration,
  binding: PlacedBinding,
  route: RouteSettings,
  fault: (reason: string) => void,
): void {
  const missing = missingApprovals(processor.boundary, {
    task: task.egress.remote_allowed,
    binding: binding.value.remote_egress_allowed ?? false,
    route: route.remote_preapproved,
  });
  if (missing.length > 0) fault(`processor ${processor.id} is remote; this needs ${missing.join(', ')}`);
}
