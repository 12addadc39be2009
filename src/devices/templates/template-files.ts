/** Device templates as files: those of the package beside this one, and a site's own in `templates/` beside its site.yaml. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YamlError } from '../../base/yaml.ts';
import { type DeviceTemplate, type DeviceTemplates, readDeviceTemplate } from '../../site/device-template.ts';

const ending = '.yaml';
const ownTemplatesFolder = 'templates';

/** By name; one of the site's own comes before one of the package. Throws a YamlError with one line per fault. */
export function readDeviceTemplates(configDir: string): DeviceTemplates {
  const own = join(configDir, ownTemplatesFolder);
  const found = [
    ...templatesIn(import.meta.dirname, ''),
    ...(existsSync(own) ? templatesIn(own, `${ownTemplatesFolder}/`) : []),
  ];
  return new Map(found.map((template) => [template.name, template]));
}

/** Throws a YamlError. */
function templatesIn(folder: string, prefix: string): DeviceTemplate[] {
  const lines: string[] = [];
  const templates = readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .toSorted()
    .flatMap((file) => {
      try {
        const template = readDeviceTemplate(readFileSync(join(folder, file), 'utf8'), prefix + file);
        if (`${template.name}${ending}` !== file) lines.push(`${prefix}${file}:1: /name must be that of the file`);
        return [template];
      } catch (error) {
        if (!(error instanceof YamlError)) throw error;
        lines.push(...error.lines);
        return [];
      }
    });
  if (lines.length > 0) throw new YamlError(lines);
  return templates;
}
