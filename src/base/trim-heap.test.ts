import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { trimHeap } from './trim-heap.ts';

test('garbage and the room that it took are given back', async () => {
  let garbage: unknown[] | null = Array.from({ length: 500_000 }, (_, index) => ({ index }));
  expect(garbage).toHaveLength(500_000);
  garbage = null;
  const before = getHeapStatistics().total_heap_size;
  trimHeap();
  await expect.poll(() => before - getHeapStatistics().total_heap_size).toBeGreaterThan(10_000_000);
});
