/** Which value of a trend is read at a time: one that the chart draws there, not the nearest of another day. */

type Column = ArrayLike<number | null | undefined>;

/**
 * The row of the value at `at`; null where no line is drawn. Between two values of a line it is the nearer one, of steps the earlier one;
 * from the end of a line it is read up to `reach` seconds away.
 *
 * @param times ascending, in seconds
 * @param steps whether a value holds until the next one
 */
export function readRow(
  values: Column,
  times: ArrayLike<number>,
  at: number,
  steps: boolean,
  reach: number,
): number | null {
  const after = firstAfter(times, at);
  const isDrawn = (row: number): boolean => typeof values[row] === 'number';
  const [before, isLine] = [after - 1, isDrawn(after - 1) && isDrawn(after)];
  if (isLine && steps) return before;
  const near = [before, after].filter(isDrawn).toSorted((a, b) => distance(times, a, at) - distance(times, b, at))[0];
  return near !== undefined && (isLine || distance(times, near, at) <= reach) ? near : null;
}

function distance(times: ArrayLike<number>, row: number, at: number): number {
  return Math.abs((times[row] ?? Number.POSITIVE_INFINITY) - at);
}

function firstAfter(times: ArrayLike<number>, at: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
