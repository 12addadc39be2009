/** The rule in words, in English, for the API. The console has it in each of its languages. */
import { durationText, type SentenceWords } from './teller.ts';

const list = (items: readonly string[], last: string): string =>
  items.length <= 1 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1) ?? ''}`;

const units: Readonly<Record<string, string>> = { s: 'second', min: 'minute', h: 'hour' };

export const englishSentence: SentenceWords = {
  every: (period) => `Every ${period.replace(/^1 (s|min|h)$/, (_, unit: string) => units[unit] ?? unit)}`,
  whenever: (points, by) => `Whenever ${points} changes${by}`,
  byMore: (threshold) => ` by more than ${threshold}`,
  reads: (names) => `with ${names}`,
  nothing: 'do nothing',
  sets: (point, value) => `set ${point} to ${value}`,
  if: (when, then) => `if ${when}, ${then}`,
  elseIf: (when, then) => `else if ${when}, ${then}`,
  otherwise: (then) => `otherwise ${then}`,
  then: ', then ',
  more: '…',
  cooldown: (time) => ` After a write it pauses for ${time}.`,
  and: (items) => list(items, 'and'),
  or: (items) => list(items, 'or'),
};

/** In at most six significant digits. */
export const englishNumber = (value: number): string => String(Number(value.toPrecision(6)));

export const englishDuration = (ms: number): string =>
  durationText(ms, englishNumber, (count) => (count === '1' ? '1 day' : `${count} days`));
