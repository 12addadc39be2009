/** Reading the audit log [audit §4]: pages by sequence, newest first; one event by its sequence. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { auditOperations } from '../../../src/api/audit.ts';
import type { AuditSearch } from '../addresses.ts';
import { nowMs } from '../clock.ts';
import { call } from '../server/calls.ts';
import { othersPeriodMs } from '../server/queries.ts';

const pageSize = '50';
/** The service has no filter for correlations: the search uses large pages, several at a time. */
const scanPageSize = '100';
const scanPages = 5;

async function pageOf(query: Readonly<Record<string, string>>) {
  return (await call(auditOperations.search, { query })).data;
}
export type AuditEvent = Awaited<ReturnType<typeof pageOf>>['items'][number];

interface Page {
  readonly items: readonly AuditEvent[];
  readonly nextCursor: string | null;
  /** Number of events read, shown or not. */
  readonly seen: number;
}

/** The filters of the API. */
export function wireQuery(search: AuditSearch): Record<string, string> {
  const { action, resourceKind, resourceId, subjectId, from, to } = search;
  const given = { action, resourceKind, resourceId, subjectId, from, to };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function plainPage(search: AuditSearch, cursor: string | null): Promise<Page> {
  const page = await pageOf({ ...wireQuery(search), limit: pageSize, ...(cursor === null ? {} : { cursor }) });
  return { ...page, seen: page.items.length };
}

/** Several pages at once, reduced to the events of one correlation. */
async function scannedPage(search: AuditSearch, correlation: string, cursor: string | null): Promise<Page> {
  const items: AuditEvent[] = [];
  let seen = 0;
  let at = cursor;
  for (let count = 0; count < scanPages; count++) {
    const page = await pageOf({ ...wireQuery(search), limit: scanPageSize, ...(at === null ? {} : { cursor: at }) });
    seen += page.items.length;
    items.push(...page.items.filter(({ correlationId }) => correlationId === correlation));
    at = page.nextCursor;
    // Records of one call are adjacent: stop after the last of them.
    const last = page.items.at(-1);
    if (at === null || (items.length > 0 && last?.correlationId !== correlation)) break;
  }
  return { items, nextCursor: at, seen };
}

export function useAuditEvents(search: AuditSearch) {
  const { event: _, ...filters } = search;
  return useInfiniteQuery({
    queryKey: ['audit', filters],
    queryFn: ({ pageParam }) =>
      search.correlation === undefined
        ? plainPage(search, pageParam)
        : scannedPage(search, search.correlation, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    staleTime: 5000,
  });
}

/**
 * Whether the log has newer events than `newest` that match the filters; false for an empty list. The search starts at the time of
 * `newest`: a search without matches would read the whole log.
 */
export function useNewerEvents(search: AuditSearch, newest: AuditEvent | undefined): boolean {
  const from = newest === undefined ? '' : `${newest.occurredAt.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`;
  const isOpen = search.correlation === undefined && (search.to === undefined || Date.parse(search.to) > nowMs());
  const found = useQuery({
    queryKey: ['audit-newer', wireQuery(search), from],
    enabled: isOpen && newest !== undefined,
    refetchInterval: othersPeriodMs,
    queryFn: async () => {
      const query = wireQuery(search);
      const { items } = await pageOf({ ...query, from: later(query['from'], from), limit: '1' });
      return items[0]?.sequence ?? '0';
    },
  });
  return isOpen && newest !== undefined && found.data !== undefined && BigInt(found.data) > BigInt(newest.sequence);
}

function later(one: string | undefined, other: string): string {
  return one !== undefined && Date.parse(one) > Date.parse(other) ? one : other;
}

/** One event: the first one below the next sequence. */
export function useAuditEvent(sequence: string | undefined) {
  return useQuery({
    queryKey: ['audit-event', sequence],
    enabled: sequence !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      if (sequence === undefined || !/^[1-9][0-9]{0,18}$/.test(sequence)) return null;
      const { items } = await pageOf({ cursor: String(BigInt(sequence) + 1n), limit: '1' });
      const [event] = items;
      return event?.sequence === sequence ? event : null;
    },
  });
}
