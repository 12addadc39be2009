/** Takes an alarm out of view: for how long, and why. */
import { Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { alarmWords } from '../strings/alarms.ts';
import { t } from '../strings/index.ts';
import { type AlarmView, useShelve } from './alarm-queries.ts';

const words = alarmWords.shelve;
const reasonLengthMin = 3;
const reasonLengthMax = 500;
const [firstDuration = ''] = Object.keys(words.durations);

export function ShelveDialog({ alarm, onClose }: { alarm: AlarmView; onClose: () => void }) {
  const [seconds, setSeconds] = useState(firstDuration);
  const [reason, setReason] = useState('');
  const shelve = useShelve(alarm.id, () => {
    announce(words.done(alarm.name));
    onClose();
  });
  const isComplete = reason.trim().length >= reasonLengthMin;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isComplete) shelve.mutate({ seconds: Number(seconds), reason: reason.trim() });
  };
  return (
    <Modal opened onClose={onClose} title={words.title(alarm.name)} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm" c="dimmed">
            {words.lead} {t.rules.dialog.audited}
          </Text>
          <div>
            <Text size="sm" fw={500} id="shelve-for">
              {words.duration}
            </Text>
            <SegmentedControl
              aria-labelledby="shelve-for"
              value={seconds}
              onChange={setSeconds}
              data={Object.entries(words.durations).map(([each, label]) => ({ value: each, label }))}
              fullWidth
            />
          </div>
          <TextInput
            data-autofocus
            label={words.reason}
            description={words.reasonHint}
            maxLength={reasonLengthMax}
            required
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          {shelve.isError && <Failure error={shelve.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" disabled={!isComplete} loading={shelve.isPending}>
              {words.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
