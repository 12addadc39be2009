/**
 * The program `setpoint` [platform §7] with all its commands. Commands on a running service use the HTTP client alone; those in
 * `data-dir/` work on the data dir itself. Everything from the environment is passed in by `bin`.
 */
import { Argument, Command, CommanderError } from 'commander';
import type { CommandLine } from './command-line.ts';
import { completionScript, type ShellName, shells } from './completion.ts';
import { addAuditFileCommands } from './data-dir/audit-command.ts';
import { addAuditProofCommands } from './data-dir/audit-proof-command.ts';
import { addBackupCommands } from './data-dir/backup-command.ts';
import { addForecastCommands } from './data-dir/forecasts-command.ts';
import { addHistoryCommands } from './data-dir/history-command.ts';
import { addMigrateCommand } from './data-dir/migrate-command.ts';
import { addRevokeCommand } from './data-dir/revoke-command.ts';
import { addRuleFileCommands } from './data-dir/rule-files-command.ts';
import { addSimulateCommand } from './data-dir/simulate-command.ts';
import { addSiteCommands, type SiteFileParts } from './data-dir/site-command.ts';
import { addTokenCommand } from './data-dir/token-command.ts';
import { addUserCommands } from './data-dir/users-command.ts';
import { addWitnessCommand } from './data-dir/witness-command.ts';
import { CommandError, type ExitCode, exitCodes } from './exit.ts';
import { failureOf } from './failure.ts';
import { operationCommands } from './operation/index.ts';
import { addPointTools } from './operation/point-tools.ts';
import { type RemoteEnvironment, remoteOf } from './remote.ts';

export interface ProgramParts extends SiteFileParts {
  readonly env: RemoteEnvironment;
  readonly interrupted: AbortSignal;
  /** Resolves on a stop signal; the process then stops cleanly. */
  readonly untilStopped: () => Promise<void>;
  /** Runs the service until a stop signal. */
  readonly serve: () => Promise<void>;
  /** Runs the tool protocol on standard input and output until they close. */
  readonly mcp: (options: { readonly allowWrite: boolean }) => Promise<void>;
  /** Errors whose message is meant for the person. */
  readonly isExpected: (error: unknown) => boolean;
}

export function createProgram(parts: ProgramParts): Command {
  const { terminal, clock, interrupted } = parts;
  const line: CommandLine = { terminal, clock, interrupted, remote: () => remoteOf(parts.env) };
  const setpoint = new Command('setpoint')
    .description('Rule automation, audit and forecasts for one site')
    .version(parts.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.error(text),
      // `runProgram` reports wrong usage like every other failure.
      outputError: () => undefined,
    })
    .addHelpText(
      'after',
      `
Commands on a running service use SVC_BASE_URL and SVC_ACCESS_TOKEN, the others SVC_DATA_DIR and SVC_CONFIG_DIR.
Exit codes: ${exitCodes.done} done, ${exitCodes.failed} failed, ${exitCodes.notConfirmed} wrong usage or not confirmed, ${exitCodes.unreachable} no answer from the service.`,
    );
  setpoint
    .command('serve')
    .description('run the service, configured by SVC_*')
    .action(() => parts.serve());
  const groups = {
    rules: setpoint.command('rules').description('rules of a running service, and rules as files'),
    scheduler: setpoint.command('scheduler').description('the scheduler of a running service'),
    points: setpoint.command('points').description('points of a running service: values, overrides, limits, owners'),
    channels: setpoint.command('channels').description('channels of a running service: state, last error, traffic'),
    alarms: setpoint.command('alarms').description('alarms of a running service: list, history, acknowledge, shelve'),
    parameters: setpoint.command('parameters').description('parameters of a running service'),
    site: setpoint.command('site').description('the site file: create, extend, check, and apply to a running service'),
    audit: setpoint.command('audit').description('the audit trail'),
  };
  for (const operation of operationCommands) {
    const [group] = operation.words.split(' ');
    operation.addTo(group !== undefined && group in groups ? groups[group as keyof typeof groups] : setpoint, line);
  }
  addPointTools(groups.points, line);
  addOwnCommands(setpoint, groups, parts);
  setpoint
    .command('mcp')
    .description('the tool protocol (MCP) on standard input and output, for an assistant')
    .option('--allow-write', 'offer the tools that change things, too')
    .action((options: { readonly allowWrite?: true }) => parts.mcp({ allowWrite: options.allowWrite === true }));
  setpoint
    .command('completion')
    .description('print a script that completes the words of this program')
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: ShellName) => terminal.out(completionScript(setpoint, shell)));
  return setpoint;
}

/** Commands on the files of the site, its data dir, and what else needs no running service. */
function addOwnCommands(
  setpoint: Command,
  groups: { readonly rules: Command; readonly audit: Command; readonly site: Command },
  parts: ProgramParts,
): void {
  addSiteCommands(groups.site, parts);
  addSimulateCommand(setpoint, parts);
  addRuleFileCommands(groups.rules, parts);
  addAuditFileCommands(groups.audit, parts);
  addAuditProofCommands(groups.audit, parts);
  addHistoryCommands(setpoint.command('history').description('recorded values of one point'), parts);
  addForecastCommands(setpoint.command('forecasts').description('forecasts over recorded history'), parts);
  addTokenCommand(setpoint, parts);
  addRevokeCommand(setpoint, parts);
  addUserCommands(setpoint, parts);
  addBackupCommands(setpoint, parts);
  addMigrateCommand(setpoint, parts);
  addWitnessCommand(setpoint, parts);
}

/** Runs one line of arguments; what it returns is the process's exit code. Throws only for a bug. */
export async function runProgram(args: readonly string[], parts: ProgramParts): Promise<ExitCode> {
  try {
    await createProgram(parts).parseAsync([...args], { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    // The library prints the output of --help and --version, and the error of an incomplete command.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help'))
      return error.exitCode === 0 ? exitCodes.done : exitCodes.notConfirmed;
    const told = error instanceof CommanderError ? wrongUsage(error) : error;
    const failure = failureOf(told, args.includes('--json'), parts.isExpected);
    if (failure === null) throw error;
    parts.terminal.error(failure.text);
    return failure.exitCode;
  }
}

/** The library's message in one line, in the words of the help. */
function wrongUsage({ message }: CommanderError): CommandError {
  const text = message
    .replace(/^error: (command-argument value )?/, '')
    .replace(/\.?\s*$/, '')
    .replaceAll('\n', ' ');
  return new CommandError(`${text}; add --help for usage`, exitCodes.notConfirmed);
}
