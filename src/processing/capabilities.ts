/** The handlers of area C [data-processing §5]: discovery, health, and the process call with its route's policy. */
import type { BoundCapability, CallContext, Resolution } from '../api/capability.ts';
import { type ProcessTaskRequest, taskListSchemaId } from '../api/processing.ts';
import { dataProcessing } from '../api/processing-capabilities.ts';
import type { TaskList } from '../api/processing-discovery.ts';
import { formatTimestamp } from '../base/timestamp.ts';
import { type ProcessCall, resolveCall } from './call.ts';
import type { CommissionedRoute } from './commission/commissioned.ts';
import { discoveryEntry } from './commission/discovery.ts';
import { processorsHealth } from './health.ts';
import type { ProcessingLimits } from './limits.ts';
import { type ProcessParts, processTask } from './process.ts';
import type { Processor } from './processor/processor.ts';

export interface DataProcessingParts extends ProcessParts {
  readonly routes: readonly CommissionedRoute[];
  readonly processors: readonly Processor[];
  readonly limits: ProcessingLimits;
}

const kind = 'processing-binding';
const resource = () => ({ kind, id: `${kind}:unknown` });

export function processingCapabilities(parts: DataProcessingParts): BoundCapability[] {
  const tasks: TaskList = { schema: taskListSchemaId, tasks: parts.routes.map(discoveryEntry) };
  const probed = parts.processors.map((processor) => ({ processor, tasks: tasksOf(parts.routes, processor) }));
  return [
    { descriptor: dataProcessing.tasks, resource, handler: async () => ({ data: tasks }) },
    {
      descriptor: dataProcessing.health,
      resource,
      handler: async () => ({ data: await processorsHealth(probed, parts.clock, parts.limits.probe_timeout_ms) }),
    },
    {
      descriptor: dataProcessing.process,
      resource,
      refusedResourceId: (context) => resourceId(requestIn(context).binding_id),
      resolve(context) {
        const call = resolveCall(requestIn(context), context.requestId, parts.routes, parts.clock);
        return resolutionOf(call, () => processTask(call, parts, context.audit));
      },
    },
  ];
}

function tasksOf(routes: readonly CommissionedRoute[], { id }: Processor): string[] {
  return [...new Set(routes.filter(({ processor }) => processor.id === id).map(({ task }) => task.id))];
}

/** The pipeline has decoded it by the descriptor's schema. */
function requestIn(context: CallContext): ProcessTaskRequest {
  return context.body as ProcessTaskRequest;
}

/** Binding ids have at most 100 characters; other values from the caller are not repeated. */
function resourceId(bindingId: string): string {
  return bindingId.length <= 100 ? `${kind}:${bindingId}` : resource().id;
}

function resolutionOf(call: ProcessCall, run: () => Promise<unknown>): Resolution {
  const { task, binding, processor, route } = call.route;
  return {
    confirmation: route.confirmation,
    resourceId: resourceId(binding.id),
    details: {
      task: { id: task.id, revision: task.revision },
      binding: { id: binding.id, revision: binding.revision },
      as_of: formatTimestamp(call.plan.asOfMs),
      options: call.options,
      request_id: call.callerId,
      processor: { id: processor.id, version: processor.version, boundary: processor.boundary },
    },
    terminalTimeoutMs: route.audit_finalization_timeout_ms,
    carryOut: async () => ({ data: await run() }),
  };
}
