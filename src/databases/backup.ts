/**
 * Backups of a data dir [platform §4.4]: one consistent copy of each database while the service writes, with the small files
 * beside them, and a manifest that is written last. A folder without a manifest is not a backup.
 */

import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Type from 'typebox';
import { Check } from 'typebox/value';
import { copyDatabase, type DatabaseName, damageOf, databaseFormats, migrationCopies } from './data-files.ts';
import { schemas } from './schemas.ts';

const manifestName = 'backup.json';

const manifestSchema = Type.Object(
  {
    schema: Type.Literal('svc.backup.v1'),
    created_at: Type.String(),
    /** Of the program that made it. */
    version: Type.String(),
    /** Data format of each database. */
    formats: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
    files: Type.Array(
      Type.Object(
        {
          name: Type.String({ pattern: '^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$' }),
          bytes: Type.Integer({ minimum: 0 }),
          sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

export type BackupManifest = Type.Static<typeof manifestSchema>;

/** An error of a backup or of its place, for the operator. */
export class BackupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BackupError';
  }
}

export interface BackupOrder {
  readonly dataDir: string;
  /** Must be empty or not there. */
  readonly target: string;
  readonly version: string;
  readonly wallMs: number;
  readonly onFile: (name: string) => void;
}

/** Made again by every start, or large and of use to nobody elsewhere. */
function isLeftOut(name: string): boolean {
  return (
    name === 'service.lock' ||
    name === 'service.lock-journal' ||
    name === 'logs' ||
    name === migrationCopies ||
    /\.sqlite-(wal|shm|journal)$/.test(name) ||
    name.startsWith('.')
  );
}

/** Throws a BackupError. */
export function backUp(order: BackupOrder): BackupManifest {
  return told(`the backup in ${order.target} is not complete`, () => copied(order));
}

function copied(order: BackupOrder): BackupManifest {
  const { dataDir, target } = order;
  if (!isEmptyPlace(target)) throw new BackupError(`${target} is not empty: a backup needs an empty or new folder`);
  // Before anything is copied: this program could not vouch for what it does not know.
  const newer = databaseFormats(dataDir).find(({ found, known }) => found > known);
  if (newer !== undefined)
    throw new BackupError(
      `the data dir has data format ${newer.found} of ${newer.name}; this program supports ${newer.known}: back it up with the newer program that wrote it`,
    );
  makeFolder(target);
  const names = filesOf(dataDir);
  // Small files first: a checkpoint that is newer than the database beside it would vouch for events that it lacks.
  const small = names.filter((name) => !name.endsWith('.sqlite'));
  const databases = names.filter((name) => name.endsWith('.sqlite'));
  const whole: string[] = [];
  for (const name of [...small, ...databases]) {
    order.onFile(name);
    const copy = join(target, name);
    mkdirSync(dirname(copy), { recursive: true, mode: 0o700 });
    if (name.endsWith('.sqlite')) copyWhole(join(dataDir, name), copy);
    else if (!copyFile(join(dataDir, name), copy)) continue;
    chmodSync(copy, 0o600);
    syncToDisk(copy);
    whole.push(name);
  }
  const formats = Object.fromEntries(databaseFormats(target).map(({ name, found }) => [name, found]));
  // Looking at a database leaves nothing behind that would count as a file of the backup.
  const files = whole.map((name) => ({ name, ...factsOf(join(target, name)) }));
  const manifest: BackupManifest = {
    schema: 'svc.backup.v1',
    created_at: new Date(order.wallMs).toISOString(),
    version: order.version,
    formats,
    files,
  };
  const draft = join(target, `${manifestName}.part`);
  writeFileSync(draft, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(draft, join(target, manifestName));
  syncToDisk(target);
  return manifest;
}

/** Whether a backup in this folder was completed. */
export function isBackup(folder: string): boolean {
  return existsSync(join(folder, manifestName));
}

/** Every file against the manifest, every database against itself; throws what does not hold. */
export function checkBackup(source: string): BackupManifest {
  return told(`${source} cannot be checked`, () => checked(source));
}

function checked(source: string): BackupManifest {
  const manifest = readManifest(source);
  for (const { name, bytes, sha256 } of manifest.files) {
    const file = join(source, name);
    if (!existsSync(file)) throw new BackupError(`the backup is not whole: ${name} is missing`);
    const facts = factsOf(file);
    if (facts.bytes !== bytes || facts.sha256 !== sha256)
      throw new BackupError(`the backup is damaged: ${name} does not match its digest`);
    const damage = name.endsWith('.sqlite') ? damageOf(file) : null;
    if (damage !== null) throw new BackupError(`the backup is damaged: ${name}: ${damage}`);
  }
  for (const [name, format] of Object.entries(manifest.formats)) {
    const known = isDatabaseName(name) ? schemas[name].file.length : 0;
    if (format > known)
      throw new BackupError(
        `the backup has data format ${format} of ${name}; this program supports ${known}: use the newer program`,
      );
  }
  return manifest;
}

/** Copies of an unfinished restore: what holds this folder is not a data dir. */
const draftName = '.restoring';

export function isHalfRestored(dataDir: string): boolean {
  return existsSync(join(dataDir, draftName));
}

/**
 * Puts a checked backup where a data dir is to be. All is copied before anything is put in its place. The folder itself may be
 * there and stays as it is: a mounted volume, or a folder whose parent belongs to somebody else, cannot be replaced.
 */
export function restore(source: string, dataDir: string, onFile: (name: string) => void): BackupManifest {
  return told(`the restore into ${dataDir} is not complete`, () => putBack(source, dataDir, onFile));
}

function putBack(source: string, dataDir: string, onFile: (name: string) => void): BackupManifest {
  // Otherwise whoever removes the backup later removes the site with it.
  if (`${resolve(dataDir)}/`.startsWith(`${resolve(source)}/`))
    throw new BackupError('the data dir must lie outside the backup');
  if (!isEmptyPlace(dataDir) && !isHalfRestored(dataDir))
    throw new BackupError(`${dataDir} is not empty: move it away first; a restore never writes over data`);
  const manifest = checkBackup(source);
  const draft = join(dataDir, draftName);
  makeFolder(draft);
  // Leftovers of an interrupted restore; the draft last, because it marks that this is not a data dir.
  for (const name of readdirSync(dataDir)) if (name !== draftName) rmSync(join(dataDir, name), { recursive: true });
  for (const name of readdirSync(draft)) rmSync(join(draft, name), { recursive: true });
  for (const { name } of manifest.files) {
    onFile(name);
    const copy = join(draft, name);
    mkdirSync(dirname(copy), { recursive: true, mode: 0o700 });
    copyFileSync(join(source, name), copy);
    chmodSync(copy, 0o600);
    syncToDisk(copy);
  }
  for (const name of readdirSync(draft)) renameSync(join(draft, name), join(dataDir, name));
  syncToDisk(dataDir);
  rmdirSync(draft);
  syncToDisk(dataDir);
  return manifest;
}

/** A full disk, a missing right or a damaged file is for the operator; any other error is a bug. */
function told<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof BackupError || !(error instanceof Error) || !isOfSystem(error)) throw error;
    throw new BackupError(`${what}: ${error.message}`);
  }
}

/** Of the operating system or of SQLite, itself or as the cause of an error that names the file. */
function isOfSystem(error: Error): boolean {
  return [error, error.cause].some((each) => each instanceof Error && ('syscall' in each || 'errcode' in each));
}

/** With its parents, for its owner alone; what is there stays as it is. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new BackupError(`${folder} cannot be written: ${String(error.code)}`);
  }
}

function isDatabaseName(name: string): name is DatabaseName {
  return Object.hasOwn(schemas, name);
}

function isEmptyPlace(folder: string): boolean {
  return !existsSync(folder) || (statSync(folder).isDirectory() && readdirSync(folder).length === 0);
}

/** Names below the folder, with `/`. */
function filesOf(folder: string, prefix = ''): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .filter(({ name }) => !isLeftOut(name))
    .flatMap((entry) => {
      const name = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
      if (entry.isDirectory()) return filesOf(folder, name);
      return entry.isFile() ? [name] : [];
    })
    .toSorted();
}

