/** The quantile levels of every distribution inside the forecaster; requested levels are interpolated. */

export const levels = Float64Array.of(
  0.002,
  0.005,
  0.01,
  0.02,
  0.03,
  0.05,
  0.075,
  0.1,
  0.15,
  0.2,
  0.25,
  0.3,
  0.35,
  0.4,
  0.45,
  0.5,
  0.55,
  0.6,
  0.65,
  0.7,
  0.75,
  0.8,
  0.85,
  0.9,
  0.925,
  0.95,
  0.97,
  0.98,
  0.99,
  0.995,
  0.998,
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
  let reached = 0;
  while (reached <= last && (quantiles[reached] as number) < value) reached++;
  if (reached > last) return 1;
  let passed = last;
  while (passed >= 0 && (quantiles[passed] as number) > value) passed--;
  if (passed < 0) return 0;
  const from = levels[passed] as number;
  if (passed >= reached) return ((levels[reached] as number) + from) / 2;
  const low = quantiles[passed] as number;
  const part = (value - low) / ((quantiles[reached] as number) - low);
  return from + part * ((levels[reached] as number) - from);
}

/** Bisections for a quantile of a mixture: more precise than any measurement. */
const halvings = 40;

/** Quantiles at the levels of the mixture of two distributions given at the levels: of probabilities, so it is wide where they differ. */
export function mixtureOf(one: Float64Array, other: Float64Array, share: number): Float64Array {
  const last = levels.length - 1;
  const least = Math.min(one[0] as number, other[0] as number);
  const most = Math.max(one[last] as number, other[last] as number);
  return levels.map((level) => {
    let [low, high] = [least, most];
    for (let turn = 0; turn < halvings; turn++) {
      const middle = (low + high) / 2;
      const reached = share * probabilityOf(one, middle) + (1 - share) * probabilityOf(other, middle);
      if (reached < level) low = middle;
      else high = middle;
    }
    return high;
  });
}
