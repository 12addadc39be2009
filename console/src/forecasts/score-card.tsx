/** Scores of the stored forecasts of a task: its error beside three references, and the calibration of its bands. */
import type { Scores } from '../../../src/api/processing-results.ts';
import { Notice } from '../parts/tag.tsx';
import { forecastWords } from '../strings/forecasts.ts';
import classes from './forecasts.module.css';
import { factsOf, percent } from './score-words.ts';

const words = forecastWords.scores;

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

const barWidth = 22;
const barHeight = 64;

/** Ten bars, equally high for calibrated quantiles. */
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
