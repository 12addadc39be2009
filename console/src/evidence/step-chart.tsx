/** The writes to one point in a backtest: steps from one change to the next, over the whole window. */

import { placeIn, shownRange } from '../parts/shown-range.ts';
import classes from './evidence.module.css';
import type { BacktestView } from './evidence-queries.ts';

const box = { width: 1000, height: 120, edge: 6 };

interface ChartParts {
  readonly changes: BacktestView['writes'][number]['changes'];
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

export function StepChart({ changes, from, to, label }: ChartParts) {
  return (
    <svg
      className={classes['steps']}
      viewBox={`0 0 ${box.width} ${box.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path
        d={pathOf(changes, Date.parse(from), Date.parse(to))}
        fill="none"
        stroke="currentColor"
        strokeWidth={1.5}
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}

/** Each value is valid until the next one, the last to the end. */
function pathOf(changes: ChartParts['changes'], fromMs: number, toMs: number): string {
  const place = placeIn(shownRange(changes.map(({ value }) => value)), box);
  const yOf = (value: number): string => place(value).toFixed(1);
  const steps = changes.map(({ at, value }, index) => {
    const x = (((Date.parse(at) - fromMs) / (toMs - fromMs)) * box.width).toFixed(1);
    return index === 0 ? `M${x} ${yOf(value)}` : `H${x}V${yOf(value)}`;
  });
  return steps.length === 0 ? '' : `${steps.join('')}H${box.width}`;
}
