/** Device templates as files: those of the package beside this one, and a site's own in `templates/` beside its site.yaml. */
import { join } from 'node:path';
import { readConfigFolder } from '../../base/config-folder.ts';
import { YamlError } from '../../base/yaml.ts';
import { type DeviceTemplate, type DeviceTemplates, readDeviceTemplate } from '../../site/device-template.ts';

const ending = '.yaml';

/**
 * By name; one of the site's own comes before one of the package. Throws a YamlError with one line per fault of the site's own; one of
 * the package is read when somebody asks for it, because a site uses few of them.
 */
export function readDeviceTemplates(configDir: string): DeviceTemplates {
  const ofSite = byName(templatesIn(join(configDir, 'templates')));
  const ofPackage = new Map<string, DeviceTemplate>();
  const packaged = (name: string): DeviceTemplate | undefined => {
    const known = ofPackage.get(name);
    if (known !== undefined) return known;
    const [template] = templatesIn(import.meta.dirname, (file) => file === name + ending);
    if (template !== undefined) ofPackage.set(name, template);
    return template;
  };
  return {
    get: (name) => ofSite.get(name) ?? packaged(name),
    values: () => new Map([...byName(templatesIn(import.meta.dirname)), ...ofSite]).values(),
  };
}

const byName = (templates: readonly DeviceTemplate[]): ReadonlyMap<string, DeviceTemplate> =>
  new Map(templates.map((template) => [template.name, template]));

/** Throws a YamlError. */
function templatesIn(folder: string, isWanted = (_file: string): boolean => true): DeviceTemplate[] {
  return readConfigFolder(
    folder,
    ending,
    (text, shown, file) => {
      const template = readDeviceTemplate(text, shown);
      if (`${template.name}${ending}` !== file) throw new YamlError([`${shown}:1: /name must be that of the file`]);
      return template;
    },
    isWanted,
  );
}
