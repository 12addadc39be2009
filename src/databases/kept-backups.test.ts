/** Backups at regular intervals [platform §4.4]: which of them stay, and the note of the last one. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lastBackupMs, placeOfBackup, rememberBackup, removeOlderBackups } from './kept-backups.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'setpoint-kept-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const dayMs = 86_400_000;
const firstMs = Date.UTC(2026, 10, 28, 3, 15);
/** Of the day after `days` days. */
const placeOf = (days: number): string => placeOfBackup(folder, firstMs + days * dayMs);
const make = (days: number, isComplete = true): void => {
  mkdirSync(placeOf(days));
  writeFileSync(join(placeOf(days), isComplete ? 'backup.json' : 'site.sqlite'), '{}');
};
const left = (): string[] => readdirSync(folder).toSorted();

describe('[platform §4.4] backups that are kept', () => {
  test('the last one and the newest before it stay, in the order of their times and across months', () => {
    for (const days of [4, 0, 3, 1, 2]) make(days);
    expect(removeOlderBackups(placeOf(4), 5)).toBe(0);
    expect(removeOlderBackups(placeOf(4), 2)).toBe(3);
    expect(left()).toEqual(['20261201T031500Z', '20261202T031500Z']);
    expect(removeOlderBackups(placeOf(4), 1)).toBe(1);
    expect(left()).toEqual(['20261202T031500Z']);
  });

  test('what an interrupted backup has left is removed and not counted; other names stay', () => {
    make(0);
    make(1, false);
    make(2);
    for (const name of ['before-upgrade', '20261128T031500Z.old']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'notes.txt'), '');
    expect(removeOlderBackups(placeOf(2), 2)).toBe(0);
    expect(left()).toEqual([
      '20261128T031500Z',
      '20261128T031500Z.old',
      '20261130T031500Z',
      'before-upgrade',
      'notes.txt',
    ]);
  });

  test('later ones stay and do not count: with a clock that was ahead, the one just made is never removed', () => {
    make(0);
    make(1);
    make(9000);
    make(9001, false);
    expect(removeOlderBackups(placeOf(1), 1)).toBe(1);
    expect(left()).toHaveLength(3);
    expect(left()).toContain('20261129T031500Z');
  });

  test('the last one is remembered; without a note, or with a damaged one, none is known of', () => {
    expect(lastBackupMs(folder)).toBeNull();
    rememberBackup(folder, firstMs);
    rememberBackup(folder, firstMs + dayMs);
    expect(lastBackupMs(folder)).toBe(firstMs + dayMs);
    for (const damaged of ['', '{', 'null', '[]', '{"at":5}', '{"at":"yesterday"}']) {
      writeFileSync(join(folder, 'last-backup.json'), damaged);
      expect([damaged, lastBackupMs(folder)]).toEqual([damaged, null]);
    }
  });
});
