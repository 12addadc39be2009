import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openJournal } from './row-journal.ts';

interface Row {
  readonly number: number;
  readonly text: string;
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && 'number' in value;

const row = (number: number, text = 'line\nbreak'): Row => ({ number, text });

describe('the journal', () => {
  let folder: string;
  beforeEach(() => {
    synced = [];
    folder = join(mkdtempSync(join(tmpdir(), 'setpoint-journal-')), 'journal');
  });
  /** What the journal does with the disk, in its order. */
  let synced: string[][];
  const opened = () => openJournal({ folder, isRow, sync: () => void synced.push(files()) });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));
  const files = (): string[] => readdirSync(folder).map((name) => join(folder, name));

  test('has the rows of a crash, for the service only, until they are released', () => {
    const first = opened();
    expect(first.left()).toEqual([]);
    first.append([row(1), row(2)], 2);
    first.append([row(3)], 3);
    expect(statSync(files()[0] ?? '').mode & 0o077).toBe(0);
    const second = opened();
    expect(second.left()).toEqual([row(1), row(2), row(3)]);
    second.append([row(4)], 1);
    second.forget();
    expect(opened().left()).toEqual([row(4)]);
  });

  test('files of earlier versions, which kept runs only, are read as well', () => {
    opened().append([row(1)], 1);
    const [file = ''] = files();
    renameSync(file, file.replace(/\.rows$/, '.runs'));
    expect(opened().left()).toEqual([row(1)]);
    const journal = opened();
    journal.forget();
    expect(files()).toEqual([]);
  });

  test('a file goes when all its rows are stored; the next one begins at 1 MiB', () => {
    const journal = opened();
    // Text that does not compress.
    const long = randomBytes(700_000).toString('base64');
    journal.append([row(1, long)], 1);
    for (let number = 2; files().length < 2; number++) journal.append([row(number, `${number}${long}`)], number);
    const last = opened().left().length;
    journal.stored(last - 1);
    expect(opened().left()).toEqual([expect.objectContaining({ number: last })]);
    journal.stored(last);
    expect(files()).toEqual([]);
  });

  test('a file is removed only when its rows are synced', () => {
    const first = opened();
    first.append([row(1), row(2)], 2);
    first.stored(1);
    expect(synced).toEqual([]);
    const [file = ''] = files();
    first.stored(2);
    expect([synced, files()]).toEqual([[[file]], []]);
    first.append([row(3)], 3);
    const full = (): never => {
      throw new Error('no space left on device');
    };
    const second = openJournal({ folder, isRow, sync: full });
    second.append([row(4)], 1);
    second.stored(1);
    second.forget();
    expect(files()).toHaveLength(2);
    expect(opened().left()).toEqual([row(3), row(4)]);
  });

  test('of a truncated file, exactly the complete frames are read', () => {
    const journal = opened();
    const ends = [0];
    for (let number = 1; number <= 4; number++) {
      journal.append([row(number)], number);
      ends.push(statSync(files()[0] ?? '').size);
    }
    const [file = ''] = files();
    const whole = readFileSync(file);
    fc.assert(
      fc.property(fc.nat(whole.length), fc.uint8Array({ maxLength: 20 }), (length, garbage) => {
        writeFileSync(file, whole.subarray(0, length));
        appendFileSync(file, garbage);
        const read = opened().left();
        const certain = ends.filter((end) => end <= length).length - 1;
        expect(read.slice(0, certain)).toEqual([1, 2, 3, 4].slice(0, certain).map((number) => row(number)));
        // Garbage may complete a frame only by being what was cut off.
        expect(read.every((each) => each.text === row(1).text)).toBe(true);
      }),
    );
  });
});
