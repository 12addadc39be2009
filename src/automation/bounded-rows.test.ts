/** The queue of records [rules §7.5]: bounded in rows and in bytes. */
import { expect, test } from 'vitest';
import { BoundedRows } from './bounded-rows.ts';

const row = (id: string, record = '') => ({
  execution_id: id,
  rule_id: 1,
  started_at: '',
  outcome: 'acted',
  unchanged: false,
  record,
});
const ids = (rows: BoundedRows): string[] => rows.head(100).map(({ execution_id }) => execution_id);

test('record_queue: at its limit all stay, beyond it the oldest goes and is counted', () => {
  const rows = new BoundedRows({ record_queue: 2, record_queue_bytes: 1000 });
  for (const id of ['a', 'b']) rows.push(row(id));
  expect([ids(rows), rows.dropped]).toEqual([['a', 'b'], 0]);
  rows.push(row('c'));
  expect([ids(rows), rows.dropped, rows.left]).toEqual([['b', 'c'], 1, 1]);
});

test('[rules §7.5] record_queue_bytes: few large records are bounded as many small ones are', () => {
  const rows = new BoundedRows({ record_queue: 100, record_queue_bytes: 10 });
  rows.push(row('a', '12345'));
  rows.push(row('b', '12345'));
  expect([ids(rows), rows.bytes]).toEqual([['a', 'b'], 10]);
  rows.push(row('c', '1'));
  expect([ids(rows), rows.bytes, rows.dropped]).toEqual([['b', 'c'], 6, 1]);
  rows.push(row('d', '12345678901'));
  expect([ids(rows), rows.bytes, rows.dropped]).toEqual([[], 0, 4]);
});

test('removing rows frees space and counts no drops', () => {
  const rows = new BoundedRows({ record_queue: 100, record_queue_bytes: 10 });
  rows.push(row('a', '12345'));
  rows.push(row('b', '12345'));
  expect(rows.remove(1).map(({ execution_id }) => execution_id)).toEqual(['a']);
  rows.push(row('c', '12345'));
  expect([ids(rows), rows.dropped, rows.left]).toEqual([['b', 'c'], 0, 1]);
});
