/** Rows that an engine could not store before it ended are stored later, exactly once (docs/guides/several-machines.md). */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { engines, type TestPlaces, testPlaces } from '../testing/engines.ts';
import { isRunRow, recordSpool } from './record-spool.ts';
import type { RunRow } from './run-blocks.ts';
import { createRunReader, createRunStore } from './store/run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from './store/runtime-database.ts';

const row = (number: number): RunRow => ({
  execution_id: `execution-${number}`,
  rule_id: 1,
  unchanged: false,
  record: `{"number":${number},"text":"line\\nbreak"}`,
});

describe.each(engines)('the spool of executions, stored on %s', (engine) => {
  let places: TestPlaces;
  let database: RuntimeDatabase;
  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openRuntimeDatabase(places.runtime);
    await database.ready();
  });
  afterEach(async () => {
    await database.close();
    await places.remove();
  });

  test('is stored once, unchanged; an execution whose commit was not acknowledged is already stored', async () => {
    const spool = recordSpool(places.folder);
    const store = createRunStore(database);
    await store.append({ rows: [row(1)], states: [], gone: [], claims: [], segments: [] });
    await spool.keep([row(1), row(2)]);
    await spool.keep([row(3)]);
    expect(await recordSpool(places.folder).store(store.restore)).toBe(3);
    expect(await createRunReader(database).page(1, undefined, 9)).toEqual([3, 2, 1].map((n) => row(n).record));
    expect(readdirSync(join(places.folder, 'spool'))).toEqual([]);
  });

  test('an execution is stored with any text', async () => {
    const spool = recordSpool(places.folder);
    const odd = { ...row(2), record: '"a\0b"' };
    await spool.keep([row(1), odd]);
    expect(await spool.store(createRunStore(database).restore)).toBe(2);
    expect(await createRunReader(database).page(1, undefined, 9)).toEqual([odd.record, row(1).record]);
  });

  test('a line that is not an execution is ignored', async () => {
    const spool = recordSpool(places.folder);
    await spool.keep([row(1)]);
    writeFileSync(join(places.folder, 'spool', 'x.jsonl'), '{"execution_id":1}\n');
    await expect(spool.store(createRunStore(database).restore)).rejects.toThrow(
      'x.jsonl in spool holds something else',
    );
    expect(await createRunReader(database).page(1, undefined, 9)).toEqual([row(1).record]);
  });
});

test('a row counts as one only with every field of its type', () => {
  const row = { execution_id: 'a', rule_id: 1, unchanged: false, record: '{}' };
  expect(isRunRow(row)).toBe(true);
  const damaged = [null, 'row', [], { ...row, execution_id: 1 }, { ...row, rule_id: 1.5 }, { ...row, rule_id: '1' }];
  expect([...damaged, { ...row, unchanged: 0 }, { ...row, record: {} }].filter(isRunRow)).toEqual([]);
  for (const name of Object.keys(row)) expect(isRunRow({ ...row, [name]: undefined }), name).toBe(false);
});
