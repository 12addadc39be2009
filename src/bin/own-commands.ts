/** The commands that need no running service, with their environment. */
import { readdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { addOwnCommands, type OwnCommandParts } from '../cli/data-dir/index.ts';
import type { OwnCommands } from '../cli/program.ts';
import { BackupError } from '../databases/backup.ts';
import { misplacedSite } from '../databases/data-files.ts';
import type { DatabasePlace } from '../storage/database.ts';
import { checkSite } from './check-site.ts';
import { codeOf, readConfig, readLimits, readSiteFile, type ServiceConfig } from './config.ts';
import { lockDataFolder } from './data-lock.ts';
import { siteDatabase } from './databases.ts';
import { testReceivers } from './receivers.ts';
import { isForOperator, StartError } from './start-error.ts';

export function ownCommands(parts: Pick<OwnCommandParts, 'terminal' | 'clock' | 'version'>): OwnCommands {
  return {
    addTo: (setpoint, groups) =>
      addOwnCommands(setpoint, groups, {
        ...parts,
        osUser,
        untilStopped: () =>
          new Promise((resolve) => {
            for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
          }),
        settings: () => readConfig(process.env),
        site: (configDir) => readSiteFile(configDir),
        siteDatabase: () => {
          const config = readConfig(process.env);
          refuseUnreadable(config.dataDir);
          const place = namedDatabase(config);
          const misplaced = misplacedSite(config.dataDir, place);
          if (misplaced !== null) throw new StartError(misplaced);
          return place;
        },
        namedDatabase: () => namedDatabase(readConfig(process.env)),
        checkSite: (configDir) => checkSite(configDir, process.env),
        testReceivers: () => testReceivers(readConfig(process.env)),
        lockDataDir: lockDataFolder,
        rulesMax: (configDir) => readLimits(configDir).automation.max_rules,
      }),
    isExpected: (error) => isForOperator(error) || error instanceof BackupError,
  };
}

/** Otherwise each file in it would seem not to be there, or be named by its own error. */
function refuseUnreadable(dataDir: string): void {
  try {
    readdirSync(dataDir);
  } catch (error) {
    // Without a data dir, each command gives its own error.
    if (codeOf(error) === 'ENOENT') return;
    throw new StartError(
      `the data dir ${dataDir} cannot be read (${codeOf(error)}): run this as the account of the service (with sudo on an installed site), or set SVC_DATA_DIR`,
    );
  }
}

function namedDatabase(config: ServiceConfig): DatabasePlace {
  return siteDatabase(config, readLimits(config.configDir).storage);
}

/** A container may have no name for its account. */
function osUser(): string {
  try {
    const { username, uid } = userInfo();
    return `${username} (uid ${uid})`;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
