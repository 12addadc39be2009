/** Prepares and locks the data directory of a service [platform §1.1]. */
import { accessSync, chmodSync, constants, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { isHalfRestored } from '../databases/backup.ts';
import { isInDatabase, markInDatabase, rulesInFiles, takeBack } from '../databases/data-files.ts';
import { RetentionClock } from '../storage/retention-clock.ts';
import { codeOf, type ServiceConfig } from './config.ts';
import { lockDataFolder } from './data-lock.ts';
import type { Opened } from './opened.ts';
import { StartError } from './start-error.ts';

export function claimDataFolder(config: ServiceConfig, log: Log, opened: Opened): void {
  const { dataDir } = config;
  prepareDataFolder(dataDir);
  if (isHalfRestored(dataDir))
    throw new StartError(`a restore into the data dir ${dataDir} is incomplete: run it again`);
  const moved = config.databaseUrl === null && isInDatabase(dataDir);
  if (moved && config.force !== true)
    throw new StartError(
      `the site of the data dir ${dataDir} is in a database: set SVC_DATABASE_URL, or go back to its files with npm run serve -- --force`,
    );
  if (config.databaseUrl !== null) refuseLeftRules(dataDir);
  const lock = lockDataFolder(dataDir);
  if (lock === null) throw new StartError(`another service uses the data dir ${dataDir}`);
  opened.add(() => lock.release());
  if (!moved) return;
  takeBack(dataDir);
  log.warn('using the files of a migrated site: later changes in the database are missing');
}

/** A service on a database would control with the rules of the database, and without those of the files. */
function refuseLeftRules(dataDir: string): void {
  const rules = isInDatabase(dataDir) ? 0 : rulesInFiles(dataDir);
  if (rules > 0)
    throw new StartError(
      `the data dir ${dataDir} has ${rules} ${rules === 1 ? 'rule' : 'rules'} in its files: move the site with setpoint migrate, unset SVC_DATABASE_URL, or remove site.sqlite from the data dir to start without them`,
    );
}

/** Continues from the last run of this data dir. */
export function openRetention({ dataDir }: ServiceConfig, log: Log, opened: Opened): RetentionClock {
  const retention = new RetentionClock(join(dataDir, 'retention-time'), systemClock, log);
  opened.add(async () => retention.close());
  return retention;
}

/** Called once the database is open: from then on the files of this data dir are not used for the site. */
export function rememberDatabase({ databaseUrl, dataDir }: ServiceConfig, wallMs: number): void {
  if (databaseUrl !== null) markInDatabase(dataDir, wallMs);
}

/** The service's account only. */
const privateFolder = 0o700;

function prepareDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: privateFolder });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(`the data dir ${folder} is not writable: ${codeOf(error)}`);
  }
  // It holds keys and databases: permission to open a database is permission to lock it.
  if ((statSync(folder).mode & 0o077) === 0) return;
  try {
    chmodSync(folder, privateFolder);
  } catch (error) {
    throw new StartError(
      `other accounts may use the data dir ${folder}, and its mode cannot be changed: ${codeOf(error)}; run chmod 700`,
    );
  }
}
