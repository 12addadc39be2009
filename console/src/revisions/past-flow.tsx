/** The flow of a past run in its own revision: read-only, with only that run drawn on it. */
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { revisions } from '../../../src/api/revisions.ts';
import { beginHistory } from '../editor/draft-history.ts';
import { contentOf, type DraftStore, draftContext } from '../editor/draft-store.ts';
import { editorContext, useEditor } from '../editor/editor-context.ts';
import { checkContent } from '../editor/problems.ts';
import { runContext } from '../live/run-view.ts';
import { Failure } from '../parts/failure.tsx';
import { call } from '../server/calls.ts';
import type { StoredRule } from '../server/queries.ts';
import { t } from '../strings/index.ts';

interface PastFlowParts {
  readonly ruleId: number;
  readonly revision: number;
  /** Provides the draft that the canvas draws. */
  readonly children: ReactNode;
}

export function PastFlow({ ruleId, revision, children }: PastFlowParts) {
  const params = { id: String(ruleId), revision: String(revision) };
  const past = useQuery({
    queryKey: ['rule', ruleId, 'revision', revision],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await call(revisions.get, { params })).data.data.document,
  });
  if (past.isPending) return <Skeleton height={400} aria-label={t.common.loading} />;
  if (past.data !== undefined) return <Past rule={past.data}>{children}</Past>;
  // A run of another revision is not drawn on this one.
  return (
    <>
      <Failure error={past.error} onRetry={() => void past.refetch()} />
      <runContext.Provider value={null}>{children}</runContext.Provider>
    </>
  );
}

function Past({ rule, children }: { rule: StoredRule; children: ReactNode }) {
  const editor = useEditor();
  const store = useMemo(() => unchanging(rule), [rule]);
  const view = useMemo(() => {
    const { problems, topology } = checkContent(contentOf(rule), editor.catalogue);
    return { ...editor, problems, topology, readOnly: true };
  }, [rule, editor]);
  return (
    <draftContext.Provider value={store}>
      <editorContext.Provider value={view}>{children}</editorContext.Provider>
    </draftContext.Provider>
  );
}

/** A draft that is not edited. */
function unchanging(rule: StoredRule): DraftStore {
  const content = contentOf(rule);
  const state = {
    history: beginHistory(content),
    base: content,
    revision: rule.revision,
    isDirty: false,
    restored: false,
  };
  const nothing = (): void => undefined;
  return {
    ruleId: rule.id,
    state: () => state,
    subscribe: () => nothing,
    edit: nothing,
    editFlow: nothing,
    undo: nothing,
    redo: nothing,
    saved: nothing,
    rebase: nothing,
    adopt: nothing,
    noteStored: nothing,
    flush: nothing,
    leave: nothing,
    share: () => nothing,
  };
}
