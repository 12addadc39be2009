/** Restoring a revision and copying a rule, each with a dialog that explains the effect. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { nameMax } from '../../../src/api/rule-limits.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/tag.tsx';
import { t } from '../strings/index.ts';
import { revisionWords } from '../strings/revisions.ts';
import { Difference } from './difference-view.tsx';
import { useDifference, useDuplicate, useRestore } from './revision-queries.ts';

const words = revisionWords;
const reasonMax = 500;

interface RestoreParts {
  readonly ruleId: number;
  readonly revision: number;
  /** The newest one, which the restored one is compared with. */
  readonly newest: number;
  readonly isDeleted: boolean;
  readonly isEnabled: boolean;
  readonly onClose: () => void;
}

export function RestoreDialog({ ruleId, revision, newest, isDeleted, isEnabled, onClose }: RestoreParts) {
  const [reason, setReason] = useState('');
  const difference = useDifference(ruleId, newest, revision);
  const leavesShadow =
    isEnabled && difference.data?.settings.some(({ field, after }) => field === 'mode' && after === 'live') === true;
  const restore = useRestore(ruleId, newest, (made) => {
    announce(words.restored(made.revision), made.warnings);
    onClose();
  });
  return (
    <Dialog
      title={words.restoreTitle(revision)}
      lead={isDeleted ? words.restoreDeleted(revision) : words.restoreLead(revision)}
      submit={words.restore.replace(/\s?…$/, '')}
      work={restore}
      disabled={false}
      onSubmit={() => restore.mutate({ revision, reason })}
      onClose={onClose}
    >
      {leavesShadow && (
        <Notice tone="warn" role="alert">
          {words.leavesShadow}
        </Notice>
      )}
      {difference.data !== undefined && <Difference difference={difference.data} catalogue={null} />}
      <TextInput
        label={words.reason}
        description={words.reasonHint}
        maxLength={reasonMax}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </Dialog>
  );
}

export function DuplicateDialog({ ruleId, name, onClose }: { ruleId: number; name: string; onClose: () => void }) {
  const [copy, setCopy] = useState(words.copyName(name).slice(0, nameMax));
  const navigate = useNavigate();
  const duplicate = useDuplicate(ruleId, ({ id, name: made }) => {
    announce(words.duplicated(made));
    onClose();
    void navigate({ to: '/rules/$ruleId', params: { ruleId: String(id) } });
  });
  return (
    <Dialog
      title={words.duplicateTitle}
      lead={words.duplicateLead}
      submit={words.duplicate.replace(/\s?…$/, '')}
      work={duplicate}
      disabled={copy.trim() === ''}
      onSubmit={() => duplicate.mutate(copy.trim())}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        label={words.name}
        maxLength={nameMax}
        value={copy}
        onChange={(event) => setCopy(event.currentTarget.value)}
      />
    </Dialog>
  );
}

interface DialogParts {
  readonly title: string;
  readonly lead: string;
  readonly submit: string;
  readonly work: Pick<UseMutationResult, 'isPending' | 'isError' | 'error'>;
  readonly disabled: boolean;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

function Dialog({ title, lead, submit, work, disabled, onSubmit, onClose, children }: DialogParts) {
  return (
    <Modal opened onClose={onClose} size="lg" title={title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">{lead}</Text>
        {children}
        <Text size="sm" c="dimmed">
          {t.rules.dialog.audited}
        </Text>
        {work.isError && <Failure error={work.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button loading={work.isPending} disabled={disabled} onClick={onSubmit}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
