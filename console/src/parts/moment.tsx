/** Relative times: "12 s ago", with the exact time as a tooltip; all of them update together. */
import { useSyncExternalStore } from 'react';
import { every, nowMs } from '../clock.ts';
import { t } from '../strings/index.ts';
import { locale } from '../strings/language.ts';
import { usePrinting } from './printing.ts';

const secondMs = 1000;
const listeners = new Set<() => void>();
let tickMs = nowMs();
let stop: (() => void) | null = null;

function subscribe(listener: () => void): () => void {
  // Without listeners the clock was not updated.
  if (stop === null) tickMs = nowMs();
  listeners.add(listener);
  stop ??= every(secondMs, () => {
    tickMs = nowMs();
    for (const each of listeners) each();
  });
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    stop?.();
    stop = null;
  };
}

/** Now, to the second. */
export function useNowMs(): number {
  return useSyncExternalStore(subscribe, () => tickMs);
}

export function inWords(atMs: number, fromMs: number): string {
  const distance = Math.round((atMs - fromMs) / secondMs);
  const words = distance > 0 ? t.common.ahead : t.common.ago;
  const seconds = Math.abs(distance);
  if (seconds < 1) return words.now;
  if (seconds < 90) return words.seconds(seconds);
  if (seconds < 90 * 60) return words.minutes(Math.round(seconds / 60));
  if (seconds < 36 * 3600) return words.hours(Math.round(seconds / 3600));
  return words.days(Math.round(seconds / 86_400));
}

/** `10 minutes`, in the unit that `inWords` would choose. */
export function lengthInWords(lengthMs: number): string {
  const seconds = Math.round(Math.abs(lengthMs) / secondMs);
  if (seconds < 90) return amount(seconds, 'second');
  if (seconds < 90 * 60) return amount(seconds / 60, 'minute');
  if (seconds < 36 * 3600) return amount(seconds / 3600, 'hour');
  return amount(seconds / 86_400, 'day');
}

function amount(value: number, unit: 'second' | 'minute' | 'hour' | 'day'): string {
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.round(value));
}

export function agoInWords(atMs: number, fromMs: number): string {
  return inWords(Math.min(atMs, fromMs), fromMs);
}

const dayAndTime = new Intl.DateTimeFormat(locale, {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const timeOnly = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
});

export function fullTime(at: string | number): string {
  return dayAndTime.format(new Date(at));
}

export function clockTime(at: string | number): string {
  return timeOnly.format(new Date(at));
}

/** A past moment. If it is less than a tick ago, or in the future of this clock, the text is "just now". On paper it is the time itself. */
export function Moment({ at }: { at: string }) {
  const now = useNowMs();
  const isPrinting = usePrinting();
  return (
    <time dateTime={at} title={fullTime(at)}>
      {isPrinting ? fullTime(at) : agoInWords(Date.parse(at), now)}
    </time>
  );
}

/** A future moment; `said` puts it into a sentence. */
export function Ahead({ at, said = (time) => time }: { at: string; said?: (time: string) => string }) {
  const now = useNowMs();
  return (
    <time dateTime={at} title={fullTime(at)}>
      {said(inWords(Math.max(Date.parse(at), now), now))}
    </time>
  );
}
