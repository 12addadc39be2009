/** Device templates as files: those of the package beside this one, and a site's own in `templates/` beside its site.yaml. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YamlError } from '../../base/yaml.ts';
import { type DeviceTemplate, type DeviceTemplates, readDeviceTemplate } from '../../site/device-template.ts';

const ending = '.yaml';
const ownTemplatesFolder = 'templates';

/**
 * By name; one of the site's own comes before one of the package. Throws a YamlError with one line per fault of the site's own; one of
 * the package is read when somebody asks for it, because a site uses few of them.
 */
export function readDeviceTemplates(configDir: string): DeviceTemplates {
  const own = join(configDir, ownTemplatesFolder);
  const ofSite = byName(existsSync(own) ? templatesIn(own, `${ownTemplatesFolder}/`) : []);
  const ofPackage = new Map<string, DeviceTemplate>();
  const packaged = (name: string): DeviceTemplate | undefined => {
    const known = ofPackage.get(name);
    if (known !== undefined) return known;
    const [template] = templatesIn(import.meta.dirname, '', (file) => file === name + ending);
    if (template !== undefined) ofPackage.set(name, template);
    return template;
  };
  return {
    get: (name) => ofSite.get(name) ?? packaged(name),
    values: () => new Map([...byName(templatesIn(import.meta.dirname, '')), ...ofSite]).values(),
  };
}

const byName = (templates: readonly DeviceTemplate[]): ReadonlyMap<string, DeviceTemplate> =>
  new Map(templates.map((template) => [template.name, template]));

/** Those of the files that are wanted. Throws a YamlError. */
function templatesIn(folder: string, prefix: string, isWanted = (_file: string): boolean => true): DeviceTemplate[] {
  const lines: string[] = [];
  const templates = readdirSync(folder)
    .filter((file) => file.endsWith(ending) && isWanted(file))
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
