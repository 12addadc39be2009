/** The balance of the plant now as a single-line diagram: a busbar, what feeds it, and what it feeds. Grey where all is normal. */
import { Link } from '@tanstack/react-router';
import { useAreUsable, useLivePoint } from '../live/stream.ts';
import { withUnit } from '../parts/number.ts';
import { Tag } from '../parts/tag.tsx';
import type { PointEntry } from '../points/point-queries.ts';
import { isGood, keyOf, qualityTone } from '../points/point-words.ts';
import points from '../points/points.module.css';
import { PointLink } from '../points/points-page.tsx';
import { pointWords, siteWords } from '../strings/points.ts';
import { directionOf, type Feeder, type FlowDirection, feedersOf, restOf } from './balance.ts';
import classes from './site.module.css';

const words = siteWords;
const overviewDigits = 3;
/** Drawn at most; the rest counts all of them. */
const feedersMax = 12;

export function BalancePanel({ points: all }: { points: readonly PointEntry[] }) {
  const feeders = feedersOf(all);
  const areUsable = useAreUsable(feeders.map(({ power }) => keyOf(power)));
  const [first] = feeders;
  if (first === undefined) return null;
  // From one answer: values of different instants would leave a rest that never was.
  const rest = areUsable ? restOf(feeders) : null;
  const left = feeders.length - feedersMax;
  return (
    <section className={points['panel']} aria-labelledby="balance">
      <h2 id="balance" className={points['heading']}>
        {words.balance}
      </h2>
      <ul className={classes['busbar']}>
        {feeders.slice(0, feedersMax).map((feeder) => (
          <FeederNow key={keyOf(feeder.power)} feeder={feeder} />
        ))}
        {rest !== null && (
          <Drawn direction={restDirection(rest)} testId="rest">
            <span className={points['name']} title={words.otherHint}>
              {words.other}
            </span>
            <span className={classes['power']}>{withUnit(rounded(Math.abs(rest)), first.power.unit)}</span>
            <span className={points['soft']}>{flowText('other', restDirection(rest))}</span>
          </Drawn>
        )}
      </ul>
      {left > 0 && (
        <Link to="/points" className={points['soft'] ?? ''}>
          {words.more.flows(left)}
        </Link>
      )}
    </section>
  );
}

/** The points that the panel shows. */
export function drawnFlows(all: readonly PointEntry[]): PointEntry[] {
  return feedersOf(all)
    .slice(0, feedersMax)
    .flatMap(({ power, level }) => (level === null ? [power] : [power, level]));
}

/** A surplus of measured inflow is an unmeasured outflow. */
function restDirection(rest: number): FlowDirection {
  if (rest === 0) return 'still';
  return rest > 0 ? 'out' : 'in';
}

function flowText(kind: keyof typeof words.flow.in, direction: FlowDirection): string {
  return direction === 'still' ? words.flow.still : words.flow[direction][kind];
}

function FeederNow({ feeder }: { feeder: Feeder }) {
  const { power, level, sign } = feeder;
  const now = useLivePoint(power);
  const direction = isGood(now) ? directionOf(feeder, now) : null;
  const shown = direction === null ? now.value : Math.abs(now.value ?? 0);
  return (
    <Drawn direction={direction}>
      <PointLink point={power} label={power.instance_name} />
      <span className={classes['power']}>{withUnit(rounded(shown), power.unit)}</span>
      <span className={points['soft']}>
        {sign !== null && direction !== null && flowText(sign.kind, direction)}
        {!isGood(now) && <Tag tone={qualityTone(now)}>{pointWords.quality[now.quality]}</Tag>}
      </span>
      {level !== null && <Level point={level} />}
    </Drawn>
  );
}

interface DrawnParts {
  readonly direction: FlowDirection | null;
  readonly testId?: string;
  readonly children: React.ReactNode;
}

/** One feeder: its line to the busbar, an arrow in the direction of flow, and its values. */
function Drawn({ direction, testId, children }: DrawnParts) {
  return (
    <li className={classes['feeder']} data-direction={direction ?? 'unknown'} data-testid={testId}>
      <span className={classes['line']} aria-hidden>
        {direction !== null && direction !== 'still' && <span className={classes['arrow']} />}
      </span>
      <span className={classes['text']}>{children}</span>
    </li>
  );
}

function Level({ point }: { point: PointEntry }) {
  const now = useLivePoint(point);
  return (
    <span className={points['soft']}>
      {withUnit(rounded(now.value), point.unit)}{' '}
      {!isGood(now) && <Tag tone={qualityTone(now)}>{pointWords.quality[now.quality]}</Tag>}
    </span>
  );
}

/** An overview needs no more digits; the page of the point has them. */
function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(overviewDigits));
}
