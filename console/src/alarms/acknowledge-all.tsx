/** Acknowledges all unacknowledged alarms of a list, as listed when the dialog opened. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { alarmWords } from '../strings/alarms.ts';
import { t } from '../strings/index.ts';
import { useAcknowledgeAll } from './alarm-queries.ts';
import type { AlarmView } from './alarm-words.ts';

const words = alarmWords.acknowledgeAll;

export function AcknowledgeAll({ alarms }: { alarms: readonly AlarmView[] }) {
  const [ids, setIds] = useState<readonly string[] | null>(null);
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={() => setIds(alarms.map(({ id }) => id))}>
        {words.open}
      </Button>
      {ids !== null && <ConfirmDialog ids={ids} onClose={() => setIds(null)} />}
    </>
  );
}

function ConfirmDialog({ ids, onClose }: { ids: readonly string[]; onClose: () => void }) {
  const acknowledge = useAcknowledgeAll((count) => {
    announce(words.done(count));
    onClose();
  });
  return (
    <Modal opened onClose={onClose} title={words.title(ids.length)} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">
          {words.lead} {t.rules.dialog.audited}
        </Text>
        {acknowledge.isError && <Failure error={acknowledge.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button data-autofocus loading={acknowledge.isPending} onClick={() => acknowledge.mutate(ids)}>
            {words.submit}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
