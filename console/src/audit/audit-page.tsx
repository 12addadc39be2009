/** The audit log: filtered, scrolled by sequence, one event in full; every view has an address of its own. */
import { Button, Skeleton } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { ApiError } from '../../../src/api/client.ts';
import type { AuditSearch } from '../addresses.ts';
import { Failure } from '../parts/failure.tsx';
import { fullTime, Moment } from '../parts/moment.tsx';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import table from '../parts/table.module.css';
import { Notice, Tag } from '../parts/tag.tsx';
import { auditWords } from '../strings/audit.ts';
import { t } from '../strings/index.ts';
import classes from './audit.module.css';
import { AuditBroken } from './audit-broken.tsx';
import { AuditFacets } from './audit-facets.tsx';
import { AuditFilters } from './audit-filters.tsx';
import { type AuditEvent, useAuditEvents, useNewerEvents } from './audit-queries.ts';
import { AuditTools, useRowKeys } from './audit-tools.tsx';
import { actionWords, outcomeTones, ruleIdOf } from './audit-words.ts';
import { EventDialog } from './event-dialog.tsx';
import { useResourceNames } from './resource-names.ts';

const words = auditWords;

export function AuditPage() {
  const search = useSearch({ from: '/audit' });
  const navigate = useNavigate();
  const go = (next: AuditSearch): void => void navigate({ to: '/audit', search: next });
  const events = useAuditEvents(search);
  const nameOf = useResourceNames();
  const items = events.data?.pages.flatMap((page) => page.items) ?? [];
  const seen = events.data?.pages.reduce((sum, page) => sum + page.seen, 0) ?? 0;
  const { event, correlation, ...filters } = search;
  const close = (): void => {
    const { event: _, ...others } = search;
    go(others);
  };
  return (
    <div className={page['page']}>
      <PageHeading>{words.title}</PageHeading>
      <p className={page['lead']}>{words.lead}</p>
      <AuditBroken />
      <AuditFilters key={JSON.stringify(filters)} search={search} onSearch={go} />
      <AuditTools search={search} onSearch={go} />
      {correlation !== undefined && (
        <div className={classes['notice']}>
          <Notice
            tone="info"
            action={
              <Button size="compact-sm" variant="default" onClick={() => go(filters)}>
                {words.clearCorrelation}
              </Button>
            }
          >
            {words.correlation(correlation)} {words.correlationNote(seen)}
          </Notice>
        </div>
      )}
      {events.isPending && <Skeleton height={300} radius="md" aria-label={t.common.loading} />}
      {events.isError && <AuditFailure error={events.error} onRetry={() => void events.refetch()} />}
      {events.data !== undefined && (
        <>
          <AuditFacets items={items} search={search} nameOf={nameOf} onSearch={go} />
          <Newer search={search} newest={items[0]} onShow={() => void events.refetch()} />
          <EventTable items={items} nameOf={nameOf} onOpen={(sequence) => go({ ...search, event: sequence })} />
          <p className={classes['keys']}>{words.keys}</p>
          <Foot
            count={items.length}
            hasMore={events.hasNextPage}
            busy={events.isFetchingNextPage}
            byHand={correlation !== undefined}
            onMore={() => void events.fetchNextPage()}
            onNewer={() => void events.refetch()}
          />
        </>
      )}
      {event !== undefined && <EventDialog sequence={event} onClose={close} onSearch={go} />}
    </div>
  );
}

