/**
 * One page of audit events [audit §4], newest first. Each filter has an index in
 * sequence order, so a page costs the same in a log of a thousand or a million events. Times need not follow sequences
 * (clocks are set back), so a time range becomes one range of sequences per era. A search of several filters walks the
 * rarest one in windows, so that no search keeps other work waiting.
 */
import type { Clock } from '../base/clock.ts';
import type { Database } from '../storage/database.ts';
import type { Criteria, Filters } from './criteria.ts';
import type { AuditScope } from './event.ts';
import { type AuditItem, itemOf } from './item.ts';
import { chainHead } from './store/chain-store.ts';
import type { AuditEventTable } from './store/tables.ts';

export interface EventPage {
  readonly items: readonly AuditItem[];
  readonly nextCursor: string | null;
}

export interface EventSearch {
  page(scope: AuditScope, criteria: Criteria): Promise<EventPage>;
}

type FilterColumn = 'action' | 'resource_id' | 'resource_kind' | 'subject_id';

interface Filter {
  readonly column: FilterColumn;
  readonly value: string;
}

/** Sequences from `low` to `high`, both included. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/** How far the rarest of several filters is looked for. */
const probedMatches = 200;
/** The first window of a search with several filters; each further one is larger by this factor, up to the limit. */
const firstWindow = 200;
const windowGrowth = 4;

export function createAuditSearch(parts: { database: Database; clock: Clock; scanWindow: number }): EventSearch {
  const { query } = parts.database;
  return {
    async page(scope, criteria) {
      const head = await chainHead(query, { log: 'events', ...scope });
      if (head === null) return { items: [], nextCursor: null };
      const reader = createReader(parts, head.chainId, filtersOf(criteria.filters));
      // Events appended in the meantime belong to no later page: the newest sequence is fixed here.
      const { below } = criteria;
      const high = below !== null && below <= head.sequence ? Number(below) - 1 : head.sequence;
      const wanted = criteria.limit + 1;
      const rows: AuditEventTable[] = [];
      for await (const range of ranges(parts.database, head, criteria, high)) {
        rows.push(...(await reader(range, wanted - rows.length)));
        if (rows.length === wanted) break;
      }
      const items = rows.slice(0, criteria.limit).map(itemOf);
      return { items, nextCursor: rows.length === wanted ? (items.at(-1)?.sequence ?? null) : null };
    },
  };
}

function filtersOf(filters: Filters): Filter[] {
  const named = [
    { column: 'resource_id', value: filters.resourceId },
    { column: 'subject_id', value: filters.subjectId },
    { column: 'action', value: filters.action },
    { column: 'resource_kind', value: filters.resourceKind },
  ] as const;
  return named.flatMap(({ column, value }) => (value === undefined ? [] : [{ column, value }]));
}

/** The ranges of sequences whose times can lie within the criteria's, newest first. */
async function* ranges(
  database: Database,
  head: { readonly chainId: number; readonly era: number },
  criteria: Criteria,
  high: number,
): AsyncGenerator<Range> {
  const { from, to } = criteria;
  if (from === null && to === null) {
    yield { low: 1, high };
    return;
  }
  for (let era = head.era; era >= 0; era--) {
    const matching = database.query
      .selectFrom('audit_event')
      .select('sequence')
      .where('chain_id', '=', head.chainId)
      .where('era', '=', era)
      .$if(from !== null, (select) => select.where('occurred_at', '>=', from ?? ''))
      .$if(to !== null, (select) => select.where('occurred_at', '<=', to ?? ''));
    const first = await matching.orderBy('occurred_at').orderBy('sequence').limit(1).executeTakeFirst();
    if (first === undefined || first.sequence > high) continue;
    const last = await matching
      .orderBy('occurred_at', 'desc')
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow();
    yield { low: first.sequence, high: last.sequence < high ? last.sequence : high };
  }
}

function createReader(
  parts: { database: Database; clock: Clock; scanWindow: number },
  chainId: number,
  filters: readonly Filter[],
) {
  const { query } = parts.database;
  const select = (range: Range, filter: Filter | undefined) =>
    query
      .selectFrom('audit_event')
      .where('chain_id', '=', chainId)
      .where('sequence', '>=', range.low)
      .where('sequence', '<=', range.high)
      .$if(filter !== undefined, (narrow) =>
        // "Unlikely" makes the planner use the filter's index; otherwise it reads the whole range of sequences.
        narrow.where(({ eb, fn }) =>
          fn<boolean>('unlikely', [eb(filter?.column ?? 'action', '=', filter?.value ?? '')]),
        ),
      )
      .orderBy('sequence', 'desc');

  /** The most selective of several filters, as far as counting is worth it. */
  const rarest = async (range: Range): Promise<Filter | undefined> => {
    let best = filters[0];
    let fewest = Number.POSITIVE_INFINITY;
    if (filters.length < 2) return best;
    for (const filter of filters) {
      const matches = await select(range, filter).select('sequence').limit(probedMatches).execute();
      if (matches.length < fewest) [best, fewest] = [filter, matches.length];
    }
    return best;
  };

  return async (range: Range, wanted: number): Promise<AuditEventTable[]> => {
    if (range.low > range.high) return [];
    const driver = await rarest(range);
    const others = filters.filter((filter) => filter !== driver);
    if (others.length === 0) return select(range, driver).selectAll().limit(wanted).execute();
    const found: AuditEventTable[] = [];
    let size = Math.min(firstWindow, parts.scanWindow);
    for (let high = range.high; high >= range.low; ) {
      const edge = await select({ low: range.low, high }, driver)
        .select('sequence')
        .offset(size - 1)
        .limit(1)
        .executeTakeFirst();
      const window = { low: edge?.sequence ?? range.low, high };
      const rows = await select(window, driver)
        .selectAll()
        // Through a function, so that only the chosen index can be used.
        .where(({ and, eb, fn, val }) =>
          and(others.map(({ column, value }) => eb(fn.coalesce(column, val('')), '=', value))),
        )
        .limit(wanted - found.length)
        .execute();
      found.push(...rows);
      if (edge === undefined || found.length === wanted) break;
      high = edge.sequence - 1;
      size = Math.min(size * windowGrowth, parts.scanWindow);
      await new Promise<void>((resolve) => parts.clock.soon(resolve));
    }
    return found;
  };
}
