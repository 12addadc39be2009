/** Audit records of refusals are bounded [audit §6]. */
import { describe, expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { gatewayLimits } from './limits.ts';
import { type ManyRefusals, RefusalTally } from './refusal-tally.ts';

function tallyOf(limits: Partial<typeof gatewayLimits> = {}) {
  const clock = simulatedClock(0);
  const records: { kind: string; many: ManyRefusals | null }[] = [];
  const tally = new RefusalTally(clock, silentLog, { ...gatewayLimits, ...limits });
  const add = (kind: string) => tally.add(kind, async (many) => void records.push({ kind, many }));
  return { clock, records, tally, add };
}

describe('refusals', () => {
  test('[audit §6] ten of one kind in a minute are recorded each, the others as one', async () => {
    expect(gatewayLimits.refusals_recorded_per_minute).toBe(10);
    const { clock, records, add } = tallyOf();
    for (let count = 0; count < 10; count++) await add('a');
    expect(records).toHaveLength(10);
    clock.advance(1000);
    for (let count = 0; count < 500; count++) await add('a');
    await add('b');
    expect(records).toHaveLength(11);
    clock.advance(59_000);
    await expect.poll(() => records.length).toBe(12);
    expect(records.at(-1)).toEqual({ kind: 'a', many: { count: 500, fromMs: 1000, toMs: 1000 } });
    // A new minute.
    await add('a');
    expect(records.at(-1)).toEqual({ kind: 'a', many: null });
  });

  test('[audit §6] counted refusals are recorded before the service stops', async () => {
    const { records, tally, add } = tallyOf({ refusals_recorded_per_minute: 1 });
    for (let count = 0; count < 3; count++) await add('a');
    await tally.flush();
    expect(records.map(({ many }) => many?.count ?? null)).toEqual([null, 2]);
    await tally.flush();
    expect(records).toHaveLength(2);
  });

  test('[audit §6] as many kinds at once as the limit says, and no more', async () => {
    const { records, add } = tallyOf({ refusals_recorded_per_minute: 1, refusal_kinds_max: 10 });
    for (let kind = 0; kind < 10; kind++) await add(`kind ${kind}`);
    await add('kind 0');
    expect(records).toHaveLength(10);
    // The eleventh kind: the tally is recorded, and counting starts over.
    await add('kind 10');
    expect(records.map(({ many }) => many?.count ?? null).slice(10)).toEqual([1, null]);
  });

  test('a record that cannot be written does not keep the others back', async () => {
    const { records, tally, add } = tallyOf({ refusals_recorded_per_minute: 1 });
    let isFirst = true;
    const failing = async (): Promise<void> => {
      if (isFirst) isFirst = false;
      else throw new Error('no');
    };
    for (let count = 0; count < 2; count++) await tally.add('failing', failing);
    for (let count = 0; count < 2; count++) await add('a');
    await tally.flush();
    expect(records.map(({ many }) => many?.count ?? null)).toEqual([null, 1]);
  });
});
