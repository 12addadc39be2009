/** Executions of a span of time [rules §2.6]. */
import { expect, test } from 'vitest';
import { firstIdAt } from '../base/id.ts';
import { historyPage } from './history-page.ts';

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
  const { list, next_before: next } = await historyPage(reader, 1, query);
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

test('[rules §2.6] a time that is none, and a span that ends before it begins', async () => {
  await expect(seconds({ from: 'noon' })).rejects.toThrow(/query \/from: must be RFC 3339 UTC/);
  await expect(seconds({ from: at(2), to: at(1) })).rejects.toThrow(/must not be after to/);
});
