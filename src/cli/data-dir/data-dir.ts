/**
 * Commands on the data dir itself, beside a running service or without one: their dependencies, passed in
 * by the composition root, which alone reads the environment.
 */
import { existsSync } from 'node:fs';
import type { AuditEntry, AuditScope } from '../../audit/event.ts';
import { type AuditLog, createAuditLog } from '../../audit/log.ts';
import type { Clock } from '../../base/clock.ts';
import { databaseFile, databaseFormats, isOlder } from '../../databases/data-files.ts';
import { serverFormats } from '../../databases/server-formats.ts';
import { openDatabase } from '../../databases/site-database.ts';
import { identityConfig } from '../../gateway/identity-config.ts';
import { localScope } from '../../gateway/local-keys.ts';
import type { Site } from '../../site/site.ts';
import type { Database, DatabasePlace } from '../../storage/database.ts';
import { CommandError } from '../exit.ts';
import type { RemoteEnvironment } from '../remote.ts';
import type { Terminal } from '../terminal.ts';
import { type BeginActs, recordedActs } from './recorded-act.ts';

export interface Settings {
  readonly dataDir: string;
  readonly configDir: string;
  readonly env: RemoteEnvironment;
}

export interface DataDirParts {
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Read on demand; throws if the configuration is invalid. */
  readonly settings: () => Settings;
  readonly site: (configDir: string) => Site;
  /** The database of rules and audit: a file of the data dir, or a server. Throws if the environment names another one than the service. */
  readonly siteDatabase: () => DatabasePlace;
  /** The database that the environment names, wherever the site is. */
  readonly namedDatabase: () => DatabasePlace;
  /** The lock of a running service; null if it is taken. */
  readonly lockDataDir: (dataDir: string) => { release(): void } | null;
  readonly rulesMax: (configDir: string) => number;
  readonly version: string;
  /** The operating-system account that runs the command; audit records name it. */
  readonly osUser: () => string;
}

interface OpenDatabase {
  readonly database: Database;
  /** Of the site. */
  readonly scope: AuditScope;
  readonly audit: AuditLog;
  readonly begin: BeginActs;
}

/** Opens the site database of a service that has been started before, with its audit log. */
export async function withDatabase<T>(
  { settings, siteDatabase, clock, osUser }: DataDirParts,
  work: (parts: OpenDatabase) => Promise<T>,
): Promise<T> {
  const { dataDir, env } = settings();
  if (!existsSync(dataDir))
    throw new CommandError(`no data dir ${dataDir}: start the service once, or set SVC_DATA_DIR`);
  const place = siteDatabase();
  await refuseOlderFormat(place, dataDir);
  const scope = identityConfig(env).scope ?? forPerson(() => localScope(dataDir));
  const database = forPerson(() => openDatabase(place));
  try {
    await forPersonLater(() => database.ready());
    const audit = createAuditLog({ database, clock, scope });
    const ofPerson: AuditLog = {
      append: (entry) => audit.append(byUser(entry, osUser())),
      appendIn: (transaction, entry) => audit.appendIn(transaction, byUser(entry, osUser())),
    };
    return await work({ database, scope, audit: ofPerson, begin: recordedActs(database, ofPerson, clock) });
  } finally {
    await database.close();
  }
}

/** Only the service upgrades a database: of a file it makes a copy first, and it has exclusive access. */
export async function refuseOlderFormat(place: DatabasePlace, dataDir: string): Promise<void> {
  const formats = await forPersonLater(async () =>
    typeof place === 'string' ? databaseFormats(dataDir) : serverFormats(place),
  );
  if (!formats.some(isOlder)) return;
  const what = typeof place === 'string' ? 'data dir' : 'database';
  throw new CommandError(`the ${what} has an older format: start the service of this version once, then try again`);
}

/** The entry with the operating system user: `setpoint-cli` alone does not identify the person. */
export function byUser(entry: AuditEntry, osUser: string): AuditEntry {
  const details = typeof entry.details === 'object' && entry.details !== null ? entry.details : {};
  return { ...entry, details: { ...details, os_user: osUser } };
}

/** Runs `work` on a file of the data dir; an unreadable one (damaged, or of a newer format) gives one line for the operator. */
export function forPerson<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}

/** As `forPerson`, for work that takes time. */
export async function forPersonLater<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}

/** The database of recorded history: a file of the data dir, or the server of rules and audit. */
export function historyPlace(parts: DataDirParts): DatabasePlace {
  const site = parts.siteDatabase();
  return typeof site === 'string' ? databaseFile(parts.settings().dataDir, 'history') : site;
}
