/** Whether the service would start again with the files of its configuration, which people edit while it runs [alarms §2.2]. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Log } from '../base/log.ts';
import { channelFiles } from '../devices/materials.ts';
import type { Channel } from '../site/protocol/index.ts';
import { checkSite } from './check-site.ts';
import type { ServiceConfig } from './config.ts';

/** Files, and folders with all that is in them, beside the files of channels. */
const places = ['site.yaml', 'service.yaml', 'processing', 'templates', 'sunspec'];

export class ConfigurationWatch {
  readonly #config: Pick<ServiceConfig, 'configDir' | 'env'>;
  readonly #channels: () => readonly Channel[];
  readonly #log: Log;
  /** The files at the last look, and those that were checked last. */
  #seen: string | null = null;
  #checked: string | null = null;
  #isValid = true;

  /** `channels`: those of the site in force, for the files that they name. */
  constructor(config: Pick<ServiceConfig, 'configDir' | 'env'>, channels: () => readonly Channel[], log: Log) {
    this.#config = config;
    this.#channels = channels;
    this.#log = log;
  }

  /** Checks changed files once they are the same at two looks. Those of the first look are taken for those of the start. */
  async isValid(): Promise<boolean> {
    const now = await stateOf(this.#config.configDir, [...places, ...this.#channels().flatMap(channelFiles)]);
    this.#checked ??= now;
    if (now !== this.#checked && now === this.#seen) await this.#check(now);
    this.#seen = now;
    return this.#isValid;
  }

  async #check(state: string): Promise<void> {
    this.#checked = state;
    const { faults } = await checkSite(this.#config.configDir, this.#config.env);
    this.#isValid = faults.length === 0;
    if (!this.#isValid) this.#log.error('the service would refuse its configuration at the next start', { faults });
  }
}

/** Sizes and times of the files, which change with them. */
async function stateOf(configDir: string, names: readonly string[]): Promise<string> {
  const states = await Promise.all(names.map((name) => stateAt(resolve(configDir, name))));
  return JSON.stringify(states.flat());
}

async function stateAt(path: string): Promise<string[]> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    const own = `${path} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
    const within = await readdir(path).catch(() => []);
    const states = await Promise.all(within.map((name) => stateAt(join(path, name))));
    return [own, ...states.flat()];
  } catch {
    return [];
  }
}
