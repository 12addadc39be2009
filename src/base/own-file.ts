/** Small files that the service makes once for itself, such as keys: readable by their owner only. */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';

export const ownerOnly = 0o600;

/** The file's text; made first when it is not there. `wx`: of two starts at once, one writes and both read the same. */
export function readOrMake(file: string, make: () => string): string {
  if (!existsSync(file)) {
    try {
      writeFileSync(file, make(), { mode: ownerOnly, flag: 'wx' });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
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
