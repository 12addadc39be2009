/** Small files that the service makes once for itself, such as keys: readable by their owner only. */
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
 * The file's text; made first when it is not there. Linked into place when it is whole: of two starts at once both read
 * the same, and a crash leaves no half of a file. It is on disk when this returns, because what a key signs may outlive a loss
 * of power.
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
 * Replaces the text of a file: whole and on disk when this returns, or not at all. `mode`: its permissions, where they are more
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

/** The name of a new file is on disk when its folder is. */
function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** The file's text; null when there is none. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

const newline = 10;

/** Adds a line that is on disk when this returns. When that fails, as on a full disk, the file is as it was before. */
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

/** Takes a last line without its end off, which a power cut left behind; returns it, or null when the file ends as it should. */
export function cutTornLine(file: string): string | null {
  const text = readIfThere(file);
  if (text === null || text === '' || text.endsWith('\n')) return null;
  const whole = text.lastIndexOf('\n') + 1;
  truncateSync(file, Buffer.byteLength(text.slice(0, whole)));
  return text.slice(whole);
}
