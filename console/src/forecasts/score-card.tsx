/** How good the kept forecasts of a task were: its error beside three references, and whether its bands are as wide as they say. */
import type { ScoreGroup, Scores } from '../../../src/api/processing-results.ts';
import { shownNumber, withUnit } from '../parts/number.ts';
import { Notice } from '../parts/tag.tsx';
import { forecastWords } from '../strings/forecasts.ts';
import classes from './forecasts.module.css';

const words = forecastWords.scores;

const digits = 3;
const rounded = (value: number): string => String(Number(value.toPrecision(digits)));
const percent = (share: number): string => `${Math.round(100 * share)} %`;

export function ScoreCard({ scores }: { scores: Scores }) {
  const [group] = scores.groups;
  if (group === undefined || group.n === 0) return <Notice tone="calm">{words.none}</Notice>;
  return (
    <div data-testid="scores">
      <dl className={classes['facts']} aria-label={words.title}>
        {factsOf(group, scores.unit).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {group.pit !== null && <Reliability pit={group.pit} />}
    </div>
  );
}

function factsOf(group: ScoreGroup, unit: string): [string, string][] {
  const { mae, bias, interval, coverage, skill } = group;
  const amount = (value: number | null): string => (value === null ? '–' : withUnit(Number(rounded(value)), unit));
  const span = interval === null ? '' : ` (${words.between(amount(interval.low), amount(interval.high))})`;
  const against = (value: number | null): string =>
    value === null ? '–' : value >= 0 ? words.better(percent(value)) : words.worse(percent(-value));
  return [
    [words.error, `${amount(mae)}${span}`],
    [words.bias, amount(bias)],
    ...Object.entries(coverage).map(([band, share]): [string, string] => [words.band(band), percent(share)]),
    [words.persistence, against(skill.persistence)],
    [words.yesterday, against(skill.same_time_yesterday)],
    [words.lastWeek, against(skill.same_time_last_week)],
    [words.points, shownNumber(group.n)],
    [words.results, words.resultCounts(group.produced, group.fallback, group.unavailable)],
  ];
}

const barWidth = 22;
const barHeight = 64;

/** Ten bars that are equally high where the quantiles are right. */
function Reliability({ pit }: { pit: readonly number[] }) {
  const most = Math.max(...pit, 0.2);
  const y = (share: number): number => barHeight * (1 - share / most);
  const width = pit.length * barWidth;
  const text = words.reliability(pit.map(percent).join(', '));
  return (
    <figure className={classes['reliability']}>
      <svg viewBox={`0 0 ${width} ${barHeight}`} width={width} height={barHeight} role="img" aria-label={text}>
        {pit.map((share, place) => (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place.
            key={place}
            x={place * barWidth + 2}
            y={y(share)}
            width={barWidth - 4}
            height={barHeight - y(share)}
            className={classes['bar']}
          />
        ))}
        <line x1={0} x2={width} y1={y(1 / pit.length)} y2={y(1 / pit.length)} className={classes['even']} />
      </svg>
      <figcaption className={classes['soft']}>{words.reliabilityHint}</figcaption>
    </figure>
  );
}
