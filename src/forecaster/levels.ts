/** The probabilities at which distributions are kept inside the forecaster; requested ones are read off between them. */

export const levels = Float64Array.of(
  0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
  0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998,
);

/** Straight lines between the points (x, y), flat outside; `x` ascends. */
export function interpolate(x: Float64Array, y: Float64Array, at: number): number {
  const last = x.length - 1;
  if (at <= (x[0] as number)) return y[0] as number;
  if (at >= (x[last] as number)) return y[last] as number;
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((x[middle] as number) <= at) low = middle;
    else high = middle;
  }
  const from = x[low] as number;
  const part = (at - from) / ((x[high] as number) - from);
  return (y[low] as number) + part * ((y[high] as number) - (y[low] as number));
}

/**
 * The probability of `value` under a distribution given at the levels; flat stretches of it (a mass at one value) give
 * their middle.
 */
export function probabilityOf(quantiles: Float64Array, value: number): number {
  const last = quantiles.length - 1;
  if (value < (quantiles[0] as number)) return 0;
  if (value > (quantiles[last] as number)) return 1;
  let below = 0;
  while (below < last && (quantiles[below + 1] as number) < value) below++;
  let above = last;
  while (above > 0 && (quantiles[above - 1] as number) > value) above--;
  if ((quantiles[above] as number) === (quantiles[below] as number) || above <= below)
    return ((levels[below] as number) + (levels[above] as number)) / 2;
  if (above - below > 1) return ((levels[below + 1] as number) + (levels[above - 1] as number)) / 2;
  const from = quantiles[below] as number;
  const part = (value - from) / ((quantiles[above] as number) - from);
  return (levels[below] as number) + part * ((levels[above] as number) - (levels[below] as number));
}
