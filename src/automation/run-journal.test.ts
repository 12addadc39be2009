import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunRow } from './run-blocks.ts';
import { openRunJournal } from './run-journal.ts';

const row = (number: number, record = '{"text":"line\\nbreak"}'): RunRow => ({
  execution_id: `run-${number}`,
  rule_id: 1,
  unchanged: false,
  record,
});

describe('the journal of runs', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'setpoint-journal-')), 'journal');
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));
  const files = (): string[] => readdirSync(folder).map((name) => join(folder, name));

  test('holds what an end without warning left, for the service alone, until that is forgotten', () => {
    const first = openRunJournal(folder);
    expect(first.left()).toEqual([]);
    first.append([row(1), row(2)], 2);
    first.append([row(3)], 3);
    expect(statSync(files()[0] ?? '').mode & 0o077).toBe(0);
    const second = openRunJournal(folder);
    expect(second.left()).toEqual([row(1), row(2), row(3)]);
    second.append([row(4)], 1);
    second.forget();
    expect(openRunJournal(folder).left()).toEqual([row(4)]);
  });

  test('a file goes when all its runs are stored; the next one begins at 1 MiB', () => {
    const journal = openRunJournal(folder);
    // Text that does not compress.
    const long = randomBytes(700_000).toString('base64');
    journal.append([row(1, long)], 1);
    for (let number = 2; files().length < 2; number++) journal.append([row(number, `${number}${long}`)], number);
    const last = openRunJournal(folder).left().length;
    journal.stored(last - 1);
    expect(openRunJournal(folder).left()).toEqual([expect.objectContaining({ execution_id: `run-${last}` })]);
    journal.stored(last);
    expect(files()).toEqual([]);
  });

  test('whatever a cut leaves of a file, the frames before it are read and nothing else', () => {
    const journal = openRunJournal(folder);
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
        const read = openRunJournal(folder).left();
        const certain = ends.filter((end) => end <= length).length - 1;
        expect(read.slice(0, certain)).toEqual([1, 2, 3, 4].slice(0, certain).map((number) => row(number)));
        // Garbage may complete a frame only by being what was cut off.
        expect(read.every((each) => each.record === row(1).record)).toBe(true);
      }),
    );
  });
});
