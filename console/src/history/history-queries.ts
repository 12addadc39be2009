/** The executions of a rule as the service keeps them, newest first. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { automation } from '../../../src/api/automation.ts';
import { call } from '../server/calls.ts';

const pageSize = '50';

export function useHistory(ruleId: number) {
  return useInfiniteQuery({
    queryKey: ['rule', ruleId, 'history'],
    queryFn: async ({ pageParam }) => {
      const query = { limit: pageSize, ...(pageParam === null ? {} : { before: pageParam }) };
      return (await call(automation.history, { params: { id: String(ruleId) }, query })).data.data;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_before,
    staleTime: 0,
  });
}
