/**
 * Files next to site.yaml [points §1]: device templates and SunSpec models; and inputs of drivers: measured series, secrets from
 * the environment, certificates. Read once at start, so that a missing file or variable stops the start, and not a channel at night.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Channel } from '../site/protocol/index.ts';
import type { MqttChannel } from '../site/protocol/mqtt.ts';
import type { SimulatedChannel } from '../site/protocol/simulated.ts';
import type { Site, SiteFiles } from '../site/site.ts';
import type { DriverMaterials } from './driver/index.ts';
import type { MqttCredentials } from './driver/mqtt.ts';
import type { SimulatedOptions } from './driver/simulated.ts';
import { tlsFault } from './mqtt/tls-files.ts';
import { readSeries } from './simulated/series.ts';
import { readModelDefinitions } from './sunspec/definition-files.ts';
import { readDeviceTemplates } from './templates/template-files.ts';

export interface MaterialSources {
  /** Files are relative to it. */
  readonly configDir: string;
  readonly dataDir: string;
  /** The environment: the value of a variable that site.yaml names. */
  readonly secret: (variable: string) => string | undefined;
}

/** Throws a YamlError with one line per fault. */
export function readSiteFiles(configDir: string): SiteFiles {
  return { templates: readDeviceTemplates(configDir), sunSpecModels: readModelDefinitions(configDir) };
}

/** The files that `readMaterials` reads for a channel, as site.yaml names them. */
export function channelFiles(channel: Channel): string[] {
  const named = (...files: readonly (string | undefined)[]) => files.filter((file) => file !== undefined);
  if (channel.driver === 'mqtt') return named(channel.ca_file, channel.cert_file, channel.key_file);
  if (channel.driver !== 'simulated') return [];
  return named(channel.load_series, channel.pv_series, channel.irradiance_series);
}

/** Throws an Error with one line for the operator. */
export function readMaterials(site: Site, sources: MaterialSources): DriverMaterials {
  const simulated = new Map<string, SimulatedOptions>();
  const mqtt = new Map<string, MqttCredentials>();
  for (const channel of site.channels) {
    if (channel.driver === 'simulated') simulated.set(channel.id, plantOf(channel, site.timezone, sources));
    if (channel.driver === 'mqtt') mqtt.set(channel.id, mqttCredentials(channel, sources));
  }
  return { simulated, mqtt };
}

function plantOf(channel: SimulatedChannel, timezone: string, sources: MaterialSources): SimulatedOptions {
  const series = (file: string) => readSeries(textOf(file, 'the series', channel.id, sources), file, timezone);
  return {
    timezone,
    load: series(channel.load_series),
    pv: series(channel.pv_series),
    irradiance: channel.irradiance_series === undefined ? null : series(channel.irradiance_series),
    stateFile: join(sources.dataDir, `simulated-${channel.id.replaceAll(/[^A-Za-z0-9_-]/g, '_')}.json`),
  };
}

/** Throws an Error with one line for the operator. */
export function mqttCredentials(channel: MqttChannel, sources: MaterialSources): MqttCredentials {
  const secret = (variable: string | undefined): string | undefined => {
    if (variable === undefined) return undefined;
    const value = sources.secret(variable);
    if (value === undefined || value === '')
      throw new Error(`channel ${channel.id}: the environment has no variable ${variable}`);
    return value;
  };
  const file = (name: string | undefined) =>
    name === undefined ? undefined : { name, text: textOf(name, 'the file', channel.id, sources) };
  const files = { ca: file(channel.ca_file), cert: file(channel.cert_file), key: file(channel.key_file) };
  const fault = tlsFault(files);
  if (fault !== null) throw new Error(`channel ${channel.id}: ${fault}`);
  return {
    username: secret(channel.username_env),
    password: secret(channel.password_env),
    ca: files.ca?.text,
    cert: files.cert?.text,
    key: files.key?.text,
  };
}

function textOf(file: string, what: string, channel: string, sources: MaterialSources): string {
  try {
    return readFileSync(resolve(sources.configDir, file), 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new Error(`channel ${channel}: ${what} ${file} cannot be read: ${code}`, { cause: error });
  }
}
