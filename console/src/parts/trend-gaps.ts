/**
 * Decides where the line of a trend breaks because nothing was recorded. Constant values are recorded less often than changing ones, and
 * imports can be coarser still, so distance alone does not make a gap. A gap is much longer than the distances around it, and the
 * observations at its ends do not account for it.
 */

/** A distance of more than this many times the expected one breaks the line. */
const gapFactor = 3;
/** Number of distances on each side from which the expected one is computed. */
const reach = 4;

interface Bucket {
  /** Seconds since the epoch. */
  readonly unix: number;
  readonly observations: number;
}

/** For each bucket, the seconds after which the line ends; null if it continues to the next bucket. */
export function gapsAfter(buckets: readonly Bucket[]): (number | null)[] {
  const distances = buckets.slice(1).map(({ unix }, at) => unix - (buckets[at]?.unix ?? unix));
  const rates = distances.map((distance, at) => (buckets[at]?.observations ?? 0) / distance);
  return buckets.map(({ observations }, at) => {
    const distance = distances[at];
    const next = buckets[at + 1];
    if (distance === undefined || next === undefined) return null;
    const usual = median(around(distances, at));
    // Measurements count forward from their row, repeated commands back from it.
    const accountedFor = Math.max(observations, next.observations) / median(around(rates, at));
    return distance > gapFactor * Math.max(usual, accountedFor) ? usual : null;
  });
}

function around(values: readonly number[], at: number): readonly number[] {
  return values.slice(Math.max(0, at - reach), at + reach + 1);
}

/** The lower of the two middle values. */
function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}

/** Positions of values without a neighbour, which a line does not show. */
export function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (at: number): boolean => typeof values[at] === 'number';
  return Array.from({ length: values.length }, (_, at) => at).filter(
    (at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1),
  );
}
