/** Which run the drawing shows, or that it shows the outcome of the draft. */
import { Button } from '@mantine/core';
import type { ShownRun } from '../live/run-view.ts';
import { fullTime } from '../parts/moment.tsx';
import { t } from '../strings/index.ts';
import classes from './editor.module.css';

const words = t.runs;

interface SignParts {
  readonly run: ShownRun | null;
  readonly hidden: boolean;
  /** The drawing is not the stored flow: its runs are not shown. */
  readonly isDraft: boolean;
  readonly onLive: () => void;
  readonly onHide: () => void;
}

function textOfSign({ run, hidden, isDraft }: SignParts): string {
  if (run === null) return hidden ? words.hidden : isDraft ? words.noDraftRun : words.none;
  const texts = { live: words.shownLive, trial: words.shownTrial, draft: words.shownDraft } as const;
  return run.kind === 'history' ? words.shownRun(fullTime(run.record.started_at)) : texts[run.kind];
}

export function ShownSign(parts: SignParts) {
  const { run, hidden, onLive, onHide } = parts;
  const isOfNow = run?.kind === 'live' || run?.kind === 'draft';
  return (
    <div className={classes['shown']} data-testid="shown-run">
      <span>{textOfSign(parts)}</span>
      {isOfNow && (
        <Button size="compact-xs" variant="default" onClick={onHide}>
          {words.hide}
        </Button>
      )}
      {!isOfNow && (run !== null || hidden) && (
        <Button size="compact-xs" variant="default" onClick={onLive}>
          {words.backToLive}
        </Button>
      )}
    </div>
  );
}
