/**
 * `setpoint backup DIR` and `setpoint restore DIR` [platform §4.4]. Both end with the audit trail of the copy
 * verified: an invalid copy is reported while the original still exists.
 */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { newId } from '../../base/id.ts';
import { type BackupManifest, backUp, checkBackup, restore } from '../../databases/backup.ts';
import { databaseFormats, isOlder } from '../../databases/data-files.ts';
import { CommandError } from '../exit.ts';
import { quantity, showProgress } from '../terminal.ts';
import { verifyDataDir } from './audit-command.ts';
import { type DataDirParts, withDatabase } from './data-dir.ts';

interface Options {
  readonly json?: true;
}

export function addBackupCommands(setpoint: Command, parts: DataDirParts): void {
  setpoint
    .command('backup')
    .description('copy the data dir, also while the service runs, and verify the copy')
    .argument('<folder>', 'an empty folder, or one that is not there yet')
    .option('--json', 'print the manifest as JSON')
    .action((folder: string, options: Options) => backupCommand(parts, resolve(folder), options));
  setpoint
    .command('restore')
    .description('put a backup where the data dir is to be; the service must not run')
    .argument('<folder>', 'what `setpoint backup` has made')
    .option('--check', 'only verify the backup')
    .option('--json', 'print the manifest as JSON')
    .action((folder: string, options: Options & { readonly check?: true }) =>
      restoreCommand(parts, resolve(folder), options),
    );
}

async function backupCommand(parts: DataDirParts, target: string, options: Options): Promise<void> {
  const { terminal, clock, version } = parts;
  const { dataDir } = parts.settings();
  if (typeof parts.siteDatabase() !== 'string')
    throw new CommandError(
      'the site is in PostgreSQL (SVC_DATABASE_URL): back it up with pg_dump, and the data dir as files',
    );
  if (!existsSync(dataDir)) throw new CommandError(`no data dir ${dataDir}: set SVC_DATA_DIR`);
  if (`${target}/`.startsWith(`${dataDir}/`)) throw new CommandError('a backup must lie outside the data dir');
  const progress = showProgress(terminal);
  const manifest = backUp({
    dataDir,
    target,
    version,
    wallMs: clock.wallMs(),
    onFile: (name) => progress.at(`copying ${name}`),
  });
  checkBackup(target);
  const trail = await verifyCopy(parts, target);
  progress.end();
  report(parts, manifest, options, `saved ${target}`, trail);
}

async function restoreCommand(
  parts: DataDirParts,
  source: string,
  options: Options & { readonly check?: true },
): Promise<void> {
  const { terminal } = parts;
  const progress = showProgress(terminal);
  if (options.check === true) {
    const manifest = checkBackup(source);
    return report(parts, manifest, options, `${source} is whole`, await verifyCopy(parts, source));
  }
  const { dataDir } = parts.settings();
  const manifest = restore(source, dataDir, (name) => progress.at(`copying ${name}`));
  const trail = await verifyCopy(parts, dataDir);
  progress.end();
  const recorded = await recordRestore(parts, manifest);
  report(parts, manifest, options, `restored ${dataDir}`, `${trail}${recorded}`);
}

/** The restored log records the restore; events after the backup are lost. */
async function recordRestore(parts: DataDirParts, { created_at, version }: BackupManifest): Promise<string> {
  const { dataDir } = parts.settings();
  if (databaseFormats(dataDir).some(isOlder))
    return '; the data has an older format, so its audit trail does not say that it was restored';
  await withDatabase(parts, async ({ audit }) => {
    await audit.append({
      subject: { kind: 'system', subjectId: 'setpoint-cli' },
      action: 'platform.storage.restore',
      resource: { kind: 'platform', resourceId: 'platform-storage' },
      outcome: 'succeeded',
      risk: 'critical',
      confirmation: 'explicit',
      correlationId: newId(),
      details: { backup: { created_at, version } },
    });
  });
  return '';
}

/** A summary of the copy's audit trail; throws when its verification fails. */
async function verifyCopy(parts: DataDirParts, folder: string): Promise<string> {
  const site = databaseFormats(folder).find(({ name }) => name === 'site');
  if (site === undefined || site.found < site.known)
    return 'its audit trail has an older format and was not verified: the program of that version can';
  const { chains, problems, edited } = await verifyDataDir(parts.terminal, folder, site.file, { details: true });
  const broken = chains.find((chain) => chain.broken !== null && chain.acknowledgedBy === null)?.broken;
  if (broken) throw new CommandError(`the audit trail of the copy is broken at sequence ${broken.sequence}`);
  if (problems.length > 0) throw new CommandError(`the audit trail of the copy does not hold: ${problems.join('; ')}`);
  // A finding about the site, not about the copy.
  return ['audit verification passed', ...edited].join('; ');
}

function report(
  { terminal }: DataDirParts,
  manifest: BackupManifest,
  options: Options,
  done: string,
  trail: string,
): void {
  if (options.json === true) {
    terminal.out(`${JSON.stringify(manifest)}\n`);
    return;
  }
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  terminal.out(
    `${done}: ${quantity(manifest.files.length, 'file')}, ${quantity(bytes, 'byte')}, of ${manifest.created_at}; ${trail}\n`,
  );
}
