/** Rows that a database did not take are kept, and taken later, a bounded number at a time (docs/guides/several-machines.md). */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { type SpoolLimits, spoolLimits } from './limits.ts';
import { openSpool, type Spool } from './spool.ts';

interface Row {
  readonly n: number;
  readonly text?: string;
}
const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && 'n' in value && Number.isInteger(value.n);
const row = (n: number): Row => ({ n, text: 'Ä "😀"\n' });

let folder = '';
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'setpoint-spool-')), 'spool');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const open = (limits: Partial<SpoolLimits> = {}): Spool<Row> =>
  openSpool({ folder, what: 'rows', isRow, limits: { ...spoolLimits, ...limits } });
const files = (): string[] => readdirSync(folder);
const only = (): string => join(folder, files()[0] ?? '');

/** Every file that there is to keep, as an ending engine has them kept. */
async function keepAll(spool: Spool<Row>, rows: readonly Row[]): Promise<void> {
  for (let kept = 0; kept < rows.length; ) kept = await spool.keep(rows, kept);
}

/** The stored rows, in their batches. */
async function stored(spool: Spool<Row>): Promise<(readonly number[])[]> {
  const batches: (readonly number[])[] = [];
  await spool.store(async (rows) => void batches.push(rows.map(({ n }) => n)));
  return batches;
}

describe('spool', () => {
  test('keeps rows as they are, in order, stores them once and removes their files', async () => {
    const spool = open();
    expect(await spool.store(() => Promise.reject(new Error('nothing is kept')))).toBe(0);
    expect(await spool.keep([])).toBe(0);
    expect(await spool.keep([row(1), row(2)])).toBe(2);
    expect(await spool.keep([row(1), row(2), row(3)], 2)).toBe(3);
    expect(files()).toHaveLength(2);
    const taken: Row[] = [];
    expect(await open().store(async (rows) => void taken.push(...rows))).toBe(3);
    expect(taken).toEqual([row(1), row(2), row(3)]);
    expect(files()).toEqual([]);
    expect(await spool.store(() => Promise.reject(new Error('nothing is kept')))).toBe(0);
  });

  test('an unavailable database leaves the file; a partly stored file is stored again as a whole', async () => {
    const spool = open({ turn_rows: 2 });
    await spool.keep([1, 2, 3].map(row));
    await spool.keep([row(4)]);
    const batches: number[][] = [];
    const away = new Fault('storage-unavailable', 'away');
    const once = (rows: readonly Row[]): Promise<void> => {
      if (batches.length === 1) return Promise.reject(away);
      return Promise.resolve(void batches.push(rows.map(({ n }) => n)));
    };
    await expect(spool.store(once)).rejects.toBe(away);
    expect(batches).toEqual([[1, 2]]);
    expect(await stored(spool)).toEqual([[1, 2], [3], [4]]);
  });

  test('two that store at once store everything, and are not in each other’s way', async () => {
    const rows = Array.from({ length: 40 }, (_, n) => ({ n }));
    await keepAll(open({ file_rows: 3 }), rows);
    const both = await Promise.all([stored(open({ turn_rows: 1 })), stored(open())]);
    expect(new Set(both.flat(2))).toEqual(new Set(rows.map(({ n }) => n)));
    expect(files()).toEqual([]);
  });

  test('rows that the database refuses for good are set aside, all others are stored in their order', async () => {
    const spool = open();
    await spool.keep([1, 2, 3, 4, 5].map(row));
    await spool.keep([row(6)]);
    const name = basename(only());
    const bytes = readFileSync(only());
    const taken: number[] = [];
    const picky = async (rows: readonly Row[]): Promise<unknown> => {
      if (rows.some(({ n }) => n === 2 || n === 5)) throw new Fault('invalid-input', 'not this one');
      return taken.push(...rows.map(({ n }) => n));
    };
    await expect(spool.store(picky)).rejects.toThrow(
      `${name} in spool holds rows that cannot be stored (not this one), first in line 2; the other lines are stored, and the file is now ${name}.damaged`,
    );
    expect(taken).toEqual([1, 3, 4, 6]);
    expect(files()).toEqual([`${name}.damaged`]);
    expect(readFileSync(only())).toEqual(bytes);
    expect(await spool.store(picky)).toBe(0);
  });

  test('of an unreadable line and a refused row, the first one is named', async () => {
    await open().keep([1, 2].map(row));
    writeFileSync(only(), `${readFileSync(only(), 'utf8')}{"half\n`);
    const refuse = (): Promise<void> => Promise.reject(new Fault('invalid-input', 'not this one'));
    await expect(open().store(refuse)).rejects.toThrow('that cannot be stored (not this one), first in line 1;');
  });

  test('a database that fails while single rows are tried leaves the file unchanged', async () => {
    const spool = open();
    await spool.keep([1, 2, 3].map(row));
    const away = new Fault('storage-unavailable', 'away');
    const picky = (rows: readonly Row[]): Promise<void> =>
      Promise.reject(rows.length > 1 ? new Fault('invalid-input', 'not these') : away);
    await expect(spool.store(picky)).rejects.toBe(away);
    expect((await stored(spool)).flat()).toEqual([1, 2, 3]);
  });

  test.each([
    ['half a line', '{"half\n'],
    ['no row of ours', '{"n":"1"}\n'],
    ['null', 'null\n'],
    ['bytes that are no text', Buffer.from([0x22, 0xff, 0x22, 10])],
    ['an end that was torn off', '{"n":9'],
  ])(
    'a damaged file is named and left for a person, its other lines and later files are stored: %s',
    async (_, bad) => {
      const spool = open();
      await spool.keep([row(1)]);
      const name = files()[0] ?? '';
      writeFileSync(
        join(folder, name),
        Buffer.concat([readFileSync(join(folder, name)), Buffer.from('\n'), Buffer.from(bad)]),
      );
      await spool.keep([row(2)]);
      const taken: number[] = [];
      const take = async (rows: readonly Row[]): Promise<unknown> => taken.push(...rows.map(({ n }) => n));
      await expect(spool.store(take)).rejects.toThrow(
        `${name} in spool holds something else than rows, first in line 3; the other lines are stored, and the file is now ${name}.damaged`,
      );
      expect(taken).toEqual([1, 2]);
      expect(files()).toEqual([`${name}.damaged`]);
      expect(await spool.store(take)).toBe(0);
    },
  );

  test('a file that cannot be read stays, and keeps no others from being stored', async () => {
    const spool = open();
    await spool.keep([row(1)]);
    const unreadable = only();
    rmSync(unreadable);
    await spool.keep([row(2)]);
    // Opening it is an error of the file system.
    symlinkSync(unreadable, unreadable);
    const taken: number[] = [];
    await expect(spool.store(async (rows) => taken.push(...rows.map(({ n }) => n)))).rejects.toThrow('ELOOP');
    expect(taken).toEqual([2]);
  });
});

