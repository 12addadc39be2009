/** What the legend says of quantiles: those as far from the middle are one band, and a median equal to the forecast adds nothing. */

interface Quantiles {
  readonly value: number;
  readonly quantiles?: readonly { readonly probability: number; readonly value: number }[];
}

/** Of one quantile, ascending: shown by itself, as a band up to another one, or with that other one. */
export type LegendEntry = 'alone' | 'hidden' | { readonly upTo: number };

const rounding = 1e-9;

export function legendOf(points: readonly Quantiles[]): LegendEntry[] {
  const shares = points[0]?.quantiles?.map(({ probability }) => probability) ?? [];
  const isForecast = (at: number): boolean => points.every(({ value, quantiles }) => quantiles?.[at]?.value === value);
  return shares.map((share, at): LegendEntry => {
    const opposite = shares.length - 1 - at;
    if (at === opposite) return isForecast(at) ? 'hidden' : 'alone';
    if (Math.abs(share + (shares[opposite] as number) - 1) > rounding) return 'alone';
    return at < opposite ? { upTo: opposite } : 'hidden';
  });
}
