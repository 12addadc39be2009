/**
 * Saving: shows the changes against the stored version, then sends one PUT with the base revision of the draft.
 * If that is no longer the stored one (409), the dialog offers the other version; neither is lost.
 */
import { Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useMemo } from 'react';
import * as Type from 'typebox';
import { Check } from 'typebox/schema';
import { automation } from '../../../src/api/automation.ts';
import { ApiError } from '../../../src/api/client.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/tag.tsx';
import { Difference } from '../revisions/difference-view.tsx';
import { call } from '../server/calls.ts';
import { queryClient, refreshRule, type StoredRule } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { contentDifference } from './draft-difference.ts';
import type { Content } from './draft-history.ts';
import { type DraftState, useDraft, useDraftStore } from './draft-store.ts';
import { useEditor } from './editor-context.ts';

const words = t.editor.saveDialog;

const issueList = Type.Object({
  issues: Type.Array(Type.Object({ message: Type.String(), node_id: Type.Optional(Type.String()) })),
});

/** Only changed members are sent: the service validates and records just those. */
function updateOf(base: Content, next: Content) {
  const changed = (name: keyof Content): boolean => JSON.stringify(base[name]) !== JSON.stringify(next[name]);
  return {
    ...(changed('name') ? { name: next.name } : {}),
    ...(changed('description') ? { description: next.description } : {}),
    ...(changed('priority') ? { priority: next.priority } : {}),
    ...(changed('cooldown_ms') ? { cooldown_ms: next.cooldown_ms } : {}),
    ...(changed('trigger_config') ? { trigger_config: next.trigger_config } : {}),
    ...(changed('flow') && next.flow !== null ? { flow_json: next.flow } : {}),
  };
}

interface SaveParts {
  readonly rule: StoredRule;
  readonly onClose: () => void;
  readonly onConflict: () => void;
}

export function SaveDialog({ rule, onClose, onConflict }: SaveParts) {
  const store = useDraftStore();
  const state = useDraft();
  const content = state.history.present;
  const { catalogue } = useEditor();
  const difference = useMemo(() => contentDifference(state.base, content, catalogue), [state.base, content, catalogue]);
  const save = useMutation({
    mutationFn: () => storeContent(store.ruleId, state, content),
    onSuccess: ({ revision, warnings, audit }) => {
      store.saved(content, revision);
      store.flush();
      announce(t.editor.saved(revision) + (audit === 'incomplete' ? ` ${t.rules.done.auditIncomplete}` : ''), warnings);
      void refreshRule(store.ruleId);
      onClose();
    },
    onError: (error) => {
      if (!(error instanceof ApiError) || error.code !== 'revision-conflict') return;
      void queryClient.invalidateQueries({ queryKey: ['rule', store.ruleId] });
      onConflict();
    },
  });
  const issues =
    save.error instanceof ApiError && Check(issueList, save.error.details) ? save.error.details.issues : [];
  return (
    <Modal opened onClose={onClose} size="lg" title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">{words.lead(state.revision)}</Text>
        <Difference difference={difference} catalogue={catalogue} sides={t.editor.difference} />
        <Text size="sm" c="dimmed">
          {rule.enabled ? words.enabled : words.disabled} {t.rules.dialog.audited}
        </Text>
        {save.isError && issues.length === 0 && <Failure error={save.error} />}
        {issues.length > 0 && (
          <Notice tone="bad" role="alert">
            {words.refused}
            <List size="sm">
              {issues.map(({ message, node_id: node }, index) => (
                <List.Item key={`${index} ${message}`}>
                  {node === undefined ? '' : `${node}: `}
                  {message}
                </List.Item>
              ))}
            </List>
          </Notice>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button data-autofocus loading={save.isPending} onClick={() => save.mutate()}>
            {words.confirm}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

async function storeContent(ruleId: number, { base, revision }: DraftState, content: Content) {
  const reply = await call(automation.update, {
    params: { id: String(ruleId) },
    body: updateOf(base, content),
    confirmed: true,
    expectedRevision: revision,
  });
  return { revision: reply.revision ?? revision + 1, warnings: reply.data.data.warnings, audit: reply.audit };
}
