/** The site file of the running service: what has changed in it, a reload, and points added to it [points §1.3]. */
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { site } from '../../../src/api/site.ts';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';

export type PointsBody = Static<(typeof site)['previewPoints']['body']>;
export type PointsPreview = Static<(typeof site)['previewPoints']['answer']>['data'];
export type FileChanges = Static<(typeof site)['changes']['answer']>['data'];

/** Somebody may edit the file while the page is open. */
const changesPeriodMs = 5000;

export function useFileChanges(isAsked: boolean) {
  return useQuery({
    queryKey: ['site-changes'],
    queryFn: async () => (await call(site.changes)).data.data,
    refetchInterval: changesPeriodMs,
    staleTime: 0,
    enabled: isAsked,
  });
}

export function usePointsPreview(body: PointsBody, isComplete: boolean) {
  return useQuery({
    queryKey: ['site-preview', body],
    queryFn: async () => (await call(site.previewPoints, { body })).data.data,
    enabled: isComplete,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}

async function reloadSite(): Promise<void> {
  await call(site.reload, { confirmed: true });
  await queryClient.invalidateQueries();
}

export function useReloadSite() {
  return useMutation({ mutationFn: reloadSite });
}

/** First the file, then its reload: if the reload is refused, the points stay in the file and the reason is shown. */
export function useSavePoints(onDone: () => void) {
  return useMutation({
    mutationFn: async (body: PointsBody & { readonly revision: string }) => {
      await call(site.addPoints, { body, confirmed: true });
      await reloadSite();
    },
    onSuccess: onDone,
  });
}
