/** Backups at regular intervals: a folder of the newest ones, each named by its time, and when the last one was made. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readIfThere, replaceDurably } from '../base/own-file.ts';
import { parseTimestamp, timeInName, timeLabel } from '../base/timestamp.ts';
import { isBackup } from './backup.ts';

const backupName = /^\d{8}T\d{6}Z$/;

/** Where a backup of this time is made. */
export function placeOfBackup(folder: string, wallMs: number): string {
  return join(folder, timeInName(wallMs));
}

/**
 * Keeps the backup that was made last and the newest before it, `keep` in all: removes older ones, and what interrupted ones have left.
 * Other names stay, and so do later ones: they were made while the clock was wrong, or are being made.
 *
 * @returns how many backups were removed
 */
export function removeOlderBackups(made: string, keep: number): number {
  const folder = dirname(made);
  const named = readdirSync(folder)
    .filter((name) => backupName.test(name) && name <= basename(made))
    .map((name) => join(folder, name));
  const complete = named.filter(isBackup).toSorted();
  const older = complete.slice(0, -keep);
  for (const place of named) if (older.includes(place) || !complete.includes(place)) rmSync(place, { recursive: true });
  return older.length;
}

const lastBackupFile = 'last-backup.json';

/** Called when a backup of the data dir is complete and verified. */
export function rememberBackup(dataDir: string, wallMs: number): void {
  replaceDurably(join(dataDir, lastBackupFile), `${JSON.stringify({ at: timeLabel(wallMs) })}\n`);
}

/** When the last backup of the data dir was made; null if none is known of. */
export function lastBackupMs(dataDir: string): number | null {
  try {
    const { at } = JSON.parse(readIfThere(join(dataDir, lastBackupFile)) ?? '{}') as { readonly at?: unknown };
    return typeof at === 'string' ? parseTimestamp(at) : null;
  } catch {
    // It cannot be read, or is damaged: the next backup replaces it.
    return null;
  }
}