describe('a writer that was ended in the middle', () => {
  test('a draft is recovered up to its last complete row; drafts that are started later are not touched', async () => {
    const spool = open({ turn_bytes: 8 });
    await spool.keep([1, 2, 3].map(row));
    const file = only();
    const text = readFileSync(file);
    const lengths = [text.length, text.length - 1, text.indexOf(10) + 1, text.indexOf(10), 1, 0];
    const rows = [[1, 2, 3], [1, 2], [1], [], [], []];
    rmSync(file);
    for (const [index, length] of lengths.entries()) {
      writeFileSync(`${file}.draft`, text.subarray(0, length));
      expect(await stored(spool)).toEqual([]);
      await spool.recover();
      expect((await stored(spool)).flat()).toEqual(rows[index]);
      expect(files()).toEqual([]);
    }
    const recovering = spool.recover();
    writeFileSync(`${file}.draft`, text);
    await recovering;
    expect(files()).toHaveLength(1);
  });

  test('a disk that is full leaves no half of a file under a whole one’s name', async () => {
    const spool = open();
    const cyclic: { n: number; self?: unknown } = { n: 2 };
    cyclic.self = cyclic;
    await expect(spool.keep([row(1), cyclic])).rejects.toThrow('circular');
    expect(files().every((name) => name.endsWith('.draft'))).toBe(true);
    await spool.recover();
    expect(files()).toEqual([]);
  });
});

