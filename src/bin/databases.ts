/** Where a site keeps rules, audit and rule state: files of its data dir, or a PostgreSQL server (docs/guides/several-machines.md). */
import { join } from 'node:path';
import type { DatabasePlace } from '../storage/database.ts';
import type { StorageLimits } from '../storage/limits.ts';
import type { ServiceConfig } from './config.ts';

/** The site's durable truth: rules and audit. */
export function siteDatabase(config: ServiceConfig, limits: StorageLimits): DatabasePlace {
  return config.databaseUrl === null ? siteDatabaseFile(config.dataDir) : { url: config.databaseUrl, limits };
}

/** History and memory of the rules. */
export function runtimeDatabase(config: ServiceConfig, limits: StorageLimits): DatabasePlace {
  return config.databaseUrl === null ? join(config.dataDir, 'runtime.sqlite') : { url: config.databaseUrl, limits };
}

export function siteDatabaseFile(dataDir: string): string {
  return join(dataDir, 'site.sqlite');
}
