/** What a rule is doing, in words: its state, why it does not run now, when it is due. */
import type { RunRecord } from '../live/stream.ts';
import type { Tone } from '../parts/tag.tsx';
import type { ListedRule, ShownStatus } from '../server/queries.ts';
import { t } from '../strings/index.ts';

const words = t.rules;

export type StateWord = keyof typeof words.states;

export function stateOf(status: ShownStatus | null | undefined): { word: StateWord; text: string; tone: Tone } {
  const word: StateWord = status?.state ?? 'unknown';
  const tones: Record<StateWord, Tone> = {
    waiting: 'good',
    cooldown: 'info',
    disabled: 'calm',
    'not-runnable': 'bad',
    unknown: 'warn',
  };
  return { word, text: words.states[word], tone: tones[word] };
}

function reasonText(code: string): string {
  return words.reasons[code] ?? words.otherReason(code);
}

export function reasonsOf(status: ShownStatus | null | undefined): string[] {
  if (status === null || status === undefined) return [words.statusUnavailable];
  const codes = status.reasons.map(({ code }) => code);
  // "not runnable" is said better by its cause, where one is given.
  return codes.filter((code) => code !== 'not-runnable' || codes.length === 1).map(reasonText);
}

type Outcome = RunRecord['outcome'];

function isOutcome(word: string): word is Outcome {
  return Object.hasOwn(words.outcomes, word);
}

export function outcomeOf(word: string): { text: string; tone: Tone; hint: string } {
  if (!isOutcome(word)) return { text: word, tone: 'warn', hint: '' };
  const tones: Record<Outcome, Tone> = { acted: 'good', no_action: 'calm', skipped: 'warn', failed: 'bad' };
  return { text: words.outcomes[word], tone: tones[word], hint: words.outcomeHints[word] };
}

/** Rules that somebody should look at: they cannot run, failed, or were skipped the last time. */
export function needsAttention({ status, enabled }: ListedRule): boolean {
  if (status === null || status === undefined) return enabled;
  if (status.state === 'not-runnable') return true;
  const outcome = status.last_run?.outcome;
  return enabled && (outcome === 'failed' || outcome === 'skipped');
}
