/** Where a site keeps rules, audit, rule state and recorded history: files of its data dir, or a PostgreSQL server (docs/guides/several-machines.md). */
import { databaseFile } from '../databases/data-files.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { StorageLimits } from '../storage/server-limits.ts';
import type { ServiceConfig } from './config.ts';

/** The site's durable truth: rules and audit. */
export function siteDatabase(config: ServiceConfig, limits: StorageLimits): DatabasePlace {
  return config.databaseUrl === null ? databaseFile(config.dataDir, 'site') : { url: config.databaseUrl, limits };
}

/** History and memory of the rules. */
export function runtimeDatabase(config: ServiceConfig, limits: StorageLimits): DatabasePlace {
  return config.databaseUrl === null ? databaseFile(config.dataDir, 'runtime') : { url: config.databaseUrl, limits };
}

/** Recorded measurements. */
export function historyDatabase(config: ServiceConfig, limits: StorageLimits): DatabasePlace {
  return config.databaseUrl === null ? databaseFile(config.dataDir, 'history') : { url: config.databaseUrl, limits };
}

/** Stored forecasts. */
export function forecastDatabase(config: ServiceConfig, limits: StorageLimits): DatabasePlace {
  return config.databaseUrl === null ? databaseFile(config.dataDir, 'forecasts') : { url: config.databaseUrl, limits };
}
