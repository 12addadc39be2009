/** Tasks, processors and runs of area C [data-processing §5.1], as queries. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ApiError } from '../../../src/api/client.ts';
import type { DerivedData, ProcessTaskRequest } from '../../../src/api/processing.ts';
import { dataProcessing } from '../../../src/api/processing-capabilities.ts';
import type { TaskDiscoveryEntry } from '../../../src/api/processing-discovery.ts';
import { labelsBeforeMax, resultPageSize } from '../../../src/api/processing-results.ts';
import { nowMs } from '../clock.ts';
import { call } from '../server/calls.ts';

const healthPeriodMs = 15_000;
/** Added to the route's deadline, for the network. */
const spareMs = 5000;

export const taskKey = ({ task, binding }: TaskDiscoveryEntry): string => `${task.id} ${binding.id}`;

/** Null if data processing is off: its routes do not exist then. */
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

/** Range of the slider, and poll interval for new results and actuals. */
const issuedDays = 14;
const keptPeriodMs = 60_000;

const aboutOf = ({ task, binding }: TaskDiscoveryEntry) => ({ task: task.id, binding: binding.id });

export const issuedKey = (entry: TaskDiscoveryEntry) => ['forecasts', 'issued', taskKey(entry)] as const;

/** The issued forecast at this distance from the newest one, and the total number. */
export function useIssued(entry: TaskDiscoveryEntry, back: number) {
  const page = Math.floor(back / resultPageSize) + 1;
  return useQuery({
    queryKey: [...issuedKey(entry), page],
    queryFn: async () => {
      const from = new Date(nowMs() - issuedDays * 86_400_000).toISOString();
      const query = { ...aboutOf(entry), from, page: String(page) };
      return (await call(dataProcessing.results, { query })).data;
    },
    select: ({ list, total }) => ({ total, entry: list[back % resultPageSize] ?? null }),
    placeholderData: keepPreviousData,
    refetchInterval: keptPeriodMs,
  });
}

/** History drawn before a forecast. */
const pastMs = 86_400_000;

/** A stored forecast, with recorded values for its labels and for the day before. */
export function useKept(resultId: string, { forecast }: TaskDiscoveryEntry, enabled = true) {
  const labels = Math.min(labelsBeforeMax, Math.ceil(pastMs / forecast.cadence_ms));
  return useQuery({
    queryKey: ['forecasts', 'kept', resultId],
    queryFn: async () => {
      const query = { include: 'actuals', before: String(labels) } as const;
      return (await call(dataProcessing.result, { params: { result_id: resultId }, query })).data;
    },
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: keptPeriodMs,
  });
}

export function useScores(entry: TaskDiscoveryEntry) {
  return useQuery({
    queryKey: ['forecasts', 'scores', taskKey(entry)],
    queryFn: async () => (await call(dataProcessing.scores, { query: aboutOf(entry) })).data,
    refetchInterval: keptPeriodMs,
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