/**
 * False when it is gone: a draft has its name by then, and the rows of a journal or of a spool are in a database, which is copied
 * later.
 */
function copyFile(file: string, copy: string): boolean {
  try {
    copyFileSync(file, copy);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT' && !existsSync(file)) return false;
    throw error;
  }
}

function copyWhole(file: string, copy: string): void {
  told(`${file} cannot be copied`, () => copyDatabase(file, copy));
  const damage = damageOf(copy);
  if (damage !== null) throw new BackupError(`${file} is damaged: ${damage}`);
}

const chunkBytes = 1_048_576;

function factsOf(file: string): { readonly bytes: number; readonly sha256: string } {
  const bytes = statSync(file).size;
  const hash = createHash('sha256');
  const handle = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(chunkBytes);
    for (let read = readSync(handle, buffer); read > 0; read = readSync(handle, buffer))
      hash.update(buffer.subarray(0, read));
  } finally {
    closeSync(handle);
  }
  return { bytes, sha256: hash.digest('hex') };
}

function syncToDisk(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function readManifest(source: string): BackupManifest {
  const file = join(source, manifestName);
  if (!existsSync(file)) throw new BackupError(`${source} contains no backup: ${manifestName} is missing`);
  const value = parsed(readFileSync(file, 'utf8'));
  if (Check(manifestSchema, value)) return value;
  throw new BackupError(`the backup is damaged: its ${manifestName} is not one`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
