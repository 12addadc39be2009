/**
 * `setpoint migrate --from sqlite --to postgres` (docs/guides/several-machines.md): moves rules, audit, rule state and recorded history of a stopped
 * service to the server that SVC_DATABASE_URL names, and verifies the audit trail there. The files do not change.
 */
import { type Command, Option } from 'commander';
import type { AuditEntry } from '../../audit/event.ts';
import { createAuditLog } from '../../audit/log.ts';
import type { Clock } from '../../base/clock.ts';
import { newId } from '../../base/id.ts';
import { databaseFile, markInDatabase } from '../../databases/data-files.ts';
import { openDatabase } from '../../databases/site-database.ts';
import { moveToPostgres } from '../../databases/to-postgres.ts';
import { identityConfig } from '../../gateway/identity-config.ts';
import { localScope } from '../../gateway/local-keys.ts';
import { historyLimits } from '../../historian/limits.ts';
import { openHistorian } from '../../historian/open-historian.ts';
import { journalFiles, journalFolder } from '../../storage/row-journal.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { quantity, showProgress } from '../terminal.ts';
import { verifyDataDir } from './audit-command.ts';
import { byUser, type DataDirParts, forPerson } from './data-dir.ts';
import { storeReadingsLeft } from './waiting-readings.ts';

interface Options {
  readonly confirmed?: true;
  readonly json?: true;
}

export function addMigrateCommand(setpoint: Command, parts: DataDirParts): void {
  setpoint
    .command('migrate')
    .description('move a stopped service from files to the PostgreSQL server of SVC_DATABASE_URL')
    .addOption(new Option('--from <engine>', 'where the site is').choices(['sqlite']).makeOptionMandatory())
    .addOption(new Option('--to <engine>', 'where it goes').choices(['postgres']).makeOptionMandatory())
    .option('--confirmed', 'make the change; without it the command only explains it')
    .option('--json', 'print how many rows each table had as JSON')
    .action((options: Options) => migrate(parts, options));
}

async function migrate(parts: DataDirParts, options: Options): Promise<void> {
  const { terminal, clock } = parts;
  const { dataDir, env } = parts.settings();
  const place = parts.namedDatabase();
  if (typeof place === 'string') throw new CommandError('SVC_DATABASE_URL is not set: it names the server to move to');
  if (options.confirmed !== true)
    throw new CommandError(
      `This would move rules, audit, rule state and recorded history of ${dataDir} to an empty PostgreSQL database. Give --confirmed to do it.`,
      exitCodes.notConfirmed,
    );
  const lock = forPerson(() => parts.lockDataDir(dataDir));
  if (lock === null) throw new CommandError(`a service uses the data dir ${dataDir}: stop it first`);
  const progress = showProgress(terminal);
  try {
    await storeWhatWaits(dataDir, clock);
    const moved = await moveToPostgres(dataDir, place, (text) => progress.at(text)).catch((error: unknown) => {
      throw new CommandError(error instanceof Error ? error.message : String(error));
    });
    markInDatabase(dataDir, clock.wallMs());
    const database = openDatabase(place);
    try {
      const scope = identityConfig(env).scope ?? localScope(dataDir);
      const record: AuditEntry = {
        subject: { kind: 'system', subjectId: 'setpoint-cli' },
        action: 'platform.storage.migrate',
        resource: { kind: 'platform', resourceId: 'platform-storage' },
        outcome: 'succeeded',
        risk: 'high',
        confirmation: 'explicit',
        correlationId: newId(),
        details: moved,
      };
      await createAuditLog({ database, clock, scope }).append(byUser(record, parts.osUser()));
    } catch {
      throw new CommandError(
        'moved, but the audit record of the move could not be written. Do not move again; `setpoint audit verify` checks the moved log',
      );
    } finally {
      await database.close();
    }
    const { chains, problems } = await verifyDataDir(terminal, dataDir, place, { details: true });
    progress.end();
    const broken = chains.find((chain) => chain.broken !== null)?.broken;
    if (broken) throw new CommandError(`moved, but the audit trail is broken at sequence ${broken.sequence}`);
    if (problems.length > 0) throw new CommandError(`moved, but audit verification failed: ${problems.join('; ')}`);
    terminal.out(
      options.json === true
        ? `${JSON.stringify(moved)}\n`
        : `${Object.entries(moved)
            .map(([table, rows]) => `${table}: ${quantity(rows, 'row')}\n`)
            .join(
              '',
            )}Audit verification passed. The files of the data dir stay as they are, and no service starts on them without --force.\n`,
    );
  } finally {
    progress.end();
    lock.release();
  }
}

/** The journals of the data dir are not moved: their content is stored in its databases first. */
async function storeWhatWaits(dataDir: string, clock: Clock): Promise<void> {
  if (journalFiles(journalFolder(dataDir, 'runs')).length > 0)
    throw new CommandError(
      `the newest runs of ${dataDir} are not in its database yet: start its service and stop it once`,
    );
  if (journalFiles(journalFolder(dataDir, 'history')).length === 0) return;
  const file = databaseFile(dataDir, 'history');
  const historian = openHistorian(file, historyLimits);
  try {
    await storeReadingsLeft(dataDir, file, historian, clock);
  } finally {
    await historian.close();
  }
}
