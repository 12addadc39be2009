/** The outcome of a write in words: accepted, or refused and why; in a trial, that it would be sent; in shadow, that it was not sent. */
import type { AnyRecord, ShownRun } from '../live/run-view.ts';
import { t } from '../strings/index.ts';

const words = t.runs;

export function writeStatus(
  action: AnyRecord['actions_executed'][number],
  kind: ShownRun['kind'],
): { ok: boolean; text: string; hint: string } {
  if (action.success && action.reason === 'shadow') return { ok: true, text: words.shadow, hint: words.shadowHint };
  if (action.success)
    return {
      ok: true,
      text: kind === 'trial' || kind === 'draft' ? words.wouldSend : words.accepted,
      hint: kind === 'trial' || kind === 'draft' ? '' : words.acceptedHint,
    };
  const reason = action.reason ?? '';
  const text =
    action.outranked_by === undefined
      ? (words.actionReasons[reason] ?? reason)
      : words.outrankedBy(String(action.outranked_by));
  return { ok: false, text: words.refused(text), hint: words.actionReasons[reason] ?? '' };
}
