/** The history of alarms, and what operators do with alarms. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { acknowledgedMax, alarms } from '../../../src/api/alarms.ts';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';

const historyPeriodMs = 10_000;

/** The newest `most` changes of the last day, and one more if there are more; the newest first. */
export function useAlarmHistory(most: number) {
  return useQuery({
    queryKey: ['alarms', 'history'],
    queryFn: async () =>
      (await call(alarms.history, { query: { limit: String(most + 1) } })).data.data.list.toReversed(),
    refetchInterval: historyPeriodMs,
  });
}

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['alarms'] });

export function useAcknowledge(onDone: () => void) {
  return useMutation({
    mutationFn: (id: string) => call(alarms.acknowledge, { params: { alarm_id: id }, confirmed: true }),
    onSuccess: async () => {
      onDone();
      await refresh();
    },
  });
}

/** In as many calls as necessary; `onDone` receives the number of acknowledged alarms. */
export function useAcknowledgeAll(onDone: (count: number) => void) {
  return useMutation({
    mutationFn: async (ids: readonly string[]) => {
      let count = 0;
      for (let from = 0; from < ids.length; from += acknowledgedMax) {
        const body = { alarm_ids: ids.slice(from, from + acknowledgedMax) };
        count += (await call(alarms.acknowledgeMany, { body, confirmed: true })).data.data.acknowledged.length;
      }
      return count;
    },
    onSuccess: onDone,
    onSettled: refresh,
  });
}

export function useShelve(id: string, onDone: () => void) {
  return useMutation({
    mutationFn: ({ seconds, reason }: { readonly seconds: number; readonly reason: string }) =>
      call(alarms.shelve, { params: { alarm_id: id }, body: { for_seconds: seconds, reason }, confirmed: true }),
    onSuccess: async () => {
      onDone();
      await refresh();
    },
  });
}

export function useUnshelve(onDone: () => void) {
  return useMutation({
    mutationFn: (id: string) => call(alarms.unshelve, { params: { alarm_id: id }, confirmed: true }),
    onSuccess: async () => {
      onDone();
      await refresh();
    },
  });
}
