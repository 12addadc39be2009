/** The change behind an event: the resulting revision of the rule, compared by meaning with the one before [rules §1.5]. */
import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { revisions } from '../../../src/api/revisions.ts';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { Difference } from '../revisions/difference-view.tsx';
import { useDifference } from '../revisions/revision-queries.ts';
import { call } from '../server/calls.ts';
import { auditWords } from '../strings/audit.ts';
import { t } from '../strings/index.ts';
import classes from './audit.module.css';

const words = auditWords.changes;
const pageSize = '100';
/** Revisions are searched from the newest back. */
const pagesMax = 10;

/** The revision created by the call with this correlation id, and the one before it; null if not found. */
function useRevisionOf(ruleId: number, correlationId: string) {
  return useQuery({
    queryKey: ['rule', ruleId, 'revision-of', correlationId],
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async () => {
      let before: number | null = null;
      let newer: { readonly revision: number } | null = null;
      for (let page = 0; page < pagesMax; page++) {
        const query: Record<string, string> = {
          limit: pageSize,
          ...(before === null ? {} : { before: String(before) }),
        };
        const { list, next_before: next } = (await call(revisions.list, { params: { id: String(ruleId) }, query })).data
          .data;
        for (const entry of list) {
          if (newer !== null) return { to: newer.revision, from: entry.revision };
          if (entry.correlation_id === correlationId) newer = entry;
        }
        before = next;
        if (before === null) break;
      }
      return newer === null ? null : { to: newer.revision, from: null };
    },
  });
}

interface ChangesParts {
  readonly ruleId: number;
  readonly correlationId: string;
  readonly catalogue: ConsoleCatalogue | null;
}

export function EventChanges({ ruleId, correlationId, catalogue }: ChangesParts) {
  const found = useRevisionOf(ruleId, correlationId);
  if (found.isPending) return <Skeleton height={60} aria-label={t.common.loading} />;
  // A run by hand, for instance, changes nothing.
  if (found.isError || found.data === null) return null;
  const { from, to } = found.data;
  return (
    <section aria-label={words.title} className={classes['changes']} data-testid="event-changes">
      <h3>{words.title}</h3>
      <p>
        <Link to="/rules/$ruleId/revisions" params={{ ruleId: String(ruleId) }} className={classes['rule'] ?? ''}>
          {words.revision(to)}
        </Link>
      </p>
      {from === null ? (
        <Text size="sm">{words.first}</Text>
      ) : (
        <RevisionChanges ruleId={ruleId} from={from} to={to} catalogue={catalogue} />
      )}
    </section>
  );
}

function RevisionChanges({
  ruleId,
  from,
  to,
  catalogue,
}: Pick<ChangesParts, 'ruleId' | 'catalogue'> & { readonly from: number; readonly to: number }) {
  const difference = useDifference(ruleId, from, to);
  if (difference.data === undefined) return <Skeleton height={60} aria-label={t.common.loading} />;
  return <Difference difference={difference.data} catalogue={catalogue} />;
}
