/** Small files that the service creates once for itself, such as keys: readable by their owner only. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { newId } from './id.ts';

const ownerOnly = 0o600;

/**
 * The file's text; the file is created first if it does not exist. A complete file is linked into place: of two concurrent starts both read
 * the same, and a crash leaves no partial file. It is on disk when this returns, because what a key signs may outlive a power
 * loss.
 */
export function readOrMake(file: string, make: () => string): string {
  if (!existsSync(file)) {
    const draft = `${file}.${newId()}`;
    try {
      writeFileSync(draft, make(), { mode: ownerOnly, flag: 'wx', flush: true });
      linkSync(draft, file);
      syncFolder(file);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }
  return readFileSync(file, 'utf8');
}

/**
 * Replaces the text of a file: complete and on disk when this returns, or not at all. `mode`: its permissions, if they are wider
 * than the owner's.
 */
export function replaceDurably(file: string, text: string, mode = ownerOnly): void {
  const draft = `${file}.${newId()}`;
  try {
    writeFileSync(draft, text, { mode: ownerOnly, flag: 'wx', flush: true });
    // The umask of the service applies to new files only.
    if (mode !== ownerOnly) chmodSync(draft, mode);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(file);
}

/** The name of a new file is durable when its folder is. */
function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** The file's text; null if it does not exist. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

const newline = 10;

/** Appends a line, durable when this returns. On failure, such as a full disk, the file is unchanged. */
export function appendLineDurably(file: string, line: string): void {
  const handle = openSync(file, 'a+', ownerOnly);
  try {
    const { size } = fstatSync(handle);
    const last = Buffer.alloc(1, newline);
    if (size > 0) readSync(handle, last, 0, 1, size - 1);
    const bytes = Buffer.from(`${last[0] === newline ? '' : '\n'}${line}\n`);
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(handle, bytes, written);
      fsyncSync(handle);
      if (size === 0) syncFolder(file);
    } catch (error) {
      ftruncateSync(handle, size);
      throw error;
    }
  } finally {
    closeSync(handle);
  }
}

/** Removes an incomplete last line, which a power loss may leave behind, and returns it; null if the file is complete. */
export function cutTornLine(file: string): string | null {
  const text = readIfThere(file);
  if (text === null || text === '' || text.endsWith('\n')) return null;
  const whole = text.lastIndexOf('\n') + 1;
  truncateSync(file, Buffer.byteLength(text.slice(0, whole)));
  return text.slice(whole);
}
