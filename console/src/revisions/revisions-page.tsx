/** The revisions of a rule, also of a deleted one: author, time and meaning of each change, and restore. */
import { Button, Group, Skeleton, Text, Title } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import { Notice, Tag } from '../parts/tag.tsx';
import { useCatalogue } from '../server/use-catalogue.ts';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { t } from '../strings/index.ts';
import { revisionWords } from '../strings/revisions.ts';
import { Difference } from './difference-view.tsx';
import { DuplicateDialog, RestoreDialog } from './revision-dialogs.tsx';
import { type RevisionView, useDifference, useRevisions } from './revision-queries.ts';
import classes from './revisions.module.css';

const words = revisionWords;

export function RevisionsPage() {
  const { ruleId } = useParams({ from: '/rules/$ruleId/revisions' });
  const id = Number(ruleId);
  const revisions = useRevisions(id);
  const list = revisions.data?.pages.flatMap(({ list: part }) => part) ?? [];
  const { revision: asked } = useSearch({ from: '/rules/$ruleId/revisions' });
  const newest = list[0];
  const chosen = list.find(({ revision }) => revision === asked) ?? newest;
  if (newest === undefined || chosen === undefined)
    return (
      <div className={page['page']}>
        {revisions.isError ? (
          <Failure error={revisions.error} onRetry={() => void revisions.refetch()} />
        ) : (
          <Skeleton height={200} radius="md" aria-label={t.common.loading} />
        )}
      </div>
    );
  const isDeleted = newest.action === 'automation.rule.delete';
  return (
    <div className={page['page']}>
      <PageHeading>{words.title(newest.name)}</PageHeading>
      <p className={page['lead']}>{words.lead}</p>
      {isDeleted ? (
        <Notice tone="warn">{words.deleted}</Notice>
      ) : (
        <Link to="/rules/$ruleId" params={{ ruleId }}>
          {words.back}
        </Link>
      )}
      <div className={classes['columns']}>
        <nav aria-label={words.list}>
          <ul className={classes['list']} data-testid="revisions">
            {list.map((revision) => (
              <li key={revision.revision}>
                <RevisionLink
                  ruleId={ruleId}
                  revision={revision}
                  isChosen={revision === chosen}
                  isNow={revision === newest && !isDeleted}
                />
              </li>
            ))}
          </ul>
          {revisions.hasNextPage && (
            <Button
              variant="default"
              loading={revisions.isFetchingNextPage}
              onClick={() => void revisions.fetchNextPage()}
            >
              {words.more}
            </Button>
          )}
        </nav>
        <Chosen
          key={chosen.revision}
          ruleId={id}
          chosen={chosen}
          newest={newest}
          before={list[list.indexOf(chosen) + 1]}
          isDeleted={isDeleted}
        />
      </div>
    </div>
  );
}

function changeText({ action, restored_from: from }: RevisionView): string {
  const names: Readonly<Record<string, string>> = words.changes;
  const name = action === null ? '' : (names[action.split('.').at(-1) ?? ''] ?? action);
  return from === null ? name : `${name} ${words.restoredFrom(from)}`;
}

function RevisionLink({
  ruleId,
  revision,
  isChosen,
  isNow,
}: {
  ruleId: string;
  revision: RevisionView;
  isChosen: boolean;
  isNow: boolean;
}) {
  return (
    <Link
      to="/rules/$ruleId/revisions"
      params={{ ruleId }}
      search={{ revision: revision.revision }}
      replace
      className={classes['revision'] ?? ''}
      aria-current={isChosen ? 'true' : undefined}
      data-revision={revision.revision}
    >
      <span>
        {words.revision(revision.revision)}, {changeText(revision)} {isNow && <Tag tone="calm">{words.now}</Tag>}
      </span>
      <span className={classes['soft']}>
        <Moment at={revision.at} /> · {revision.author?.id ?? words.unknownAuthor}
      </span>
      {revision.reason !== null && revision.reason !== '' && <span className={classes['soft']}>{revision.reason}</span>}
    </Link>
  );
}

interface ChosenParts {
  readonly ruleId: number;
  readonly chosen: RevisionView;
  readonly newest: RevisionView;
  /** The revision before the chosen one; undefined if it is not loaded. */
  readonly before: RevisionView | undefined;
  readonly isDeleted: boolean;
}

function Chosen({ ruleId, chosen, newest, before, isDeleted }: ChosenParts) {
  const [dialog, setDialog] = useState<'restore' | 'duplicate' | null>(null);
  const session = useSession();
  const navigate = useNavigate();
  const mayChange = session.status !== 'out' && mayManage(session.facts.role);
  const close = (): void => setDialog(null);
  const restoredTo = (): void => {
    close();
    void navigate({ to: '/rules/$ruleId/revisions', params: { ruleId: String(ruleId) }, search: {}, replace: true });
  };
  const canRestore = isDeleted || chosen.revision !== newest.revision;
  return (
    <section className={classes['chosen']} data-testid="revision">
      <Title order={2} size="h4">
        {words.revision(chosen.revision)}
      </Title>
      <Group>
        {mayChange && canRestore && <Button onClick={() => setDialog('restore')}>{words.restore}</Button>}
        {mayChange && !isDeleted && chosen.revision === newest.revision && (
          <Button variant="default" onClick={() => setDialog('duplicate')}>
            {words.duplicate}
          </Button>
        )}
        {chosen.correlation_id !== null && (
          <Link to="/audit" search={{ correlation: chosen.correlation_id }}>
            {words.audit}
          </Link>
        )}
      </Group>
      {before === undefined ? (
        <Text size="sm">{words.first}</Text>
      ) : (
        <ChangesSince ruleId={ruleId} from={before.revision} to={chosen.revision} />
      )}
      {dialog === 'restore' && (
        <RestoreDialog
          ruleId={ruleId}
          revision={chosen.revision}
          newest={newest.revision}
          isDeleted={isDeleted}
          isEnabled={newest.enabled}
          onClose={restoredTo}
        />
      )}
      {dialog === 'duplicate' && <DuplicateDialog ruleId={ruleId} name={newest.name} onClose={close} />}
    </section>
  );
}

function ChangesSince({ ruleId, from, to }: { ruleId: number; from: number; to: number }) {
  const difference = useDifference(ruleId, from, to);
  const catalogue = useCatalogue();
  return (
    <>
      <Text size="sm" c="dimmed">
        {words.against(from)}
      </Text>
      {difference.isPending && <Skeleton height={80} radius="md" aria-label={t.common.loading} />}
      {difference.isError && <Failure error={difference.error} onRetry={() => void difference.refetch()} />}
      {difference.data !== undefined && <Difference difference={difference.data} catalogue={catalogue} />}
    </>
  );
}