function AuditFailure({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (error instanceof ApiError && error.status === 404) return <Notice tone="info">{words.off}</Notice>;
  if (error instanceof ApiError && error.status === 403) return <Notice tone="info">{words.denied}</Notice>;
  return <Failure error={error} onRetry={onRetry} />;
}

interface NewerParts {
  readonly search: AuditSearch;
  readonly newest: AuditEvent | undefined;
  readonly onShow: () => void;
}

/** The list does not update by itself: a notice reports newer events. */
function Newer({ search, newest, onShow }: NewerParts) {
  if (!useNewerEvents(search, newest)) return null;
  return (
    <div className={classes['notice']}>
      <Notice
        tone="info"
        action={
          <Button size="compact-sm" variant="default" onClick={onShow}>
            {words.showNewer}
          </Button>
        }
      >
        {words.hasNewer}
      </Notice>
    </div>
  );
}

interface TableParts {
  readonly items: readonly AuditEvent[];
  readonly nameOf: (resourceId: string) => string | null;
  readonly onOpen: (sequence: string) => void;
}

function EventTable({ items, nameOf, onOpen }: TableParts) {
  const body = useRef<HTMLTableSectionElement>(null);
  useRowKeys(body);
  if (items.length === 0) return <Notice tone="calm">{words.none}</Notice>;
  return (
    <table className={table['table']} aria-label={words.title} data-testid="audit-events">
      <thead>
        <tr>
          <th scope="col">{words.columns.when}</th>
          <th scope="col">{words.columns.who}</th>
          <th scope="col">{words.columns.what}</th>
          <th scope="col">{words.columns.on}</th>
          <th scope="col">{words.columns.outcome}</th>
        </tr>
      </thead>
      <tbody ref={body}>
        {items.map((item) => (
          <tr key={item.sequence} className={classes['row']} data-action={item.action} data-outcome={item.outcome}>
            <td>
              {/* Its place is the whole row (audit.module.css): a click anywhere opens the event. */}
              <button type="button" className={classes['open']} data-row onClick={() => onOpen(item.sequence)}>
                {fullTime(item.occurredAt)}
                <span className="sp-hidden"> {words.open(item.sequence)}</span>
              </button>
              <span className={classes['soft']}>
                <Moment at={item.occurredAt} />
              </span>
            </td>
            <td>
              {item.subject.subjectId}
              <span className={classes['soft']}>{item.subject.kind}</span>
            </td>
            <td>
              {actionWords(item.action)}
              <span className={classes['soft']}>{item.action}</span>
            </td>
            <td>
              <Resource id={item.resource.resourceId} name={nameOf(item.resource.resourceId)} />
            </td>
            <td>
              <Tag tone={outcomeTones[item.outcome]} title={words.outcomeHints[item.outcome]}>
                {words.outcomes[item.outcome]}
              </Tag>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The resource of an event, by name where it has one; a rule links to its page. */
function Resource({ id, name }: { id: string; name: string | null }) {
  const ruleId = ruleIdOf(id);
  if (name === null) return id;
  return (
    <>
      {ruleId === null ? (
        name
      ) : (
        <Link to="/rules/$ruleId" params={{ ruleId: String(ruleId) }} className={classes['rule'] ?? ''}>
          {name}
        </Link>
      )}
      <span className={classes['soft']}>{id}</span>
    </>
  );
}

interface FootParts {
  readonly count: number;
  readonly hasMore: boolean;
  readonly busy: boolean;
  /** The next page is loaded by button, not by scrolling. */
  readonly byHand: boolean;
  readonly onMore: () => void;
  readonly onNewer: () => void;
}

/** Older events load when the end of the list is scrolled into view; the button does the same by keyboard. */
function Foot({ count, hasMore, busy, byHand, onMore, onNewer }: FootParts) {
  const place = useRef<HTMLDivElement>(null);
  const more = useRef(onMore);
  more.current = onMore;
  useEffect(() => {
    const element = place.current;
    if (element === null || !hasMore || busy || byHand) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting === true && more.current(), {
      rootMargin: '300px',
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasMore, busy, byHand]);
  return (
    <div ref={place} className={classes['foot']}>
      <span role="status">{words.count(count)}</span>
      <Button size="compact-sm" variant="default" onClick={onNewer}>
        {words.newer}
      </Button>
      {hasMore ? (
        <Button size="compact-sm" variant="default" loading={busy} onClick={onMore}>
          {byHand ? words.searchOn : words.more}
        </Button>
      ) : (
        <span>{words.end}</span>
      )}
    </div>
  );
}
