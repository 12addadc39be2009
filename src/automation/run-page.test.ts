/** Executions of a span of time [rules §2.6]. */
import { expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { firstIdAt } from '../base/id.ts';
import { runPage, scannedRunsMax } from './run-page.ts';

const idAt = (ms: number): string => `${firstIdAt(ms)}-7000-8000-000000000000`;
/** One execution a second, of the first ten seconds. */
const ids = Array.from({ length: 10 }, (_, at) => idAt(at * 1000));
const reader = {
  page: async (_: number, before: string | undefined, limit: number) =>
    ids
      .filter((id) => before === undefined || id < before)
      .toReversed()
      .slice(0, limit)
      .map((id) => JSON.stringify({ execution_id: id })),
};
const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

async function seconds(query: Readonly<Record<string, string>>) {
  const { list, next_before: next } = await runPage(reader, 1, query, systemClock);
  const found = list.map((record) => ids.indexOf((record as { execution_id: string }).execution_id));
  return [found, next === null ? null : ids.indexOf(next)];
}

test('[rules §2.6] both ends of a span are within it', async () => {
  expect(await seconds({ from: at(3), to: at(5) })).toEqual([[5, 4, 3], null]);
  expect(await seconds({ from: at(3.001), to: at(4.999) })).toEqual([[4], null]);
  expect(await seconds({ to: at(2.5) })).toEqual([[2, 1, 0], null]);
  expect(await seconds({ from: at(8) })).toEqual([[9, 8], null]);
});

test('[rules §2.6] pages of a span: the cursor counts where it is earlier, and a further page only where the span has one', async () => {
  expect(await seconds({ from: at(3), to: at(5), limit: '2' })).toEqual([[5, 4], 4]);
  expect(await seconds({ from: at(3), to: at(5), limit: '2', before: ids[4] ?? '' })).toEqual([[3], null]);
  expect(await seconds({ from: at(3), to: at(5), limit: '3' })).toEqual([[5, 4, 3], null]);
  expect(await seconds({ to: at(5), before: ids[8] ?? '', limit: '1' })).toEqual([[5], 5]);
});

test('[rules §2.6] an invalid time, and a span that ends before it begins', async () => {
  await expect(seconds({ from: 'noon' })).rejects.toThrow(/query \/from: must be RFC 3339 UTC/);
  await expect(seconds({ from: at(2), to: at(1) })).rejects.toThrow(/must not be after to/);
});

const decisions = ['acted', 'acted', 'no_action', 'no_action', 'acted'];
const deciding = (decided: readonly string[]) => ({
  page: async (_: number, before: string | undefined, limit: number) =>
    decided
      .map((outcome, index) => ({ execution_id: idAt(index * 1000), outcome }))
      .filter(({ execution_id: id }) => before === undefined || id < before)
      .toReversed()
      .slice(0, limit)
      .map((record) => JSON.stringify(record)),
});

async function turns(decided: readonly string[], query: Readonly<Record<string, string>> = {}) {
  const found = await runPage(deciding(decided), 1, { changes: 'true', limit: '100', ...query }, systemClock);
  const secondOf = (id: string): number => decided.findIndex((_, index) => idAt(index * 1000) === id);
  const shown = found.list.map((record) => secondOf((record as { execution_id: string }).execution_id));
  return [shown, found.next_before === null ? null : secondOf(found.next_before)];
}

test('[rules §2.6] only changes: a run that decides like the one before is left out, in pages and spans too', async () => {
  expect(await turns(decisions)).toEqual([[4, 2, 0], null]);
  expect(await turns(decisions, { limit: '2' })).toEqual([[4, 2], 2]);
  expect(await turns(decisions, { limit: '2', before: idAt(2000) })).toEqual([[0], null]);
  expect(await turns(decisions, { from: at(1) })).toEqual([[4, 2], null]);
});

test('[rules §2.6] of one outcome, alone and together with changes', async () => {
  expect(await turns(decisions, { outcome: 'acted' })).toEqual([[4, 0], null]);
  expect(await turns(decisions, { outcome: 'acted', changes: '' })).toEqual([[4, 1, 0], null]);
  expect(await turns(decisions, { outcome: 'acted', changes: '', limit: '1' })).toEqual([[4], 4]);
  expect(await turns(decisions, { outcome: 'failed' })).toEqual([[], null]);
});

test('[rules §2.6] a page of changes scans 1000 runs, and names the start of the next one', async () => {
  expect(scannedRunsMax).toBe(1000);
  const quiet = (runs: number) => ['acted', ...Array.from({ length: runs - 1 }, () => 'no_action')];
  expect(await turns(quiet(1000))).toEqual([[1, 0], null]);
  expect(await turns(quiet(1002))).toEqual([[], 2]);
  expect(await turns(quiet(1002), { before: idAt(2000) })).toEqual([[1, 0], null]);
});
