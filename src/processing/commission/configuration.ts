/**
 * `<config>/processing/` as a whole [data-processing §2.1]: every file is read and validated, then commissioned. All errors are
 * reported together, with file and line; a start with any of them fails.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isMisnamed } from '../../base/config-folder.ts';
import { YamlError } from '../../base/yaml.ts';
import { readTask } from '../../contract/task/read.ts';
import type { Site } from '../../site/site.ts';
import { configurationLimits } from '../limits.ts';
import { readBinding } from './binding.ts';
import { type Commissioning, commission } from './commission.ts';
import { holdRevisions, type KeptDigests } from './revision.ts';
import { readRoutes } from './routes.ts';

export function readConfiguration(folder: string, dataDir: string, site: Site, kept: KeptDigests): Commissioning {
  const lines: string[] = [];
  const tasks = files(folder, 'tasks', lines).flatMap((name) => read(folder, name, readTask, lines));
  const bindings = files(folder, 'bindings', lines).flatMap((name) =>
    read(folder, name, readBinding, lines).map((binding) => ({ ...binding, path: join(folder, name), dataDir })),
  );
  const [routes] = read(folder, 'routes.yaml', readRoutes, lines);
  if (routes === undefined || lines.length > 0) return { ok: false, lines };
  const commissioned = commission({ tasks, bindings, routes }, site);
  if (!commissioned.ok) return commissioned;
  const changed = holdRevisions(tasks, kept);
  return changed.length > 0 ? { ok: false, lines: changed } : commissioned;
}

/** The declarations of a folder without a site, for a processor that serves them; throws a YamlError with every error. */
export function readTasks(folder: string): ReturnType<typeof readTask>['value'][] {
  const lines: string[] = [];
  const tasks = files(folder, '.', lines).flatMap((name) => read(folder, name, readTask, lines));
  if (lines.length > 0) throw new YamlError(lines);
  return tasks.map((task) => task.value);
}

/** Names of the folder's YAML files, relative to `folder`, in the same order on every machine. */
function files(folder: string, part: string, lines: string[]): string[] {
  const shown = part === '.' ? folder : part;
  let names: string[];
  try {
    const all = readdirSync(join(folder, part)).toSorted();
    for (const name of all)
      if (isMisnamed(name, '.yaml'))
        lines.push(`${part === '.' ? name : `${part}/${name}`}: rename it to end in .yaml`);
    names = all.filter((name) => name.endsWith('.yaml'));
  } catch (error) {
    lines.push(`${shown}: ${unreadable(error)}`);
    return [];
  }
  if (names.length > configurationLimits.files) {
    lines.push(`${shown}: ${names.length} files; at most ${configurationLimits.files} are allowed`);
    return [];
  }
  return names.map((name) => (part === '.' ? name : `${part}/${name}`));
}

function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'the folder does not exist' : `the folder cannot be read (${code ?? String(error)})`;
}

function read<T>(folder: string, name: string, reader: (text: string, name: string) => T, lines: string[]): T[] {
  const text = textOf(join(folder, name));
  if (!text.ok) {
    lines.push(`${name}: ${text.reason}`);
    return [];
  }
  try {
    return [reader(text.text, name)];
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    lines.push(...error.lines);
    return [];
  }
}

type Text = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

function textOf(path: string): Text {
  const { file_bytes: bytesMax } = configurationLimits;
  try {
    // The size first: a file that is far too large is not read.
    if (statSync(path).size > bytesMax) return { ok: false, reason: `is larger than ${bytesMax} bytes` };
    return { ok: true, text: readFileSync(path, 'utf8') };
  } catch {
    return { ok: false, reason: 'file not found, or it cannot be read' };
  }
}
