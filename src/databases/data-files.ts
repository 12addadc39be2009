/**
 * The databases of a data dir (docs/formats): where they are, and in which data format. The service upgrades an older format at
 * its start, after keeping a copy of the file; a newer one is refused on opening.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { replaceDurably } from '../base/own-file.ts';
import { timeInName, timeLabel } from '../base/timestamp.ts';
import type { DatabasePlace } from '../storage/database.ts';
import { schemas } from './schemas.ts';

export type DatabaseName = keyof typeof schemas;

const names: readonly DatabaseName[] = ['site', 'runtime', 'history', 'forecasts'];

/** `site` is the site's durable truth, `runtime` the memory of rules, `history` measured values, `forecasts` kept results. */
export function databaseFile(dataDir: string, name: DatabaseName): string {
  return join(dataDir, `${name}.sqlite`);
}

export interface DatabaseFormat {
  readonly name: DatabaseName;
  /** Steps that were applied to the database; 0 for one that was never written to. */
  readonly found: number;
  /** Steps that this program supports. */
  readonly known: number;
}

interface FileFormat extends DatabaseFormat {
  readonly file: string;
}

/** Whether opening would upgrade the database. */
export function isOlder({ found, known }: DatabaseFormat): boolean {
  return found > 0 && found < known;
}

/** Formats of the databases that are there. */
export function databaseFormats(dataDir: string): FileFormat[] {
  return names
    .map((name) => ({ name, file: databaseFile(dataDir, name) }))
    .filter(({ file }) => existsSync(file))
    .map(({ name, file }) => ({ name, file, found: formatOf(file), known: schemas[name].file.length }));
}

function formatOf(file: string): number {
  return readFile(file, (database) => Number(database.prepare('PRAGMA user_version').get()?.['user_version']));
}

function readFile<T>(file: string, read: (database: DatabaseSync) => T): T {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    return read(database);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${basename(file)} cannot be opened: ${why}`, { cause });
  } finally {
    database?.close();
  }
}

/** The data dir's folder of copies that were made before a migration. */
export const migrationCopies = 'before-migration';

/** Copies every database that opening would bring to a newer format; returns the copies' names. */
export function copyBeforeMigration(dataDir: string, wallMs: number): string[] {
  const older = databaseFormats(dataDir).filter(isOlder);
  if (older.length === 0) return [];
  mkdirSync(join(dataDir, migrationCopies), { recursive: true, mode: 0o700 });
  const at = timeInName(wallMs);
  return older.map(({ name, file, found }) => {
    const copy = join(migrationCopies, `${name}-format-${found}-${at}.sqlite`);
    copyDatabase(file, join(dataDir, copy));
    return copy;
  });
}

/** One consistent copy, also while others write; it includes the write-ahead log. `target` must not exist. */
export function copyDatabase(file: string, target: string): void {
  const database = new DatabaseSync(file, { timeout: 5000 });
  try {
    database.prepare('VACUUM INTO ?').run(target);
  } finally {
    database.close();
  }
}

/** The integrity errors that SQLite finds in a file; null without any. */
export function damageOf(file: string): string | null {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const found = database.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
    return found === 'ok' ? null : String(found);
  } finally {
    database.close();
  }
}

/** Says that the site is in a database. Files that were moved there stay, and nothing uses them by mistake. */
const databaseMark = 'moved-to-a-database.json';

export function markInDatabase(dataDir: string, wallMs: number): void {
  if (!isInDatabase(dataDir))
    replaceDurably(join(dataDir, databaseMark), `${JSON.stringify({ moved_at: timeLabel(wallMs) })}\n`);
}

export function isInDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, databaseMark));
}

/** The files are the site again. */
export function takeBack(dataDir: string): void {
  rmSync(join(dataDir, databaseMark), { force: true });
}

/** Why `place` is not where the site of this data dir is; null if it is there, or if no service has started yet. */
export function misplacedSite(dataDir: string, place: DatabasePlace): string | null {
  if (isInDatabase(dataDir))
    return typeof place === 'string'
      ? `the site of the data dir ${dataDir} is in a database: set SVC_DATABASE_URL`
      : null;
  if (typeof place === 'string' || !existsSync(databaseFile(dataDir, 'site'))) return null;
  return `the site of the data dir ${dataDir} is in its files: unset SVC_DATABASE_URL, or move the site with setpoint migrate`;
}

/** Rules in the files of a data dir: what a service on a database would leave behind. */
export function rulesInFiles(dataDir: string): number {
  const file = databaseFile(dataDir, 'site');
  if (!existsSync(file)) return 0;
  return readFile(file, (database) => {
    const hasRules = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'rules'").get();
    return hasRules === undefined
      ? 0
      : Number(database.prepare('SELECT count(*) AS rules FROM rules').get()?.['rules']);
  });
}
