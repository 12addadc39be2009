/** Takes an actuator in hand: a value, for how long, and why. */
import { Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { shownNumber } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';
import { type GrantEntry, type PointEntry, useOverride, useRelease } from './point-queries.ts';

const words = pointWords.override;
const reasonLengthMin = 3;
const reasonLengthMax = 500;
const [firstDuration = ''] = Object.keys(words.durations);

export function OverrideDialog({ point, onClose }: { point: PointEntry; onClose: () => void }) {
  const name = `${point.instance_name} ${point.name}`;
  const [value, setValue] = useState<number | null>(point.value);
  const [seconds, setSeconds] = useState(firstDuration);
  const [reason, setReason] = useState('');
  const override = useOverride(point, () => {
    announce(words.done(name));
    onClose();
  });
  const isComplete = value !== null && reason.trim().length >= reasonLengthMin;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (value !== null && isComplete) override.mutate({ value, seconds: Number(seconds), reason: reason.trim() });
  };
  return (
    <Modal opened onClose={onClose} title={words.title(name)} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm" c="dimmed">
            {words.lead} {t.rules.dialog.audited}
          </Text>
          <NumberField
            data-autofocus
            label={words.value(point.unit)}
            description={words.range(shownNumber(point.min), shownNumber(point.max))}
            value={value}
            onChange={setValue}
          />
          <div>
            <Text size="sm" fw={500} id="override-for">
              {words.duration}
            </Text>
            <SegmentedControl
              aria-labelledby="override-for"
              value={seconds}
              onChange={setSeconds}
              data={Object.entries(words.durations).map(([each, label]) => ({ value: each, label }))}
              fullWidth
            />
          </div>
          <TextInput
            label={words.reason}
            description={words.reasonHint}
            maxLength={reasonLengthMax}
            required
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          {override.isError && <Failure error={override.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" disabled={!isComplete} loading={override.isPending}>
              {words.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

export function ReleaseDialog({ grant, onClose }: { grant: GrantEntry; onClose: () => void }) {
  const release = useRelease(() => {
    announce(words.released);
    onClose();
  });
  return (
    <Modal opened onClose={onClose} title={words.releaseTitle} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">{words.releaseLead(grant.reason)}</Text>
        {release.isError && <Failure error={release.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button data-autofocus loading={release.isPending} onClick={() => release.mutate(grant.override_id)}>
            {words.release}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
