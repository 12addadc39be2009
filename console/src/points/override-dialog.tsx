/** Overrides or limits an actuator: a value or bounds, for how long, and why; and releases it. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { shownNumber, withUnit } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { Notice } from '../parts/tag.tsx';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';
import { heldByLimit } from './held-by-limit.ts';
import { type GrantEntry, type PointEntry, useLimit, useOverride, useRelease } from './point-queries.ts';
import { TimedDialog } from './timed-dialog.tsx';

const words = pointWords.override;
const timed = { durations: words.durations, durationLabel: words.duration, reasonHint: words.reasonHint };

interface DialogParts {
  readonly point: PointEntry;
  readonly onClose: () => void;
}

export function OverrideDialog({ point, onClose }: DialogParts) {
  const name = `${point.instance_name} ${point.name}`;
  const [value, setValue] = useState<number | null>(point.value);
  const override = useOverride(point, () => {
    announce(words.done(name));
    onClose();
  });
  return (
    <TimedDialog
      {...timed}
      title={words.title(name)}
      lead={words.lead}
      submit={words.submit}
      ready={value !== null}
      work={override}
      onSubmit={(order) => value !== null && override.mutate({ ...order, value })}
      onClose={onClose}
    >
      <NumberField
        data-autofocus
        label={words.value(point.unit)}
        description={words.range(shownNumber(point.min), shownNumber(point.max))}
        value={value}
        onChange={setValue}
      />
    </TimedDialog>
  );
}

export function LimitDialog({ point, onClose }: DialogParts) {
  const name = `${point.instance_name} ${point.name}`;
  const [min, setMin] = useState<number | null>(null);
  const [max, setMax] = useState<number | null>(null);
  const limit = useLimit(point, () => {
    announce(words.limited(name));
    onClose();
  });
  const held = heldByLimit({ min, max }, point);
  const bounds = { ...(min === null ? {} : { min }), ...(max === null ? {} : { max }) };
  return (
    <TimedDialog
      {...timed}
      title={words.limitTitle(name)}
      lead={words.limitLead}
      submit={words.limit}
      ready={min !== null || max !== null}
      work={limit}
      onSubmit={(order) => limit.mutate({ ...order, ...bounds })}
      onClose={onClose}
    >
      <Group grow align="flex-start">
        <NumberField data-autofocus label={words.least(point.unit)} value={min} onChange={setMin} />
        <NumberField label={words.most(point.unit)} value={max} onChange={setMax} />
      </Group>
      <Text size="xs" c="dimmed">
        {words.oneBound} {words.range(shownNumber(point.min), shownNumber(point.max))}
      </Text>
      {held !== undefined && <Notice tone="warn">{words.limitHolds(withUnit(held, point.unit))}</Notice>}
    </TimedDialog>
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
