import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { retentionCell } from '../storage/retention-clock.ts';
import { automationLimits } from './limits.ts';
import { type OpenRecordWriter, openRecordThread } from './open-record-writer.ts';
import { createRunReader } from './store/run-store.ts';
import { openRuntimeDatabase } from './store/runtime-database.ts';

const row = { execution_id: '0192a000-0000-7000-8000-000000000001', rule_id: 1, unchanged: false, record: '"run"' };
const batch = { rows: [row], states: [], gone: [], claims: [], segments: [] };

describe('the record thread', () => {
  let dataFolder: string;
  let file: string;
  let writer: OpenRecordWriter | undefined;
  beforeEach(() => {
    dataFolder = mkdtempSync(join(tmpdir(), 'setpoint-records-'));
    file = join(dataFolder, 'runtime.sqlite');
  });
  afterEach(async () => {
    await writer?.end();
    rmSync(dataFolder, { recursive: true, force: true });
  });
  const open = (isStored: boolean): OpenRecordWriter => {
    const retention = retentionCell(0);
    const data = { database: file, dataFolder, retention, limits: automationLimits, logLevel: 'silent' as const };
    writer = openRecordThread(data, isStored, systemClock, silentLog);
    return writer;
  };
  // The thread opens the database first.
  const begins = () => expect.poll(() => existsSync(file)).toBe(true);

  test('begins with the first run where nothing is stored', async () => {
    const opened = open(false);
    expect(await opened.settled(1)).toBe(true);
    expect(existsSync(file)).toBe(false);
    await opened.take(batch);
    expect(await opened.settled(1)).toBe(true);
    const database = openRuntimeDatabase(file);
    expect(await createRunReader(database).page(1, undefined, 10)).toEqual(['"run"']);
    await database.close();
  });

  test('that never began has nothing to close, and is not begun by a call after the end', async () => {
    const opened = open(false);
    expect(await opened.close()).toEqual([]);
    await opened.end();
    await expect(opened.take(batch)).rejects.toThrow('executions are not being stored now');
    expect(existsSync(file)).toBe(false);
  });

  test('begins at once where runs are stored, which retention will remove', async () => {
    open(true);
    await begins();
  });

  test('begins at once where the journal holds runs that a process left', async () => {
    mkdirSync(join(dataFolder, 'journal'));
    writeFileSync(join(dataFolder, 'journal', 'left.runs'), '');
    open(false);
    await begins();
  });
});
