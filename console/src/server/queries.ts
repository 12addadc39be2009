/** Data of the service as cached queries: keys, refetch intervals and retries. */
import { QueryClient, useQuery } from '@tanstack/react-query';
import { automation } from '../../../src/api/automation.ts';
import { ApiError } from '../../../src/api/client.ts';
import { useMayRead } from '../session/session.ts';
import { call } from './calls.ts';

/** How often a page that shows what happens now asks again, beside what the stream pushes. */
const statusPeriodMs = 3000;
/** Rules whose status is asked for in one period. */
const rulesPerPeriod = 1000;
const variablesPeriodMs = 2000;
/** What others may change while a page shows it. */
export const othersPeriodMs = 5000;
/** A site with more points is asked for less often. */
const sitePointsPerPeriod = 2000;
const retryDelayMs = 1000;
const retriesMax = 2;
const pageSize = 100;

/** Only what may help is tried again; a query that repeats anyway is not hurried. */
function shouldRetry(failures: number, error: Error): boolean {
  return error instanceof ApiError && error.retryable && failures < retriesMax;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: shouldRetry,
      retryDelay: retryDelayMs,
      refetchOnWindowFocus: true,
      staleTime: 1000,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

async function allRules(include?: 'status') {
  const rules = [];
  for (let page = 1; ; page++) {
    const query = {
      page: String(page),
      page_size: String(pageSize),
      ...(include === undefined ? {} : { include }),
    };
    const { data } = (await call(automation.list, { query })).data;
    rules.push(...data.list);
    if (!data.has_next) return rules;
  }
}

export type ListedRule = Awaited<ReturnType<typeof allRules>>[number];
export type ShownStatus = NonNullable<ListedRule['status']>;

export function useRules() {
  return useQuery({
    queryKey: ['rules'],
    enabled: useMayRead(),
    queryFn: () => allRules('status'),
    // A longer list is asked for less often; the runs of the rules in view are pushed.
    refetchInterval: ({ state: { data } }) =>
      statusPeriodMs * Math.max(1, Math.ceil((data?.length ?? 0) / rulesPerPeriod)),
  });
}

/** Names by id, for pages about something else. */
export function useRuleNames(): ReadonlyMap<number, string> | undefined {
  return useQuery({
    queryKey: ['rules', 'names'],
    enabled: useMayRead(),
    staleTime: 30_000,
    queryFn: async () => new Map((await allRules()).map(({ id, name }) => [id, name])),
  }).data;
}

async function ruleOf(id: number) {
  return (await call(automation.get, { params: { id: String(id) } })).data.data;
}
export type StoredRule = Awaited<ReturnType<typeof ruleOf>>;

export const ruleQuery = (id: number) => ({ queryKey: ['rule', id], queryFn: () => ruleOf(id) });

export function useRule(id: number) {
  return useQuery({ ...ruleQuery(id), staleTime: 0, refetchInterval: othersPeriodMs });
}

export function useRuleStatus(id: number) {
  return useQuery({
    queryKey: ['rule', id, 'status'],
    queryFn: async () => (await call(automation.status, { params: { id: String(id) } })).data.data,
    refetchInterval: statusPeriodMs,
  });
}

async function variablesOf(id: number) {
  return (await call(automation.variables, { params: { id: String(id) } })).data.data.variables;
}
export type ShownVariable = Awaited<ReturnType<typeof variablesOf>>[number];

export function useRuleVariables(id: number) {
  return useQuery({
    queryKey: ['rule', id, 'variables'],
    queryFn: () => variablesOf(id),
    refetchInterval: variablesPeriodMs,
  });
}

async function siteOf() {
  return (await call(automation.instances)).data.data;
}
export type SiteView = Awaited<ReturnType<typeof siteOf>>;

/** The name of a rule by its id; the id of one that is not there. */
export function useRuleName(): (ruleId: number) => string {
  const rules = useRules().data ?? [];
  return (ruleId) => rules.find(({ id }) => id === ruleId)?.name ?? String(ruleId);
}

/** Points, instances and parameters: others change parameters, or reload the site file. */
export function useSite() {
  return useQuery({
    queryKey: ['site'],
    enabled: useMayRead(),
    queryFn: siteOf,
    staleTime: 60_000,
    refetchInterval: ({ state: { data } }) =>
      othersPeriodMs *
      Math.max(1, Math.ceil((data?.instances.flatMap(({ points }) => points).length ?? 0) / sitePointsPerPeriod)),
  });
}

export function useScheduler() {
  return useQuery({
    queryKey: ['scheduler'],
    queryFn: async () => (await call(automation.schedulerStatus)).data.data,
    refetchInterval: statusPeriodMs * 2,
  });
}

/** Everything that shows rule `id` or the list asks again. */
export async function refreshRule(id: number): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['rules'] }),
    queryClient.invalidateQueries({ queryKey: ['rule', id] }),
  ]);
}
