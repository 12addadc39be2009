/** The page of one rule: loads it, with a draft stored in this browser, and opens the editor. */
import { Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ApiError } from '../../../src/api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/tag.tsx';
import { type StoredRule, useRule, useSite } from '../server/queries.ts';
import { useCatalogue } from '../server/use-catalogue.ts';
import { useSession } from '../session/session.ts';
import { t } from '../strings/index.ts';
import { type DraftOwner, keptDraft } from './draft-place.ts';
import { contentOf, createDraftStore, type DraftStore, draftContext } from './draft-store.ts';
import { Editor } from './editor.tsx';
import type { ConsoleCatalogue } from './site-catalogue.ts';

const words = t.editor;

export function RulePage() {
  const { ruleId: text } = useParams({ from: '/rules/$ruleId' });
  const session = useSession();
  // The subject that opened the page: after another sign-in by the same subject, the page continues as it is.
  const [subject] = useState(session.status === 'out' ? '' : session.facts.subject);
  const ruleId = Number(text);
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return <Notice tone="warn">{words.badId}</Notice>;
  return <RuleLoader key={ruleId} owner={{ ruleId, subject }} />;
}

function RuleLoader({ owner }: { owner: DraftOwner }) {
  const { ruleId, subject } = owner;
  const rule = useRule(ruleId);
  const site = useSite();
  const catalogue = useCatalogue();
  const kept = useQuery({
    queryKey: ['draft', ruleId, subject],
    queryFn: () => keptDraft(owner),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const failed = [rule, site].find(({ data, isError }) => isError && data === undefined);
  if (failed !== undefined)
    return (
      <Stack p="lg" maw={640}>
        {failed.error instanceof ApiError && failed.error.status === 404 ? (
          <Notice tone="warn">{words.notFound}</Notice>
        ) : (
          <Failure error={failed.error} onRetry={() => void failed.refetch()} />
        )}
      </Stack>
    );
  if (rule.data === undefined || catalogue === null || kept.data === undefined)
    return (
      <Stack p="lg">
        <Skeleton height={400} aria-label={t.common.loading} />
      </Stack>
    );
  return <DraftOf owner={owner} rule={rule.data} kept={kept.data} catalogue={catalogue} />;
}

interface DraftParts {
  readonly owner: DraftOwner;
  readonly rule: StoredRule;
  readonly kept: Awaited<ReturnType<typeof keptDraft>>;
  readonly catalogue: ConsoleCatalogue;
}

/** The draft is created once from the rule at page load; later versions of the rule are passed to it. */
function DraftOf({ owner, rule, kept, catalogue: given }: DraftParts) {
  const [store] = useState<DraftStore>(() => createDraftStore(owner, rule, kept));
  const [catalogue] = useState(given);
  useEffect(() => store.noteStored(contentOf(rule), rule.revision), [store, rule]);
  useEffect(() => {
    const onHide = (): void => store.leave();
    window.addEventListener('pagehide', onHide);
    const leaveTabs = store.share();
    return () => {
      window.removeEventListener('pagehide', onHide);
      leaveTabs();
    };
  }, [store]);
  return (
    <draftContext.Provider value={store}>
      <Editor rule={rule} catalogue={catalogue} />
    </draftContext.Provider>
  );
}
