/** Time ranges, export, and keyboard navigation through the events. */
import { Button, Group } from '@mantine/core';
import { type RefObject, useEffect, useState } from 'react';
import type { AuditSearch } from '../addresses.ts';
import { nowMs } from '../clock.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { auditWords } from '../strings/audit.ts';
import { exportEvents } from './export-events.ts';

const words = auditWords;
const hourMs = 3_600_000;
const spans = { hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs } as const;

interface ToolParts {
  readonly search: AuditSearch;
  readonly onSearch: (next: AuditSearch) => void;
}

export function AuditTools({ search, onSearch }: ToolParts) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const { event: _, correlation: __, to: ___, ...filters } = search;
  const save = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      const { count, isWhole } = await exportEvents(search);
      announce(isWhole ? words.exported(count) : words.exportedPart(count));
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Group gap="xs" mb="sm">
        {(['hour', 'day', 'week'] as const).map((span) => (
          <Button
            key={span}
            size="compact-sm"
            variant="default"
            onClick={() => onSearch({ ...filters, from: new Date(nowMs() - spans[span]).toISOString() })}
          >
            {words.spans[span]}
          </Button>
        ))}
        <Button size="compact-sm" variant="default" loading={isBusy} onClick={() => void save()}>
          {words.export}
        </Button>
      </Group>
      {failure !== null && <Failure error={failure} onRetry={() => void save()} />}
    </>
  );
}

/** J and K move from row to row, outside of fields and dialogs. */
export function useRowKeys(body: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKeyDown = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent): void => {
      const step = key === 'j' ? 1 : key === 'k' ? -1 : 0;
      if (step === 0 || ctrlKey || metaKey || altKey) return;
      if (target instanceof Element && target.closest('input, textarea, [role="dialog"]') !== null) return;
      const rows = [...(body.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
      const at = rows.findIndex((row) => row === document.activeElement);
      const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
      next?.focus();
      next?.scrollIntoView({ block: 'nearest' });
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [body]);
}
