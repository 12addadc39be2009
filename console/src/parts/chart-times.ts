/** Times along a chart, in 24 hours; uPlot gives seconds since the epoch. */
import { locale } from '../strings/language.ts';

const dayTime = new Intl.DateTimeFormat(locale, {
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
});
const withSeconds = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const hourOnly = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hour12: false });

/** A moment of a chart. */
export function timeText(seconds: number): string {
  return dayTime.format(new Date(seconds * 1000));
}

/** The day is said where it begins; seconds where ticks lie within a minute. */
export function axisTimes(_: unknown, ticks: readonly number[]): string[] {
  const [first, second] = ticks;
  if (first !== undefined && second !== undefined && second - first < 60)
    return ticks.map((tick) => withSeconds.format(new Date(tick * 1000)));
  let last = '';
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const day = at.toDateString();
    const text = day === last ? hourOnly.format(at) : dayTime.format(at);
    last = day;
    return text;
  });
}
