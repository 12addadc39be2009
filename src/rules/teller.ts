/** How a rule is put into words: a language, the names of a site, and a way to write numbers. */
import type { PointRef } from '../site/catalogue.ts';

export interface SentenceWords {
  every(period: string): string;
  whenever(points: string, by: string): string;
  byMore(threshold: string): string;
  reads(names: string): string;
  readonly nothing: string;
  sets(point: string, value: string): string;
  if(when: string, then: string): string;
  elseIf(when: string, then: string): string;
  otherwise(then: string): string;
  readonly then: string;
  readonly more: string;
  cooldown(time: string): string;
  and(items: readonly string[]): string;
  or(items: readonly string[]): string;
}

/** How a reader is spoken to. */
export interface Teller {
  readonly words: SentenceWords;
  /** A point of the site as it is called; undefined when the site does not have it. */
  point(ref: PointRef): { readonly label: string; readonly unit: string } | undefined;
  number(value: number): string;
  duration(ms: number): string;
}

/** The points by their labels, joined with "or". */
export function pointsText(refs: readonly PointRef[], { words, point }: Teller): string {
  return words.or(refs.map((ref) => point(ref)?.label ?? '?'));
}

/** A duration in the largest unit that reads well. */
export function durationText(ms: number, number: (value: number) => string, days: (count: string) => string): string {
  if (ms < 1000) return `${number(ms)} ms`;
  if (ms < 90_000) return `${number(ms / 1000)} s`;
  if (ms < 90 * 60_000) return `${number(ms / 60_000)} min`;
  if (ms < 72 * 3_600_000) return `${number(ms / 3_600_000)} h`;
  return days(number(ms / 86_400_000));
}
