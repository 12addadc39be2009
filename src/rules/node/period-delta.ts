/**
 * Period delta [rules §4.6]: the growth of a counter since the period began. A new period starts at local midnight of its zone
 * and at 0. The count before a counter reset (a value below the last one) is kept.
 */
import { localMs, type Period, periodNumber } from '../../site/local-time.ts';
import { readName, readPeriod, readTimezone } from '../node-content.ts';
import type { NodeKindOf } from './kind.ts';

interface PeriodDeltaContent {
  readonly input: string;
  readonly period: Period;
  readonly timezone?: string;
  readonly name: string;
}

export const periodDelta: NodeKindOf<'period-delta', PeriodDeltaContent> = {
  type: 'period-delta',
  fields: ['input', 'period', 'timezone', 'name'],
  extras: ['variables', 'writes'],
  outputs: ['default'],
  read(config) {
    const input = readName(config, 'input');
    const name = readName(config, 'name');
    const period = readPeriod(config, 'period');
    const timezone = readTimezone(config);
    if (input === undefined || name === undefined || period === undefined) return undefined;
    return { content: { input, period, name, ...(timezone === undefined ? {} : { timezone }) } };
  },
  computed({ input, name, period, timezone }) {
    return {
      name,
      input,
      field: 'input',
      value: (counter, memory, wallMs, siteTimezone) =>
        advancePeriodDelta(memory, counter, wallMs, period, timezone ?? siteTimezone),
      memoryAfter(counter, delta, wallMs, siteTimezone) {
        const local = localMs(wallMs, timezone ?? siteTimezone);
        return [periodNumber(local, period), counter - delta, 0, counter];
      },
    };
  },
  // Period, baseline and the count before a reset; the last value changes in every run.
  urgentMemory: 3,
};

/** Zones that end summer time at midnight set their clocks back by an hour then; adjustments of a clock are smaller. */
const stepBackMaximumMs = 3_600_000;

/** Memory: [period number, baseline, counted before the last reset, last value]. Returns the delta of the period. */
export function advancePeriodDelta(
  memory: number[],
  value: number,
  wallMs: number,
  period: Period,
  timezone: string,
): number {
  const local = localMs(wallMs, timezone);
  const number = periodNumber(local, period);
  const known = memory[0];
  // A clock that steps back slightly over midnight stays in the current period; one that comes back from a jump
  // far ahead does not, or the counter would be in a future period until that one is over.
  if (known === undefined || number > known || periodNumber(local + stepBackMaximumMs, period) < known) {
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
