/** Queries and mutations of the point pages. */
import { skipToken, useMutation, useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { automation } from '../../../src/api/automation.ts';
import { points } from '../../../src/api/points.ts';
import type { PointRef } from '../../../src/site/catalogue.ts';
import { nowMs } from '../clock.ts';
import { startOf } from '../history/history-queries.ts';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';
import type { TimedOrder } from './timed-dialog.tsx';
import { type TimeSpan, wholeBuckets } from './trend-span.ts';
import type { TrendView } from './trend-view.ts';

export type PointEntry = Static<(typeof points)['list']['answer']>['data']['list'][number];
export type GrantEntry = Static<(typeof points)['overrides']['answer']>['data']['list'][number];
export type PointOwner = NonNullable<PointEntry['owner']>;
export type OwnershipView = Static<(typeof points)['ownership']['answer']>['data'];
export type PointRules = Static<(typeof points)['rules']['answer']>['data'];
export type PointTrend = Static<(typeof points)['series']['answer']>['data'];

/** In addition to the stream, which pushes values: owners, commands and errors come with the list only. */
const listPeriodMs = 3000;
const ownershipPeriodMs = 5000;
const trendPeriodMs = 15_000;
const pageSize = 500;
/** Buckets of a trend: about one per pixel of a chart. */
export const trendBuckets = 720;

async function allPoints(): Promise<PointEntry[]> {
  const entries: PointEntry[] = [];
  for (let page = 1; ; page++) {
    const { data } = (await call(points.list, { query: { page: String(page), page_size: String(pageSize) } })).data;
    entries.push(...data.list);
    if (!data.has_next) return entries;
  }
}

export function usePoints() {
  return useQuery({
    queryKey: ['points'],
    queryFn: allPoints,
    // A longer list is polled less often: the rate of points is constant.
    refetchInterval: ({ state: { data } }) => listPeriodMs * Math.max(1, Math.ceil((data?.length ?? 0) / pageSize)),
  });
}

export function useGrants() {
  return useQuery({
    queryKey: ['overrides'],
    queryFn: async () => (await call(points.overrides)).data.data.list,
    refetchInterval: listPeriodMs,
  });
}

/** For action points only. */
export function useOwnership(point: PointEntry) {
  const params = { instance: String(point.instance), point: String(point.point) };
  return useQuery({
    queryKey: ['ownership', params.instance, params.point],
    queryFn: async () => (await call(points.ownership, { params })).data.data,
    refetchInterval: ownershipPeriodMs,
  });
}

/** Disabled without a point. */
export function usePointRules(ref: PointRef | null) {
  const { instance = 0, point_type = 'measurement', point = 0 } = ref ?? {};
  const params = { instance: String(instance), point_type, point: String(point) };
  return useQuery({
    queryKey: ['point-rules', params],
    enabled: ref !== null,
    queryFn: async () => (await call(points.rules, { params })).data.data,
    refetchInterval: trendPeriodMs,
  });
}

/** The points that a rule reads, once for each variable. */
export async function inputsOf(ruleId: number): Promise<readonly PointRef[]> {
  return (await call(automation.variables, { params: { id: ruleId } })).data.data.variables;
}

async function runsOf(ruleId: number, query: Readonly<Record<string, string>>) {
  return (await call(automation.history, { params: { id: ruleId }, query })).data.data;
}
export type PointRun = Awaited<ReturnType<typeof runsOf>>['list'][number];

/** The newest run of a rule, for a page that then shows the pushed ones. */
export function useNewestRun(ruleId: number, enabled: boolean) {
  return useQuery({
    queryKey: ['newest-run', ruleId],
    enabled,
    queryFn: async () => (await runsOf(ruleId, { limit: '1' })).list[0] ?? null,
  });
}

/** For each rule the last run that had started by then. */
export function useRunsAt(rules: readonly number[], unix: number) {
  const to = timeOf(unix);
  return useQuery({
    queryKey: ['runs-at', rules, to],
    queryFn: async () => {
      const found = await Promise.all(rules.map((id) => runsOf(id, { to, limit: '1' })));
      return found.flatMap(({ list }) => list);
    },
    placeholderData: (before) => before,
  });
}

/** The runs in a span with another decision than before, and the time from which they are complete. */
export function useTurns(rules: readonly number[], span: TimeSpan | null) {
  return useQuery({
    queryKey: ['turns', rules, span],
    enabled: span !== null && rules.length > 0,
    queryFn: async () => {
      const query = { from: timeOf(span?.from ?? 0), to: timeOf(span?.to ?? 0), changes: 'true', limit: '100' };
      const found = await Promise.all(rules.map((id) => runsOf(id, query)));
      const cut = found.flatMap(({ next_before: next }) => (next === null ? [] : [startOf(next)]));
      return { runs: found.flatMap(({ list }) => list), completeFrom: cut.toSorted().at(-1) ?? null };
    },
    placeholderData: (before) => before,
  });
}

/** The span up to now. All trends of a page take it from here, so that one moment is at one place in each. */
export function useTrendSpan({ seconds, chosen }: Pick<TrendView, 'seconds' | 'chosen'>): TimeSpan | null {
  const upToNow = useQuery({
    queryKey: ['trend-span', seconds],
    enabled: chosen === null,
    queryFn: () => spanUpToNow(seconds),
    refetchInterval: trendPeriodMs,
    gcTime: 0,
  });
  return chosen ?? upToNow.data ?? null;
}

export function useTrend({ instance, point_type, point }: PointEntry, span: TimeSpan | null) {
  return useQuery({
    queryKey: ['trend', instance, point_type, point, span],
    queryFn: span === null ? skipToken : () => fetchTrend({ instance, point_type, point }, span, trendBuckets),
    placeholderData: (before) => before,
    gcTime: trendPeriodMs,
  });
}

export function spanUpToNow(seconds: number): TimeSpan {
  const to = Math.ceil(nowMs() / 1000);
  return { from: to - seconds, to };
}

/** The last whole buckets of a span, at most `most`. */
export async function fetchTrend(
  { instance, point_type, point }: PointRef,
  span: TimeSpan,
  most: number,
): Promise<PointTrend> {
  const { from, to, buckets } = wholeBuckets(span, most);
  const params = { instance: String(instance), point_type, point: String(point) };
  const query = { from: timeOf(from), to: timeOf(to), buckets: String(buckets) };
  return (await call(points.series, { params, query })).data.data;
}

function timeOf(unix: number): string {
  return new Date(unix * 1000).toISOString();
}

interface OverrideOrder extends TimedOrder {
  readonly value: number;
}

interface LimitOrder extends TimedOrder {
  readonly min?: number;
  readonly max?: number;
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

export function useLimit(point: PointEntry, onDone: () => void) {
  return useMutation({
    mutationFn: ({ seconds, ...order }: LimitOrder) =>
      call(points.limit, {
        params: { instance: String(point.instance), point: String(point.point) },
        body: { ...order, for_seconds: seconds },
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
