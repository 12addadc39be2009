/** Saving the tests of a rule: how many there will be and how many fail, a reason, then one PUT. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { evidenceWords } from '../strings/evidence.ts';
import { t } from '../strings/index.ts';
import { type TestDraft, useStoreTests } from './evidence-queries.ts';

const words = evidenceWords.tests;
const reasonMax = 500;

interface SaveParts {
  readonly ruleId: number;
  /** The one on which the changes were begun. */
  readonly revision: number;
  readonly tests: readonly TestDraft[];
  readonly failed: number;
  readonly onClose: () => void;
  readonly onSaved: (revision: number) => void;
}

export function SaveTestsDialog({ ruleId, revision, tests, failed, onClose, onSaved }: SaveParts) {
  const [reason, setReason] = useState('');
  const store = useStoreTests(ruleId, onSaved);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    store.mutate({ tests, revision, reason });
  };
  return (
    <Modal opened onClose={onClose} title={words.saveTitle} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">
            {words.saveLead(tests.length, failed)} {t.rules.dialog.audited}
          </Text>
          <TextInput
            data-autofocus
            label={words.reason}
            description={words.reasonHint}
            maxLength={reasonMax}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          {store.isError && <Failure error={store.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={store.isPending}>
              {words.save.replace(/\s?…$/, '')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
