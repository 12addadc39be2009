/** A dialog for temporary settings with a reason: an override, a limit, a shelved alarm. */
import { Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { reasonLengthMax, reasonLengthMin } from '../../../src/api/wire.ts';
import { nowMs } from '../clock.ts';
import { Failure } from '../parts/failure.tsx';
import { t } from '../strings/index.ts';
import { pointWords } from '../strings/points.ts';

const words = pointWords.override;
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

export interface TimedOrder {
  readonly seconds: number;
  readonly reason: string;
}

interface TimedParts {
  readonly title: string;
  readonly lead: string;
  /** Seconds by label. */
  readonly durations: Readonly<Record<string, string>>;
  readonly durationLabel: string;
  readonly reasonHint: string;
  readonly submit: string;
  /** Whether the fields above are filled in. */
  readonly ready?: boolean;
  readonly work: { readonly isPending: boolean; readonly error: Error | null };
  readonly onSubmit: (order: TimedOrder) => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

export function TimedDialog({ title, lead, ready = true, work, onSubmit, onClose, children, ...texts }: TimedParts) {
  const [seconds, setSeconds] = useState(Object.keys(texts.durations)[0] ?? '');
  const [end, setEnd] = useState('');
  const [reason, setReason] = useState('');
  const isComplete =
    ready && reason.trim().length >= reasonLengthMin && (seconds !== 'until' || secondsUntil(end) !== null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const chosen = seconds === 'until' ? secondsUntil(end) : Number(seconds);
    if (isComplete && chosen !== null) onSubmit({ seconds: chosen, reason: reason.trim() });
  };
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm" c="dimmed">
            {lead} {t.rules.dialog.audited}
          </Text>
          {children}
          <DurationField
            label={texts.durationLabel}
            durations={texts.durations}
            seconds={seconds}
            onSeconds={setSeconds}
            end={end}
            onEnd={setEnd}
          />
          <TextInput
            label={words.reason}
            description={texts.reasonHint}
            maxLength={reasonLengthMax}
            required
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          {work.error !== null && <Failure error={work.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" disabled={!isComplete} loading={work.isPending}>
              {texts.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface DurationParts {
  readonly label: string;
  readonly durations: TimedParts['durations'];
  /** Seconds as text, or `until`. */
  readonly seconds: string;
  readonly onSeconds: (seconds: string) => void;
  readonly end: string;
  readonly onEnd: (end: string) => void;
}

function DurationField({ label, durations, seconds, onSeconds, end, onEnd }: DurationParts) {
  const choices = [...Object.entries(durations), ['until', words.until] as const];
  return (
    <>
      <div>
        <Text size="sm" fw={500} id="holds-for">
          {label}
        </Text>
        <SegmentedControl
          aria-labelledby="holds-for"
          size="xs"
          value={seconds}
          onChange={onSeconds}
          data={choices.map(([value, text]) => ({ value, label: text }))}
          fullWidth
        />
      </div>
      {seconds === 'until' && (
        <TextInput
          type="datetime-local"
          step={1}
          label={words.untilTime(here)}
          description={words.untilHint}
          required
          value={end}
          onChange={(event) => onEnd(event.currentTarget.value)}
        />
      )}
    </>
  );
}

/** Whole seconds until a local time; null for a past or invalid one. The service refuses one that is too far ahead. */
function secondsUntil(local: string): number | null {
  const seconds = Math.round((new Date(local).getTime() - nowMs()) / 1000);
  return seconds > 0 ? seconds : null;
}
