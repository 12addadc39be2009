/** Small files that the service makes once for itself, such as keys: readable by their owner only. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { newId } from './id.ts';

const ownerOnly = 0o600;

/**
 * The file's text; made first when it is not there. Linked into place when it is whole: of two starts at once both read
 * the same, and a crash leaves no half of a file.
 */
export function readOrMake(file: string, make: () => string): string {
  if (!existsSync(file)) {
    const draft = `${file}.${newId()}`;
    try {
      writeFileSync(draft, make(), { mode: ownerOnly, flag: 'wx', flush: true });
      linkSync(draft, file);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }
  return readFileSync(file, 'utf8');
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

/** Adds a line that is on disk when this returns. A line that a power cut left unfinished is not continued. */
export function appendLineDurably(file: string, line: string): void {
  const torn = (readIfThere(file)?.slice(-1) ?? '\n') === '\n' ? '' : '\n';
  const handle = openSync(file, 'a', ownerOnly);
  try {
    writeSync(handle, `${torn}${line}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
