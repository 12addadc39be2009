/** A time range in the past: a preset that ends now, or two times in the browser's time zone. */
import { Button, Group, TextInput } from '@mantine/core';
import { nowMs } from '../clock.ts';
import { localTimeOf, utcOf } from '../parts/local-time.ts';
import { evidenceWords } from '../strings/evidence.ts';

const words = evidenceWords.span;
const presetMs = { hour: 3_600_000, day: 86_400_000, week: 604_800_000, month: 2_592_000_000 } as const;
const presets = ['hour', 'day', 'week', 'month'] as const;

/** RFC 3339 in UTC. */
export interface TimeRange {
  readonly from: string;
  readonly to: string;
}

export function lastHour(): TimeRange {
  return upToNow(presetMs.hour);
}

export function isOrdered({ from, to }: TimeRange): boolean {
  return Date.parse(from) < Date.parse(to);
}

export function TimeRangeFields({ range, onRange }: { range: TimeRange; onRange: (range: TimeRange) => void }) {
  return (
    <div>
      <Group gap="xs" role="group" aria-label={words.label} mb="xs">
        {presets.map((name) => (
          <Button key={name} size="compact-sm" variant="default" onClick={() => onRange(upToNow(presetMs[name]))}>
            {words.presets[name]}
          </Button>
        ))}
      </Group>
      <Group align="start">
        <MomentField label={words.from} value={range.from} onChange={(from) => onRange({ ...range, from })} />
        <MomentField
          label={words.to}
          value={range.to}
          error={isOrdered(range) ? undefined : words.wrong}
          onChange={(to) => onRange({ ...range, to })}
        />
      </Group>
    </div>
  );
}

interface MomentParts {
  readonly label: string;
  readonly value: string;
  readonly error?: string | undefined;
  readonly onChange: (wire: string) => void;
}

function MomentField({ label, value, error, onChange }: MomentParts) {
  return (
    <TextInput
      type="datetime-local"
      step={1}
      label={label}
      value={localTimeOf(value)}
      error={error}
      onChange={(event) => onChange(utcOf(event.currentTarget.value) ?? value)}
    />
  );
}

/** To the full second. */
function upToNow(ms: number): TimeRange {
  const endMs = Math.floor(nowMs() / 1000) * 1000;
  return { from: new Date(endMs - ms).toISOString(), to: new Date(endMs).toISOString() };
}
