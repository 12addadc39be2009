/** Files of one kind in a folder of the config dir, such as device templates: all are read, and one error lists the faults of all. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { YamlError } from './yaml.ts';

/**
 * The result of `read` for each selected file, in the order of their names; empty without such a folder. `shown` is the file with
 * its folder, for faults. Throws a YamlError.
 */
export function readConfigFolder<T>(
  folder: string,
  isWanted: (file: string) => boolean,
  read: (text: string, shown: string, file: string) => T,
): T[] {
  const name = basename(folder);
  const lines: string[] = [];
  const values = filesIn(folder, name)
    .filter(isWanted)
    .toSorted()
    .flatMap((file) => {
      const shown = `${name}/${file}`;
      try {
        return [read(readFileSync(join(folder, file), 'utf8'), shown, file)];
      } catch (error) {
        lines.push(...(error instanceof YamlError ? error.lines : [unreadable(error, shown)]));
        return [];
      }
    });
  if (lines.length > 0) throw new YamlError(lines);
  return values;
}

function filesIn(folder: string, name: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw new YamlError([unreadable(error, name)]);
  }
}

/** Rethrows errors that do not come from the file system. */
function unreadable(error: unknown, shown: string): string {
  const code = codeOf(error);
  if (code === undefined) throw error;
  return `${shown}:1: cannot be read (${code}): let the service read it, or remove it`;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
