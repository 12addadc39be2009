/**
 * The databases of a data dir (docs/formats): where they are, and in which data format. The service upgrades an older format at
 * its start, after keeping a copy of the file; a newer one is refused on opening.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { replaceDurably } from '../base/own-file.ts';
import { timeLabel } from '../base/timestamp.ts';
import { schemas } from './schemas.ts';

export type DatabaseName = keyof typeof schemas;

const names: readonly DatabaseName[] = ['site', 'runtime', 'history', 'forecasts'];

/** `site` is the site's durable truth, `runtime` the memory of rules, `history` measured values, `forecasts` kept results. */
export function databaseFile(dataDir: string, name: DatabaseName): string {
  return join(dataDir, `${name}.sqlite`);
}

export interface DatabaseFormat {
  readonly name: DatabaseName;
  readonly file: string;
  /** Steps that were applied to the file. */
  readonly found: number;
  /** Steps that this program supports. */
  readonly known: number;
}

/** Formats of the databases that are there; one that was never written to has format 0. */
export function databaseFormats(dataDir: string): DatabaseFormat[] {
  return names
    .map((name) => ({ name, file: databaseFile(dataDir, name) }))
    .filter(({ file }) => existsSync(file))
    .map(({ name, file }) => ({ name, file, found: formatOf(file), known: schemas[name].file.length }));
}

function formatOf(file: string): number {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
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
  const older = databaseFormats(dataDir).filter(({ found, known }) => found > 0 && found < known);
  if (older.length === 0) return [];
  mkdirSync(join(dataDir, migrationCopies), { recursive: true, mode: 0o700 });
  const at = new Date(wallMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
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

/** Says that the site lives in a database now. Its files stay, and nothing uses them by mistake. */
const movedMark = 'moved-to-a-database.json';

export function markMoved(dataDir: string, wallMs: number): void {
  replaceDurably(join(dataDir, movedMark), `${JSON.stringify({ moved_at: timeLabel(wallMs) })}\n`);
}

export function wasMoved(dataDir: string): boolean {
  return existsSync(join(dataDir, movedMark));
}

/** The files are the site again. */
export function takeBack(dataDir: string): void {
  rmSync(join(dataDir, movedMark), { force: true });
}
