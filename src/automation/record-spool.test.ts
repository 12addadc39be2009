/** What an engine could not store before it ended is stored later, once (docs/guides/several-machines.md). */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRuntimeDatabase, type RuntimeDatabase } from '../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../testing/engines.ts';
import { createHistoryReader, createHistoryStore, type HistoryRow } from './history-store.ts';
import { recordSpool } from './record-spool.ts';

const row = (number: number): HistoryRow => ({
  execution_id: `execution-${number}`,
  rule_id: 1,
  started_at: new Date(number).toISOString(),
  outcome: 'acted',
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

  test('keeps what is given, in order, and stores it once; a crash in between repeats nothing', async () => {
    const spool = recordSpool(places.folder);
    const store = createHistoryStore(database);
    expect(await spool.store(store)).toBe(0);
    spool.keep([]);
    await store.append([row(1)], [], []);
    // The first is in the database already: the answer to its commit was lost.
    spool.keep([row(1), row(2)]);
    spool.keep([row(3)]);
    writeFileSync(join(places.folder, 'spool', 'x.jsonl.draft'), '{"half');
    await expect(spool.store({ restore: () => Promise.reject(new Error('away')) })).rejects.toThrow('away');
    expect(await recordSpool(places.folder).store(store)).toBe(3);
    expect(await createHistoryReader(database).page(1, undefined, 9)).toEqual([3, 2, 1].map((n) => row(n).record));
    expect(readdirSync(join(places.folder, 'spool'))).toEqual(['x.jsonl.draft']);
  });

  test('a damaged file is named and left for a person, and those after it are stored', async () => {
    const spool = recordSpool(places.folder);
    const store = createHistoryStore(database);
    for (const text of ['{"half', '{"execution_id":1}', 'null']) {
      spool.keep([row(1)]);
      const [first = ''] = readdirSync(join(places.folder, 'spool')).filter((name) => name.endsWith('.jsonl'));
      writeFileSync(join(places.folder, 'spool', first), `${JSON.stringify(row(2))}\n${text}\n`);
      spool.keep([row(3)]);
      await expect(spool.store(store)).rejects.toThrow(`${first} in spool holds something else than executions`);
      expect(await spool.store(store)).toBe(1);
      expect(readdirSync(join(places.folder, 'spool'))).toContain(`${first}.damaged`);
    }
    expect(await spool.store(store)).toBe(0);
    expect(await createHistoryReader(database).page(1, undefined, 9)).toEqual([row(3).record]);
  });
});
