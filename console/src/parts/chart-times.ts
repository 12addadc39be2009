/** Times along a chart, in 24 hours and the time zone of the browser; uPlot gives seconds since the epoch. */
import { locale } from '../strings/language.ts';

const format = (options: Intl.DateTimeFormatOptions): ((seconds: number) => string) => {
  const made = new Intl.DateTimeFormat(locale, { hourCycle: 'h23', ...options });
  return (seconds) => made.format(new Date(seconds * 1000));
};
const seconds = format({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const minutes = format({ hour: '2-digit', minute: '2-digit' });
const day = format({ day: 'numeric', month: 'short' });
const month = format({ month: 'short' });
const year = format({ year: 'numeric' });

const minuteSeconds = 60;
const daySeconds = 86_400;
/** The day of a clock change has 23 hours, and February 28 days. */
const shortestDaySeconds = daySeconds - 3600;
const shortestMonthSeconds = 28 * daySeconds - 3600;

/** A time with its full date: a chart may span more than a year. */
export const timeText = format({
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/** Tick labels: the part that differs between ticks, and on a second line the common part, at the first tick and at each change. */
export function axisTimes(_: unknown, ticks: readonly number[]): string[] {
  const [own, common] = partsFor(ticks);
  let last = '';
  return ticks.map((tick) => {
    const below = common(tick);
    const text = below === last ? own(tick) : `${own(tick)}\n${below}`;
    last = below;
    return text;
  });
}

type Part = (tick: number) => string;

function partsFor([first, second]: readonly number[]): readonly [Part, Part] {
  const step = first === undefined || second === undefined ? minuteSeconds : second - first;
  if (step < minuteSeconds) return [seconds, day];
  if (step < shortestDaySeconds) return [minutes, day];
  return step < shortestMonthSeconds ? [day, year] : [month, year];
}
