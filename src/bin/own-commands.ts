/** The commands of the command line that need no running service, with the environment that they work on. */
import { userInfo } from 'node:os';
import { addOwnCommands, type OwnCommandParts } from '../cli/data-dir/index.ts';
import type { OwnCommands } from '../cli/program.ts';
import { BackupError } from '../databases/backup.ts';
import { checkSite } from './check-site.ts';
import { isForOperator, readConfig, readLimits, readSiteFile } from './config.ts';
import { lockDataFolder } from './data-lock.ts';
import { siteDatabase } from './databases.ts';

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
          return siteDatabase(config, readLimits(config.configDir).storage);
        },
        checkSite: (configDir) => checkSite(configDir, process.env),
        lockDataDir: lockDataFolder,
        rulesMax: (configDir) => readLimits(configDir).automation.max_rules,
      }),
    isExpected: (error) => isForOperator(error) || error instanceof BackupError,
  };
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
