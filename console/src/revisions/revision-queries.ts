/** Queries and mutations of the revision page. */
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { revisions } from '../../../src/api/revisions.ts';
import { call } from '../server/calls.ts';
import { othersPeriodMs, refreshRule } from '../server/queries.ts';

export type RevisionView = Static<(typeof revisions)['list']['answer']>['data']['list'][number];

const pageSize = '50';

export function useRevisions(ruleId: number) {
  return useInfiniteQuery({
    queryKey: ['rule', ruleId, 'revisions'],
    queryFn: async ({ pageParam }) => {
      const query = { limit: pageSize, ...(pageParam === null ? {} : { before: String(pageParam) }) };
      return (await call(revisions.list, { params: { id: String(ruleId) }, query })).data.data;
    },
    initialPageParam: null as number | null,
    getNextPageParam: ({ next_before: before }) => before,
    refetchInterval: othersPeriodMs,
  });
}

/** The difference between two revisions, which never changes. */
export function useDifference(ruleId: number, from: number, to: number) {
  return useQuery({
    queryKey: ['rule', ruleId, 'difference', from, to],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const query = { from: String(from), to: String(to) };
      return (await call(revisions.difference, { params: { id: String(ruleId) }, query })).data.data;
    },
  });
}

/** An empty reason is omitted. */
const reasonOf = (text: string) => (text.trim() === '' ? {} : { reason: text.trim() });

type Restored = Static<typeof revisions.restore.answer>['data'];

export function useRestore(ruleId: number, newest: number, done: (restored: Restored) => void) {
  return useMutation({
    mutationFn: async ({ revision, reason }: { readonly revision: number; readonly reason: string }) => {
      const body = { revision, expected_revision: newest, ...reasonOf(reason) };
      return (await call(revisions.restore, { params: { id: String(ruleId) }, body, confirmed: true })).data.data;
    },
    onSuccess(restored) {
      void refreshRule(ruleId);
      done(restored);
    },
  });
}

export function useDuplicate(ruleId: number, done: (copy: { readonly id: number; readonly name: string }) => void) {
  return useMutation({
    mutationFn: async (name: string) =>
      (await call(revisions.duplicate, { params: { id: String(ruleId) }, body: { name }, confirmed: true })).data.data,
    onSuccess(copy) {
      void refreshRule(copy.id);
      done(copy);
    },
  });
}
