/** A button in the header of a rule with the reason why it is not running now, and the comparisons of its last decisions. */
import { Popover, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { operandsOf, switchDetails } from '../live/run-view.ts';
import type { RunRecord } from '../live/stream.ts';
import { useNowMs } from '../parts/moment.tsx';
import { Tag, type Tone } from '../parts/tag.tsx';
import { whyNot } from '../rules/why-not.ts';
import { type ShownStatus, useRuleName } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { drawnFlow, useDraft } from './draft-store.ts';
import classes from './editor.module.css';
import { useEditor } from './editor-context.ts';
import { entriesOf, type FlowDocument, textOf } from './flow-document.ts';
import { nodeTitle } from './node-names.ts';
import { pointLabel } from './site-catalogue.ts';

interface ChipParts {
  readonly status: ShownStatus;
  readonly text: string;
  readonly tone: Tone;
  /** The last run, if known. */
  readonly record: RunRecord | undefined;
}

export function WhyNotChip({ status, text, tone, record }: ChipParts) {
  const { catalogue } = useEditor();
  const { history } = useDraft();
  const nowMs = useNowMs();
  const nameOfRule = useRuleName();
  const [isOpen, setOpen] = useState(false);
  const lines = whyNot(status, {
    nameOfRule,
    nowMs,
    nameOfPoint: (ref) => {
      const point = catalogue.point(ref);
      return point === undefined ? undefined : { label: pointLabel(point), unit: point.unit };
    },
  });
  const decisions = record === undefined ? [] : decisionsOf(record, drawnFlow(history.present));
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" width={420} withinPortal>
      <Popover.Target>
        <UnstyledButton
          className={classes['state'] ?? ''}
          aria-expanded={isOpen}
          aria-label={t.rules.whyNot.open(text)}
          onClick={() => setOpen(!isOpen)}
        >
          <Tag tone={tone} title={lines.join(' ')}>
            {text}
          </Tag>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown data-testid="why-not">
        <ul className={classes['whyLines']}>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        {decisions.length > 0 && (
          <>
            <strong>{t.rules.whyNot.decisions}</strong>
            <ul className={classes['whyLines']}>
              {decisions.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

/** Each evaluated branch of the run, with its comparison. */
function decisionsOf(record: RunRecord, flow: FlowDocument): string[] {
  return flow.nodes.flatMap((node) => {
    const whens = new Map(entriesOf(node, 'branches').map((entry) => [textOf(entry['name']), textOf(entry['when'])]));
    return (switchDetails(record, node.id)?.branches ?? []).flatMap(({ name, result }) => {
      const when = whens.get(name);
      if (result === null || when === undefined) return [];
      const operands = operandsOf(when, record.variable_values);
      return [t.rules.whyNot.decision(nodeTitle(node), name, when, result ? t.runs.true : t.runs.false, operands)];
    });
  });
}
