/**
 * `setpoint backup DIR` and `setpoint restore DIR` [platform §4.4]. Both end with the audit trail of the copy
 * verified: an invalid copy is reported while the original still exists.
 */

import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { newId } from '../../base/id.ts';
import { type BackupManifest, backUp, checkBackup, restore } from '../../databases/backup.ts';
import { databaseFormats, isOlder } from '../../databases/data-files.ts';
import { placeOfBackup, rememberBackup, removeOlderBackups } from '../../databases/kept-backups.ts';
import { wholeNumber } from '../command-line.ts';
import { CommandError } from '../exit.ts';
import { quantity, showProgress } from '../terminal.ts';
import { verifyDataDir } from './audit-command.ts';
import { type DataDirParts, withDatabase } from './data-dir.ts';

interface Options {
  readonly json?: true;
}

interface BackupOptions extends Options {
  readonly keep?: number;
}

function kept(text: string): number {
  const number = wholeNumber(text);
  if (number < 1) throw new InvalidArgumentError('Give 1 or more.');
  return number;
}

export function addBackupCommands(setpoint: Command, parts: DataDirParts): void {
  setpoint
    .command('backup')
    .description('copy the data dir, also while the service runs, and verify the copy')
    .argument('<folder>', 'an empty folder, or one that is not there yet; with --keep, a folder of backups')
    .option('--keep <number>', 'name the backup by its time, and keep this number of the newest', kept)
    .option('--json', 'print the manifest as JSON')
    .action((folder: string, options: BackupOptions) => backupCommand(parts, resolve(folder), options));
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

async function backupCommand(parts: DataDirParts, folder: string, options: BackupOptions): Promise<void> {
  const { dataDir } = parts.settings();
  if (typeof parts.siteDatabase() !== 'string')
    throw new CommandError(
      'the site is in PostgreSQL (SVC_DATABASE_URL): back it up with pg_dump, and the data dir as files',
    );
  if (!existsSync(dataDir)) throw new CommandError(`no data dir ${dataDir}: set SVC_DATA_DIR`);
  if (`${folder}/`.startsWith(`${dataDir}/`)) throw new CommandError('a backup must lie outside the data dir');
  const { keep } = options;
  if (keep === undefined) {
    const made = await madeBackup(parts, dataDir, folder);
    return report(parts, made.manifest, options, `saved ${folder}`, made.trail);
  }
  const place = placeOfBackup(folder, parts.clock.wallMs());
  if (existsSync(place)) throw new CommandError(`${place} is already there: try again in a second`);
  const made = await madeBackup(parts, dataDir, place).catch((error: unknown) => {
    // Otherwise each night with a full disk would leave another part of a backup on it.
    rmSync(place, { recursive: true, force: true });
    throw error;
  });
  const removed = removeOlderBackups(place, keep);
  report(
    parts,
    made.manifest,
    options,
    `saved ${place}`,
    `${made.trail}; ${quantity(removed, 'older backup')} removed`,
  );
}

async function madeBackup(parts: DataDirParts, dataDir: string, target: string) {
  const { terminal, clock, version } = parts;
  const progress = showProgress(terminal);
  const wallMs = clock.wallMs();
  const onFile = (name: string): void => progress.at(`copying ${name}`);
  const manifest = backUp({ dataDir, target, version, wallMs, onFile });
  checkBackup(target);
  const trail = await verifyCopy(parts, target);
  progress.end();
  try {
    rememberBackup(dataDir, wallMs);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    terminal.error(`the backup is complete, but the alarm backup-overdue does not know of it: ${why}\n`);
  }
  return { manifest, trail };
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
