/** What the pages of points read and change. */
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { points } from '../../../src/api/points.ts';
import { nowMs } from '../clock.ts';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';

export type PointEntry = Static<(typeof points)['list']['answer']>['data']['list'][number];
export type GrantEntry = Static<(typeof points)['overrides']['answer']>['data']['list'][number];
export type PointOwner = NonNullable<PointEntry['owner']>;
export type OwnershipView = Static<(typeof points)['ownership']['answer']>['data'];
export type TrendView = Static<(typeof points)['series']['answer']>['data'];

/** Beside the stream, which pushes values: owners, commands and errors come with the list alone. */
const listPeriodMs = 3000;
const ownershipPeriodMs = 5000;
const trendPeriodMs = 15_000;
const pageSize = 500;
/** Buckets of a trend: about one for each pixel of a chart. */
const trendBuckets = 720;

async function allPoints(): Promise<PointEntry[]> {
  const entries: PointEntry[] = [];
  for (let page = 1; ; page++) {
    const { data } = (await call(points.list, { query: { page: String(page), page_size: String(pageSize) } })).data;
    entries.push(...data.list);
    if (!data.has_next) return entries;
  }
}

export function usePoints() {
  return useQuery({ queryKey: ['points'], queryFn: allPoints, refetchInterval: listPeriodMs });
}

export function useGrants() {
  return useQuery({
    queryKey: ['overrides'],
    queryFn: async () => (await call(points.overrides)).data.data.list,
    refetchInterval: listPeriodMs,
  });
}

/** Of an action point alone. */
export function useOwnership(point: PointEntry) {
  const params = { instance: String(point.instance), point: String(point.point) };
  return useQuery({
    queryKey: ['ownership', params.instance, params.point],
    queryFn: async () => (await call(points.ownership, { params })).data.data,
    refetchInterval: ownershipPeriodMs,
  });
}

/** A span of time in seconds since the epoch. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** The trend of the last `seconds`, or of a span that the reader chose. */
export function useTrend(point: PointEntry, seconds: number, chosen: TimeSpan | null) {
  const params = {
    instance: String(point.instance),
    point_type: point.point_type,
    point: String(point.point),
  };
  return useQuery({
    queryKey: ['trend', params, seconds, chosen],
    queryFn: async () => {
      const span = chosen ?? latest(seconds);
      const at = (unix: number): string => new Date(unix * 1000).toISOString();
      const query = { from: at(span.from), to: at(span.to), buckets: String(trendBuckets) };
      return (await call(points.series, { params, query })).data.data;
    },
    placeholderData: (before) => before,
    ...(chosen === null ? { refetchInterval: trendPeriodMs } : {}),
  });
}

/** On whole buckets, and these on whole minutes where they are that wide: then rollups are exact, and nothing else is read. */
function latest(seconds: number): TimeSpan {
  const bucket = Math.ceil(seconds / trendBuckets);
  const step = bucket >= 60 ? Math.ceil(bucket / 60) * 60 : bucket;
  const to = Math.ceil(nowMs() / 1000 / step) * step;
  return { from: to - step * trendBuckets, to };
}

interface OverrideOrder {
  readonly value: number;
  readonly seconds: number;
  readonly reason: string;
}

async function refresh(): Promise<void> {
  await Promise.all(
    ['points', 'overrides', 'ownership'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })),
  );
}

export function useOverride(point: PointEntry, onDone: () => void) {
  return useMutation({
    mutationFn: ({ value, seconds, reason }: OverrideOrder) =>
      call(points.override, {
        params: { instance: String(point.instance), point: String(point.point) },
        body: { value, for_seconds: seconds, reason },
        confirmed: true,
      }),
    onSuccess: async () => {
      onDone();
      await refresh();
    },
  });
}

export function useRelease(onDone: () => void) {
  return useMutation({
    mutationFn: (overrideId: string) =>
      call(points.release, { params: { override_id: overrideId }, query: { confirmed: 'true' }, confirmed: true }),
    onSuccess: async () => {
      onDone();
      await refresh();
    },
  });
}