/** The most calls of `count` between two turns of the event loop, while `work` is done. */
async function mostInOneTurn(work: (count: () => void) => Promise<unknown>): Promise<number> {
  let [most, now, ended] = [0, 0, false];
  const turn = (): void => {
    most = Math.max(most, now);
    now = 0;
    if (!ended) setImmediate(turn);
  };
  setImmediate(turn);
  await work(() => void now++);
  ended = true;
  return Math.max(most, now);
}

describe('limits of the spool', () => {
  test('turn_rows: at most so many rows are written or read in one turn of the event loop, and taken together', async () => {
    const limits = { ...spoolLimits, turn_rows: 100 };
    const rows = Array.from({ length: 1001 }, (_, n) => ({ n }));
    const written = await mostInOneTurn(async (count) => {
      const counted = rows.map(({ n }) => ({ toJSON: () => (count(), { n }), n }));
      await openSpool({ folder, what: 'rows', isRow, limits }).keep(counted);
    });
    expect(written).toBe(100);
    const batches: number[] = [];
    const read = await mostInOneTurn(async (count) => {
      const counted = (value: unknown): value is Row => (count(), isRow(value));
      const counting = { folder, what: 'rows', isRow: counted, limits };
      await openSpool(counting).store(async ({ length }) => batches.push(length));
    });
    expect(read).toBe(100);
    expect(batches).toEqual([...Array<number>(10).fill(100), 1]);
  });

  test('turn_bytes: a turn ends with the row that exceeds it; a larger row is a turn by itself', async () => {
    const text = 'x'.repeat(100);
    const rows = [{ n: 1, text }, { n: 2 }, { n: 3 }, { n: 4, text }, { n: 5 }];
    await open().keep(rows);
    // Two short rows are 16 bytes.
    expect(await stored(open({ turn_bytes: 16 }))).toEqual([[1], [2, 3], [4], [5]]);
    await open().keep(rows);
    expect(await stored(open({ turn_bytes: 15 }))).toEqual([[1], [2], [3], [4], [5]]);
  });

  test('line_bytes: a line of so many bytes is a row, of one more it is damage; the rows around it are stored', async () => {
    await open().keep([{ n: 1 }, { n: 2, text: 'x'.repeat(40) }, { n: 3 }]);
    const lineBytes = (readFileSync(only(), 'utf8').split('\n')[1] ?? '').length;
    await expect(stored(open({ line_bytes: lineBytes - 1, turn_bytes: 20 }))).rejects.toThrow('first in line 2;');
    renameSync(only(), only().replace('.damaged', ''));
    expect(await stored(open({ line_bytes: lineBytes, turn_bytes: 20 }))).toEqual([[1], [2], [3]]);
  });

  test('file_rows, file_bytes: a file ends at either; stored files are removed, whatever follows', async () => {
    const spool = open({ file_rows: 3, turn_rows: 2 });
    const rows = Array.from({ length: 7 }, (_, n) => ({ n }));
    expect([await spool.keep(rows), await spool.keep(rows, 3), await spool.keep(rows, 6)]).toEqual([3, 6, 7]);
    let calls = 0;
    const twice = (): Promise<void> =>
      ++calls > 2 ? Promise.reject(new Fault('storage-unavailable', 'away')) : Promise.resolve();
    await expect(spool.store(twice)).rejects.toThrow('away');
    expect(files()).toHaveLength(2);
    expect((await stored(spool)).flat()).toEqual([3, 4, 5, 6]);
    // Rows of 8 bytes, one a turn.
    expect(await open({ file_bytes: 16, turn_rows: 1 }).keep(rows)).toBe(2);
    expect(await open({ file_bytes: 17, turn_rows: 1 }).keep(rows)).toBe(3);
  });

  test('for any rows and limits, all spooled rows are stored', async () => {
    const limit = fc.integer({ min: 1, max: 40 });
    const limits = fc.record({ turn_rows: limit, turn_bytes: limit, file_rows: limit, file_bytes: limit });
    const rowsOf = fc.array(fc.record({ n: fc.integer(), text: fc.string({ unit: 'binary' }) }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(rowsOf, limits, limits, async (rows, writing, reading) => {
        await keepAll(open(writing), rows);
        const taken: Row[] = [];
        expect(await open(reading).store(async (some) => taken.push(...some))).toBe(rows.length);
        expect(taken).toEqual(rows);
      }),
      { numRuns: 30 },
    );
  });
});
