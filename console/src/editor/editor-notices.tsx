/** Notices about the draft: its origin, and that somebody else has saved. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ApiError } from '../../../src/api/client.ts';
import type { ShownRun } from '../live/run-view.ts';
import { Notice } from '../parts/tag.tsx';
import { type StoredRule, useRule } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { contentOf, useDraft, useDraftStore } from './draft-store.ts';
import classes from './editor.module.css';
import { useEditor } from './editor-context.ts';

const words = t.editor;

interface NoticeParts {
  readonly rule: StoredRule;
  readonly run: ShownRun | null;
  readonly onConflict: () => void;
}

export function EditorNotices({ rule, run, onConflict }: NoticeParts) {
  const store = useDraftStore();
  const { isDirty, restored, revision } = useDraft();
  const { readOnly } = useEditor();
  const theirs = rule.revision > revision;
  const isCompact = rule.flow_json === null && 'start_node' in rule.nodes_json;
  const isUndrawable = rule.flow_json !== null && contentOf(rule).flow === null;
  return (
    <div className={classes['notices']}>
      <IfDeleted ruleId={rule.id} />
      {readOnly && <Notice tone="info">{words.readOnly}</Notice>}
      {isCompact && <Notice tone="info">{words.compactOnly}</Notice>}
      {isUndrawable && <Notice tone="warn">{words.undrawable}</Notice>}
      {rule.key !== null && rule.applied_revision !== null && (
        <Notice tone="info">{words.ownedByFile(rule.key)}</Notice>
      )}
      {theirs && (
        <Notice
          tone="warn"
          role="alert"
          action={
            <Button size="compact-sm" variant="default" onClick={onConflict}>
              {words.conflict.look}
            </Button>
          }
        >
          {words.conflict.notice(revision, rule.revision)}
        </Notice>
      )}
      {!theirs && restored && isDirty && (
        <Notice
          tone="info"
          action={
            <Button size="compact-sm" variant="default" onClick={() => store.adopt(contentOf(rule), rule.revision)}>
              {words.discard}
            </Button>
          }
        >
          {words.restored}
        </Notice>
      )}
      {run?.kind === 'history' && run.record.rule_revision !== rule.revision && (
        <Notice
          tone="info"
          action={
            <Link
              to="/rules/$ruleId/revisions"
              params={{ ruleId: String(rule.id) }}
              search={{ revision: run.record.rule_revision }}
            >
              {words.revisions}
            </Link>
          }
        >
          {t.runs.otherRevision(run.record.rule_revision)}
        </Notice>
      )}
    </div>
  );
}

function IfDeleted({ ruleId }: { ruleId: number }) {
  const { error } = useRule(ruleId);
  if (!(error instanceof ApiError && error.status === 404)) return null;
  return (
    <Notice tone="warn" role="alert">
      {words.deleted}
    </Notice>
  );
}
