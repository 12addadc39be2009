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
const make = (days: number, isComplete = true): void => {
  const place = placeOfBackup(folder, firstMs + days * dayMs);
  mkdirSync(place);
  writeFileSync(join(place, isComplete ? 'backup.json' : 'site.sqlite'), '{}');
};
const left = (): string[] => readdirSync(folder).toSorted();

describe('[platform §4.4] backups that are kept', () => {
  test('the newest stay, in the order of their times and across months; the number is counted in complete ones', () => {
    for (const days of [4, 0, 3, 1, 2]) make(days);
    expect(removeOlderBackups(folder, 5)).toBe(0);
    expect(removeOlderBackups(folder, 2)).toBe(3);
    expect(left()).toEqual(['20261201T031500Z', '20261202T031500Z']);
    expect(removeOlderBackups(folder, 1)).toBe(1);
    expect(left()).toEqual(['20261202T031500Z']);
  });

  test('what an interrupted backup has left is removed and not counted; other names stay', () => {
    make(0);
    make(1, false);
    make(2);
    for (const name of ['before-upgrade', '20261128T031500Z.old']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'notes.txt'), '');
    expect(removeOlderBackups(folder, 2)).toBe(0);
    expect(left()).toEqual([
      '20261128T031500Z',
      '20261128T031500Z.old',
      '20261130T031500Z',
      'before-upgrade',
      'notes.txt',
    ]);
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
