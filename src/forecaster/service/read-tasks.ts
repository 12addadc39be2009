/** The tasks that the forecaster serves: every declaration of a folder, strict [processor §7], [data-processing §2.2]. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YamlError } from '../../base/yaml.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import { type Placed, readTask } from '../../contract/task/read.ts';
import { cellsPerDay } from '../sample.ts';

/** Throws a YamlError with one line per error in all the files. */
export function readTaskFolder(folder: string): readonly TaskDeclaration[] {
  const names = namesOf(folder);
  if (names.length === 0) throw new YamlError(['the folder of task declarations contains no .yaml file']);
  const faults: string[] = [];
  const tasks: TaskDeclaration[] = [];
  const fileOf = new Map<string, string>();
  for (const name of names) {
    try {
      const placed = readTask(readFileSync(join(folder, name), 'utf8'), name);
      const key = `${placed.value.id} ${placed.value.revision}`;
      const other = fileOf.get(key);
      if (other !== undefined) faults.push(placed.at('/id', `the same task and revision as in ${other}`));
      fileOf.set(key, name);
      faults.push(...unfit(placed));
      tasks.push(placed.value);
    } catch (error) {
      if (!(error instanceof YamlError)) faults.push(`${name} cannot be read`);
      else faults.push(...error.lines);
    }
  }
  if (faults.length > 0) throw new YamlError(faults);
  return tasks;
}

function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.ya?ml$/.test(name))
      .sort();
  } catch {
    throw new YamlError(['the folder of task declarations cannot be read']);
  }
}

/** The reasons why this forecaster cannot serve a task, known before the first request. */
function unfit({ value: task, at }: Placed<TaskDeclaration>): string[] {
  const faults: string[] = [];
  if (cellsPerDay(task.frame.cadence_seconds * 1000) === 0)
    faults.push(at('/frame/cadence_seconds', 'must divide a day: this forecaster learns from days'));
  const own = task.inputs.history.find(({ name }) => name === task.target.name);
  if (own?.value_type !== 'number')
    faults.push(at('/inputs/history', `must hold the target ${task.target.name}: this forecaster learns from it`));
  return faults;
}
