/** SunSpec models defined by a site: the files in `sunspec/` next to its site.yaml. */
import { join } from 'node:path';
import { readConfigFolder } from '../../base/config-folder.ts';
import { YamlError } from '../../base/yaml.ts';
import { readModelDefinition } from '../../site/sunspec/definition.ts';
import type { SunSpecModel } from '../../site/sunspec/model.ts';

/** In the order of their numbers. Throws a YamlError with one line per fault. */
export function readModelDefinitions(configDir: string): readonly SunSpecModel[] {
  const files = new Map<number, string>();
  const models = readConfigFolder(join(configDir, 'sunspec'), '.json', (text, shown) => {
    const model = readModelDefinition(text, shown);
    const other = files.get(model.model);
    if (other !== undefined)
      throw new YamlError([`${shown}:1: /id model ${model.model} is defined in ${other} too: keep one of the two`]);
    files.set(model.model, shown);
    return model;
  });
  return models.toSorted((a, b) => a.model - b.model);
}
