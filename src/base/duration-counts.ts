/** Durations counted by size: plain data that crosses threads and becomes a histogram metric. */

export interface DurationCounts {
  /** Upper bounds in seconds, ascending; one more class counts what is above the last. */
  readonly boundsSeconds: readonly number[];
  /** How many fell into each class, not cumulated. */
  readonly counts: readonly number[];
  readonly sumSeconds: number;
}

export interface DurationCounter {
  add(ms: number): void;
  read(): DurationCounts;
}

const msPerSecond = 1000;

export function countDurations(boundsSeconds: readonly number[]): DurationCounter {
  const counts = boundsSeconds.map(() => 0);
  counts.push(0);
  let sumSeconds = 0;
  return {
    add(ms) {
      const seconds = ms / msPerSecond;
      const place = boundsSeconds.findIndex((bound) => seconds <= bound);
      const index = place === -1 ? boundsSeconds.length : place;
      counts[index] = (counts[index] ?? 0) + 1;
      sumSeconds += seconds;
    },
    read: () => ({ boundsSeconds, counts: [...counts], sumSeconds }),
  };
}
