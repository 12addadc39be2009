/** Files of one kind in a folder of the config dir, such as device templates: all are read, and one error lists the faults of all. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { YamlError } from './yaml.ts';

/** A name with the usual spelling of its ending: a file `*.yml`, or in capitals, would be missed without a word. */
function usual(file: string): string {
  return file.toLowerCase().replace(/\.yml$/, '.yaml');
}

/** Whether a file was meant to have the ending. */
export function isMisnamed(file: string, ending: '.yaml' | '.json' | '.rule.yaml'): boolean {
  return !file.endsWith(ending) && usual(file).endsWith(ending);
}

/**
 * The entry of a folder that was meant to be `file`, such as `service.yml` for `service.yaml`; undefined without one, and for a folder that
 * cannot be listed: its files may be readable all the same.
 */
export function misnamedAs(folder: string, file: `${string}.yaml`): string | undefined {
  try {
    return readdirSync(folder).find((entry) => entry !== file && usual(entry) === file);
  } catch {
    return undefined;
  }
}

/**
 * The result of `read` for each wanted file with the ending, in the order of their names; empty without such a folder. `shown` is the file
 * with its folder, for faults. Throws a YamlError.
 */
export function readConfigFolder<T>(
  folder: string,
  ending: '.yaml' | '.json',
  read: (text: string, shown: string, file: string) => T,
  isWanted = (_file: string): boolean => true,
): T[] {
  const name = basename(folder);
  const files = filesIn(folder, name).toSorted();
  const lines = files
    .filter((file) => isMisnamed(file, ending))
    .map((file) => `${name}/${file}:1: rename it to end in ${ending}`);
  const values = files
    .filter((file) => file.endsWith(ending) && isWanted(file))
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
