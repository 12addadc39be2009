/** The state of a rule in words: running or why not, and when it is due. */
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
  const text = words.states[word];
  const inShadow = status?.mode === 'shadow' && status.enabled;
  return { word, text: inShadow ? words.inShadow(text) : text, tone: inShadow ? 'info' : tones[word] };
}

function reasonText(code: string): string {
  return words.reasons[code] ?? words.otherReason(code);
}

/** `nameOf`: of the rules that take turns with this one. */
export function reasonsOf(
  status: ShownStatus | null | undefined,
  nameOf: (ruleId: number) => string = String,
): string[] {
  if (status === null || status === undefined) return [words.statusUnavailable];
  // "not runnable" is said better by its cause, where one is given.
  const said = status.reasons.filter(({ code }, _, all) => code !== 'not-runnable' || all.length === 1);
  return said.map(({ code, point, instance, rule_ids: ids = [] }) =>
    code === 'takes-turns'
      ? words.takesTurns(ids.map((id) => nameOf(id)).join(', '), `${instance}:action ${point}`)
      : reasonText(code),
  );
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

/** Rules that somebody should look at: they cannot run, failed, were skipped the last time, or take turns with others. */
export function needsAttention({ status, enabled }: ListedRule): boolean {
  if (status === null || status === undefined) return enabled;
  if (status.state === 'not-runnable' || status.reasons.some(({ code }) => code === 'takes-turns')) return true;
  const outcome = status.last_run?.outcome;
  return enabled && (outcome === 'failed' || outcome === 'skipped');
}
