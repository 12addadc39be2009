/** site.yaml beside a running service [points §1.3]: read and checked again, and written by an operation that was confirmed and recorded. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../base/fault.ts';
import { replaceDurably } from '../base/own-file.ts';
import { YamlError } from '../base/yaml.ts';
import { readSiteFiles } from '../devices/materials.ts';
import { readSite, type Site } from '../site/site.ts';
import { pacedSite, type ServiceConfig } from './config.ts';

const siteFile = 'site.yaml';

export async function readSiteText(configDir: string): Promise<string> {
  try {
    return await readFile(join(configDir, siteFile), 'utf8');
  } catch (error) {
    // The system's own words, which name paths, may not be shown.
    throw invalidSite([`${siteFile} cannot be read`], error);
  }
}

/** Throws a Fault that names everything that is wrong with the text. */
export function siteOf(
  text: string,
  { configDir, replaySpeed }: Pick<ServiceConfig, 'configDir' | 'replaySpeed'>,
): Site {
  try {
    return pacedSite(readSite(text, siteFile, readSiteFiles(configDir)), replaySpeed);
  } catch (error) {
    if (error instanceof YamlError) throw invalidSite(error.lines, error);
    throw invalidSite(['the device templates or SunSpec models of the site cannot be read'], error);
  }
}

export async function readSiteNow(config: Pick<ServiceConfig, 'configDir' | 'replaySpeed'>): Promise<Site> {
  return siteOf(await readSiteText(config.configDir), config);
}

/** Whole or not at all: a concurrent reader gets the old file or the new one. Its permissions do not change. */
export async function writeSiteText(configDir: string, text: string): Promise<void> {
  const path = join(configDir, siteFile);
  try {
    const { mode } = await stat(path);
    replaceDurably(path, text, mode & 0o777);
  } catch (error) {
    throw new Fault(
      'storage-unavailable',
      `${siteFile} cannot be written: make the config dir writable for the service, or edit the file by hand`,
      { cause: error, retryable: false },
    );
  }
}

export function invalidSite(issues: readonly string[], cause?: unknown): Fault {
  return new Fault('invalid-site', 'the site file is not valid; nothing was changed', { details: { issues }, cause });
}
