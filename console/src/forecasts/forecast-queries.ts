/** Tasks, processors and runs of area C [data-processing §5.1], as queries. */
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../../src/api/client.ts';
import type { DerivedData, ProcessTaskRequest } from '../../../src/api/processing.ts';
import { dataProcessing } from '../../../src/api/processing-capabilities.ts';
import type { TaskDiscoveryEntry } from '../../../src/api/processing-discovery.ts';
import { call } from '../server/calls.ts';

const healthPeriodMs = 15_000;
/** Added to what the route says an answer may take, for the way there and back. */
const spareMs = 5000;

export const taskKey = ({ task, binding }: TaskDiscoveryEntry): string => `${task.id} ${binding.id}`;

/** Null where data processing is switched off: then the routes are not there. */
async function orOff<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

export function useTasks() {
  return useQuery({
    queryKey: ['forecasts', 'tasks'],
    queryFn: () => orOff(async () => (await call(dataProcessing.tasks)).data.tasks),
    staleTime: 60_000,
  });
}

export function useProcessors(enabled: boolean) {
  return useQuery({
    queryKey: ['forecasts', 'processors'],
    queryFn: () => orOff(async () => (await call(dataProcessing.health)).data.processors),
    enabled,
    refetchInterval: healthPeriodMs,
  });
}

export interface RunOrder {
  readonly entry: TaskDiscoveryEntry;
  readonly asOf: string;
  readonly horizonSteps: number;
  readonly quantiles: readonly number[];
  readonly confirmed: boolean;
}

export async function runForecast({ entry, asOf, horizonSteps, quantiles, confirmed }: RunOrder): Promise<DerivedData> {
  const body: ProcessTaskRequest = {
    task_id: entry.task.id,
    expected_task_revision: entry.task.revision,
    binding_id: entry.binding.id,
    expected_binding_revision: entry.binding.revision,
    as_of: asOf,
    options: {
      kind: 'forecast',
      horizon_steps: horizonSteps,
      ...(quantiles.length === 0 ? {} : { quantiles: [...quantiles] }),
    },
  };
  const deadlineMs = entry.deadline_ms + entry.audit_finalization_timeout_ms + spareMs;
  return (await call(dataProcessing.process, { body, confirmed, deadlineMs })).data;
}
