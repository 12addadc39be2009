/**
 * Period delta (decisions §2.3): how much a counter grew since the period began. A new period starts at local
 * midnight of its zone and at 0. What was counted before a counter reset (a value below the last one) is kept.
 */
import { localMs, type Period, periodNumber } from './local-time.ts';

/** Memory: [period number, baseline, counted before the last reset, last value]. Returns the delta of the period. */
export function advancePeriodDelta(
  memory: number[],
  value: number,
  wallMs: number,
  period: Period,
  timezone: string,
): number {
  const number = periodNumber(localMs(wallMs, timezone), period);
  const known = memory[0];
  // A wall clock that steps back over midnight stays in the period that has begun.
  if (known === undefined || number > known) {
    memory.length = 0;
    memory.push(number, value, 0, value);
    return 0;
  }
  const last = memory[3] ?? value;
  if (value < last) {
    memory[2] = (memory[2] ?? 0) + last - (memory[1] ?? last);
    memory[1] = value;
  }
  memory[3] = value;
  return (memory[2] ?? 0) + value - (memory[1] ?? value);
}
