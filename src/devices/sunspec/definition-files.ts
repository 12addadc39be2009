/** SunSpec models that a site defines: the files in `sunspec/` next to its site.yaml. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YamlError } from '../../base/yaml.ts';
import { readModelDefinition } from '../../site/sunspec/definition.ts';
import type { SunSpecModel } from '../../site/sunspec/model.ts';

const folderName = 'sunspec';
const ending = '.json';

/** In the order of their numbers. Throws a YamlError with one line per fault. */
export function readModelDefinitions(configDir: string): readonly SunSpecModel[] {
  const folder = join(configDir, folderName);
  if (!existsSync(folder)) return [];
  const lines: string[] = [];
  const files = new Map<number, string>();
  const models = readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .toSorted()
    .flatMap((file) => {
      const shown = `${folderName}/${file}`;
      try {
        const model = readModelDefinition(readFileSync(join(folder, file), 'utf8'), shown);
        const other = files.get(model.model);
        if (other !== undefined) lines.push(`${shown}:1: /id model ${model.model} is defined in ${other} too`);
        files.set(model.model, shown);
        return [model];
      } catch (error) {
        if (!(error instanceof YamlError)) throw error;
        lines.push(...error.lines);
        return [];
      }
    });
  if (lines.length > 0) throw new YamlError(lines);
  return models.toSorted((a, b) => a.model - b.model);
}
