/** Files of values: strict, every error with its line, bounded memory [points §6.2]. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseTimestamp } from '../base/timestamp.ts';
import { quality, recordedQuality } from '../site/quality.ts';
import { engines } from '../testing/engines.ts';
import { exportedRows, historyOn } from '../testing/histories.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import type { HistoryRow } from './historian.ts';
import {
  columnsMax,
  csvHeader,
  csvLine,
  type FileRow,
  faultsMax,
  HistoryFileError,
  jsonLine,
  lineBytesMax,
  openHistoryFile,
} from './history-file.ts';
import { checkFile, storeFile } from './import.ts';

const series = { instance: 2, point: 1 };
const nowMs = Date.UTC(2026, 6, 12);
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string | Uint8Array) {
  const path = join(folder, 'values.csv');
  writeFileSync(path, text);
  return openHistoryFile(path, 'values.csv', nowMs);
}
function rowsOf(text: string | Uint8Array): FileRow[] {
  const file = fileOf(text);
  try {
    return [...file.rows()];
  } finally {
    file.close();
  }
}
function faultsOf(text: string | Uint8Array): string[] {
  try {
    rowsOf(text);
  } catch (error) {
    if (error instanceof HistoryFileError) return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('[points §6.2] History import: the file', () => {
  test('values, missing values and qualities; CRLF and a last line without an end', () => {
    const text = 'time,value,quality\r\n2026-07-11T10:45:00Z,-1.5e3,uncertain\r\n2026-07-11T10:46:00.5Z,,bad';
    expect(rowsOf(text)).toEqual([
      { series: null, eventMs: Date.UTC(2026, 6, 11, 10, 45), value: -1500, quality: quality.uncertain },
      { series: null, eventMs: Date.UTC(2026, 6, 11, 10, 46, 0, 500), value: null, quality: quality.bad },
    ]);
    expect(rowsOf('time,value\n2026-07-11T10:45:00Z,0\n2026-07-11T10:45:00Z,\n').map((row) => row.value)).toEqual([
      0,
      null,
    ]);
    expect(rowsOf('time,value\n')).toEqual([]);
  });

  test.each([
    ['no header', '2026-07-11T10:45:00Z,1\n'],
    ['an empty file', ''],
    ['other columns', 'value,time\n'],
    ['commas and semicolons', 'time;value,quality\n'],
    ['tabs', 'time\tvalue\n'],
    ['a column that is not a point', 'time,2:1,load\n'],
    ['a point beyond what a wire id can be', 'time,4294967296:1\n'],
    ['quoted columns', '"time","value"\n'],
  ])('%s is refused', (_, text) => {
    expect(faultsOf(text)).toEqual([
      'values.csv:1: the header must be time,value or time,value,quality, or time and a column for each point, such as time,2:1,6:2',
    ]);
  });

  test('semicolons, with decimals that have a comma or a point', () => {
    expect(
      rowsOf(
        'time;value;quality\n2026-07-11T10:45:00Z;-0,5;good\n2026-07-11T10:46:00Z;1.5;uncertain\n2026-07-11T10:47:00Z;;bad\n',
      ).map(({ value }) => value),
    ).toEqual([-0.5, 1.5, null]);
    expect(rowsOf('time;2:1;6:2\n2026-07-11T10:45:00Z;1,25;\n').map(({ value }) => value)).toEqual([1.25, null]);
    for (const text of ['1.234,5', '1,234,5', '1,', ',5'])
      expect(faultsOf(`time;value\n2026-07-11T10:45:00Z;${text}\n`)).toEqual([
        'values.csv:2: the value must be a finite number or empty',
      ]);
    // With commas as separators, a decimal comma makes one field more.
    expect(faultsOf('time,value\n2026-07-11T10:45:00Z,0,5\n')).toEqual([
      'values.csv:2: has 3 fields; the header has 2',
    ]);
  });

  test('a byte order mark at the start, and empty lines at the end', () => {
    expect(rowsOf('\uFEFFtime,value\r\n2026-07-11T10:45:00Z,1\r\n\r\n\n').map(({ value }) => value)).toEqual([1]);
    expect(faultsOf('time,value\n\uFEFF2026-07-11T10:45:00Z,1\n')).toHaveLength(1);
  });

  test('a column for each point: a row for each, an empty field is a missing value', () => {
    const text = 'time,2:1,6:2\n2026-07-11T10:45:00Z,1,\n2026-07-11T10:46:00Z,2,3\n';
    expect(rowsOf(text).map(({ series: of, value, quality: code }) => [of?.instance, of?.point, value, code])).toEqual([
      [2, 1, 1, quality.good],
      [6, 2, null, quality.missing],
      [2, 1, 2, quality.good],
      [6, 2, 3, quality.good],
    ]);
    expect(faultsOf('time,2:1,6:2\n2026-07-11T10:45:00Z,1,x\n')).toEqual([
      'values.csv:2: 6:2: the value must be a finite number or empty',
    ]);
    expect(faultsOf('time,2:1,2:1\n')).toEqual(['values.csv:1: names the point 2:1 twice']);
  });

  test('columnsMax: so many points, not one more', () => {
    const header = (count: number): string =>
      `time,${Array.from({ length: count }, (_, index) => `1:${index}`).join()}\n`;
    expect(faultsOf(header(columnsMax))).toEqual([]);
    expect(faultsOf(header(columnsMax + 1))).toEqual([
      `values.csv:1: has ${columnsMax + 1} points; at most ${columnsMax}`,
    ]);
  });

  test.each([
    ['2026-07-11T10:45:00Z', 'fields'],
    ['2026-07-11T10:45:00Z,1,good', 'fields'],
    ['', 'is empty; only the end'],
    ['2026-07-11T10:45:00+02:00,1', 'RFC 3339 UTC'],
    ['2026-07-11 10:45:00Z,1', 'RFC 3339 UTC'],
    ['2026-02-30T10:45:00Z,1', 'RFC 3339 UTC'],
    [' 2026-07-11T10:45:00Z,1', 'RFC 3339 UTC'],
    ['2026-07-12T00:00:00.001Z,1', 'future'],
    ['2026-07-11T10:45:00Z,NaN', 'finite number'],
    ['2026-07-11T10:45:00Z,Infinity', 'finite number'],
    ['2026-07-11T10:45:00Z,1e999', 'finite number'],
    ['2026-07-11T10:45:00Z,0x10', 'finite number'],
    ['2026-07-11T10:45:00Z,1 ', 'finite number'],
    ['2026-07-11T10:45:00Z,+1', 'finite number'],
    ['2026-07-11T10:45:00Z,01', 'finite number'],
    ['2026-07-11T10:45:00Z,\u0661', 'finite number'],
  ])('[points §6.2] the line "%s" is refused', (line, reason) => {
    const [fault, ...more] = faultsOf(`time,value\n2026-07-11T10:45:00Z,1\n${line}\n2026-07-11T10:47:00Z,2\n`);
    expect(fault).toMatch(/^values\.csv:3: /);
    expect(fault).toContain(reason);
    expect(more).toEqual([]);
  });

  test.each([
    ['1,great', 'the quality must be one of'],
    ['1,constructor', 'the quality must be one of'],
    ['1,bad', 'a bad row has no value'],
    [',good', 'a good row needs a value'],
    [',', 'the quality must be one of'],
  ])('[points §6.2] value and quality "%s" are refused', (fields, reason) => {
    expect(faultsOf(`time,value,quality\n2026-07-11T10:45:00Z,${fields}\n`)).toEqual([
      expect.stringContaining(`values.csv:2: ${reason}`),
    ]);
  });

  test('the current time is not in the future', () => {
    expect(rowsOf('time,value\n2026-07-12T00:00:00Z,1\n')).toHaveLength(1);
  });

  test('faultsMax: at most that many faults are reported, with a note that there may be more', () => {
    const faults = (count: number) => faultsOf(`time,value\n${'x,1\n'.repeat(count)}`);
    expect(faults(faultsMax - 1)).toHaveLength(faultsMax - 1);
    expect(faults(faultsMax + 5)).toHaveLength(faultsMax + 1);
    expect(faults(faultsMax + 5).at(-1)).toBe('values.csv: and perhaps more');
  });

  test('lineBytesMax: a line at the limit is read, a longer one ends the reading', () => {
    const start = '2026-07-11T10:45:00Z,';
    const line = (bytes: number): string => `${start}0.${'1'.repeat(bytes - start.length - 2)}`;
    expect(rowsOf(`time,value\n${line(lineBytesMax)}\n`)).toHaveLength(1);
    expect(faultsOf(`time,value\n${line(lineBytesMax + 1)}\n`)).toEqual([
      `values.csv:2: is longer than ${lineBytesMax} bytes`,
    ]);
    // A file that is one endless line is not read into memory.
    expect(faultsOf(new Uint8Array(5_000_000).fill(0x61))).toEqual([
      `values.csv:1: is longer than ${lineBytesMax} bytes`,
    ]);
  });

  test('lines on the edges of the chunks in which a file is read stay whole', () => {
    const times = Array.from({ length: 9000 }, (_, index) => Date.UTC(2026, 0, 1) + index * 60_000);
    const text = `time,value\n${times.map((time, index) => `${new Date(time).toISOString()},${index}\n`).join('')}`;
    const rows = rowsOf(text);
    expect(rows.map((row) => row.eventMs)).toEqual(times);
    expect(rows.map((row) => row.value)).toEqual(times.map((_, index) => index));
  });

  test('no bytes make the reader do anything but read or refuse', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...Array.from('0123456789-:TZ.,\r\ngoodbade+')) }),
    );
    fc.assert(
      fc.property(text, fc.boolean(), (lines, third) => {
        const given = `time,value${third ? ',quality' : ''}\n${lines}`;
        for (const row of faultsOf(given).length > 0 ? [] : rowsOf(given)) {
          expect(row.eventMs).toBeLessThanOrEqual(nowMs);
          expect(row.value === null || Number.isFinite(row.value)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe.each(engines)('[points §6.2] History import: the store, on %s', (engine) => {
  const history = historyOn(engine);
  const clock = simulatedClock();

  async function imported(text: string, ingestedAt: number | 'event-time', once = false) {
    const { historian, clear } = history();
    if (!once) await clear();
    const file = fileOf(text);
    const checked = checkFile(file);
    const report = await storeFile(historian, file, { series, ingestedAt, once }, clock, () => undefined);
    file.close();
    const rows = await exportedRows(historian, { series });
    return { checked, report, rows };
  }

  test('[points §6.2] equal times are all kept, the later row is the newer; ingestion is the moment of import', async () => {
    const text = 'time,value\n2026-07-11T10:46:00Z,3\n2026-07-11T10:45:00Z,1\n2026-07-11T10:45:00Z,2\n';
    const { checked, report, rows } = await imported(text, nowMs);
    expect(rows.map((row) => [row.value, row.ingestedMs])).toEqual([
      [1, nowMs],
      [2, nowMs],
      [3, nowMs],
    ]);
    expect([checked.rows, report.duplicates]).toEqual([3, 1]);
    expect(checked.firstMs).toBe(parseTimestamp('2026-07-11T10:45:00Z'));
    expect(checked.lastMs).toBe(parseTimestamp('2026-07-11T10:46:00Z'));
  });

  test('[points §6.2] --once: stored rows are skipped', async () => {
    await imported('time,value\n2026-07-11T10:45:00Z,1\n', nowMs);
    const { report, rows } = await imported(
      'time,value\n2026-07-11T10:45:00Z,1\n2026-07-11T10:46:00Z,2\n',
      nowMs,
      true,
    );
    expect(report).toEqual({ duplicates: 0, skipped: 1 });
    expect(rows.map(({ value }) => value)).toEqual([1, 2]);
  });

  test('[points §6.2] --ingested-at-event-time: each row appears as recorded at its time', async () => {
    const { rows } = await imported('time,value\n2026-07-11T10:45:00Z,1\n2026-07-11T10:46:00Z,2\n', 'event-time');
    for (const row of rows) expect(row.ingestedMs).toBe(row.eventMs);
    expect(rows).toHaveLength(2);
  });

  test('a CSV export can be imported unchanged', async () => {
    const row = fc.record({
      second: fc.integer({ min: 0, max: 86_400_000 - 1 }),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }),
      code: fc.constantFrom(...Object.values(recordedQuality)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (given) => {
        const rows = given
          .map(({ second, value, code }): HistoryRow => {
            const eventMs = Date.UTC(2026, 6, 11) + second;
            const numeric = code === quality.good || code === quality.uncertain;
            // -0 is stored as 0.
            return { series, eventMs, ingestedMs: eventMs, value: numeric ? value + 0 : null, quality: code };
          })
          .toSorted((a, b) => a.eventMs - b.eventMs);
        const { rows: again } = await imported(csvHeader + rows.map(csvLine).join(''), 'event-time');
        expect(again).toEqual(rows);
      }),
      { numRuns: 30 },
    );
  });

  test('[points §6.2] a line of JSON names the ingestion time', () => {
    const row: HistoryRow = { series, eventMs: nowMs - 1500, ingestedMs: nowMs, value: null, quality: quality.missing };
    expect(JSON.parse(jsonLine(row))).toEqual({
      time: '2026-07-11T23:59:58.500Z',
      value: null,
      quality: 'missing',
      ingested_at: '2026-07-12T00:00:00Z',
    });
  });
});
