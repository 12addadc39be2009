/** The executions of a rule in the service, newest first. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { automation } from '../../../src/api/automation.ts';
import { call } from '../server/calls.ts';

const pageSize = '50';

const historyOf = async (ruleId: number, query: Readonly<Record<string, string>>) =>
  (await call(automation.history, { params: { id: ruleId }, query })).data.data;

export function useHistory(ruleId: number) {
  return useInfiniteQuery({
    queryKey: ['rule', ruleId, 'history'],
    queryFn: ({ pageParam }) =>
      historyOf(ruleId, { limit: pageSize, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_before,
    staleTime: 0,
  });
}

export interface RunFilter {
  /** Only runs with another decision than the one before. */
  readonly onlyChanges: boolean;
  readonly outcome: 'acted' | 'no_action' | 'skipped' | 'failed' | null;
  /** Runs started by then; null for all. */
  readonly untilMs: number | null;
}

/** The service searches 1,000 runs per page, so a rare match may be many pages away. This many are requested at a time. */
const pagesAtOnce = 20;

/**
 * The filtered list of runs. It searches until it has found one; `search` continues from there. `searchedFrom` is how far back the search
 * has reached; null once it is complete.
 */
export function useRunList(ruleId: number, filter: RunFilter) {
  const runs = useRunPages(ruleId, filter);
  const records = runs.data?.pages.flatMap((page) => page.list) ?? [];
  const pages = runs.data?.pages.length ?? 0;
  const { hasNextPage, isFetching, isError, isPlaceholderData, fetchNextPage } = runs;
  const isSearching = records.length === 0 && hasNextPage && pages < pagesAtOnce && !isError && !isPlaceholderData;
  useEffect(() => {
    if (isSearching && !isFetching) void fetchNextPage();
  }, [isSearching, isFetching, fetchNextPage]);
  const search = async (): Promise<void> => {
    let found = records.length;
    for (let page = 0; page < pagesAtOnce && found === records.length; page++) {
      const next = await fetchNextPage();
      if (!next.hasNextPage || next.isError) return;
      found = next.data?.pages.flatMap(({ list }) => list).length ?? 0;
    }
  };
  const oldest = runs.data?.pages.at(-1)?.next_before ?? null;
  const searchedFrom = oldest === null ? null : startOf(oldest);
  return { ...runs, records, isSearching, searchedFrom, search: () => void search() };
}

function useRunPages(ruleId: number, { onlyChanges, outcome, untilMs }: RunFilter) {
  const filter = {
    ...(onlyChanges ? { changes: 'true' } : {}),
    ...(outcome === null ? {} : { outcome }),
    ...(untilMs === null ? {} : { to: new Date(untilMs).toISOString() }),
  };
  return useInfiniteQuery({
    queryKey: ['rule', ruleId, 'runs', filter],
    queryFn: ({ pageParam }) =>
      historyOf(ruleId, { ...filter, limit: pageSize, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_before,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}

/** The start of an execution, read from its id; empty if the text is not an id. */
export function startOf(executionId: string): string {
  const startedMs = Number.parseInt(executionId.replace('-', '').slice(0, 12), 16);
  return Number.isNaN(startedMs) ? '' : new Date(startedMs).toISOString();
}

/** One execution from the history of the service; null if it does not exist. */
export async function runOf(ruleId: number, executionId: string) {
  const at = startOf(executionId);
  const { list } = await historyOf(ruleId, { from: at, to: at, limit: '100' });
  return list.find((record) => record.execution_id === executionId) ?? null;
}

/** One execution of any age. Null until it is loaded. */
export function useChosenRun(ruleId: number, executionId: string | null) {
  const listed = useHistory(ruleId)
    .data?.pages.flatMap((page) => page.list)
    .find((record) => record.execution_id === executionId);
  const fetched = useQuery({
    queryKey: ['rule', ruleId, 'run', executionId],
    enabled: executionId !== null && listed === undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => runOf(ruleId, executionId ?? ''),
  }).data;
  return listed ?? fetched ?? null;
}
