/**
 * The program `setpoint` [platform §7] with all its commands. Commands on a running service use only the HTTP client; those in
 * `data-dir/` work on the data dir itself. Everything from the environment is passed in by `bin`.
 */
import { Argument, Command, CommanderError, Help, type Option } from 'commander';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { YamlError } from '../base/yaml.ts';
import type { CommandLine } from './command-line.ts';
import { completionScript, type ShellName, shells } from './completion.ts';
import { CommandError, type ExitCode, exitCodes } from './exit.ts';
import { failureOf } from './failure.ts';
import { operationCommands } from './operation/index.ts';
import { addPointTools } from './operation/point-tools.ts';
import { type RemoteEnvironment, remoteOf } from './remote.ts';
import type { Terminal } from './terminal.ts';

export interface ProgramParts {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly env: RemoteEnvironment;
  readonly version: string;
  readonly interrupted: AbortSignal;
  /** Runs the service until a stop signal. */
  readonly serve: () => Promise<void>;
  /** Runs the tool protocol on standard input and output until they close. */
  readonly mcp: (options: { readonly allowWrite: boolean }) => Promise<void>;
  /** Loads the commands without a running service: most of the program, so that the others start in half the time. */
  readonly ownCommands: () => Promise<OwnCommands>;
}

/** Groups that have commands of both sorts. */
export interface SharedGroups {
  readonly rules: Command;
  readonly audit: Command;
  readonly site: Command;
}

/** Commands on the files of the site, its data dir, and others without a running service. */
export interface OwnCommands {
  addTo(setpoint: Command, groups: SharedGroups): void;
  /** Their errors with messages for the user. */
  isExpected(error: unknown): boolean;
}

/** The library's description of an option, and whether the option is required, which the library omits. */
function described(option: Option): string {
  const text = new Help().optionDescription(option);
  if (!option.mandatory) return text;
  return text === '' ? 'required' : `${text} (required)`;
}

/** `own`: null if the command line needs none of them. */
export function createProgram(parts: ProgramParts, own: OwnCommands | null): Command {
  const { terminal, clock, interrupted } = parts;
  const line: CommandLine = { terminal, clock, interrupted, remote: () => remoteOf(parts.env) };
  const setpoint = new Command('setpoint')
    .description('Rule automation, audit and forecasts for one site')
    .version(parts.version)
    // Options belong to the command that they follow: `token` has some, and so have the commands below it.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.error(text),
      // `runProgram` reports wrong usage like every other failure.
      outputError: () => undefined,
    })
    .configureHelp({ optionDescription: described })
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
    alarms: setpoint
      .command('alarms')
      .description('alarms of a running service: list, history, acknowledge, shelve, unshelve'),
    parameters: setpoint.command('parameters').description('parameters of a running service'),
    site: setpoint.command('site').description('the site file: create, extend, check, and apply to a running service'),
    audit: setpoint.command('audit').description('the audit trail'),
  };
  for (const operation of operationCommands) {
    const [group] = operation.words.split(' ');
    operation.addTo(group !== undefined && group in groups ? groups[group as keyof typeof groups] : setpoint, line);
  }
  addPointTools(groups.points, line);
  own?.addTo(setpoint, groups);
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

/** Whether the command line names a command that uses a running service, or runs one. */
function needsService([first = '', second = '']: readonly string[]): boolean {
  if (['serve', 'mcp', 'points'].includes(first)) return true;
  return operationCommands.some(({ words }) => words === first || words === `${first} ${second}`);
}

/** Runs one command line; returns the process's exit code. Throws only for a bug. */
export async function runProgram(args: readonly string[], parts: ProgramParts): Promise<ExitCode> {
  const own = needsService(args) ? null : await parts.ownCommands();
  const isExpected = (error: unknown): boolean =>
    error instanceof Fault || error instanceof YamlError || own?.isExpected(error) === true;
  const program = createProgram(parts, own);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    // The library prints the output of --help and --version, and the error of an incomplete command.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help'))
      return error.exitCode === 0 ? exitCodes.done : exitCodes.notConfirmed;
    const told = error instanceof CommanderError ? wrongUsage(error, elsewhere(program, args)) : error;
    const failure = failureOf(told, args.includes('--json'), isExpected);
    if (failure === null) throw error;
    parts.terminal.error(failure.text);
    return failure.exitCode;
  }
}

/** The library's message in one line, in the terms of the help. */
function wrongUsage({ message, code }: CommanderError, elsewhere: readonly string[]): CommandError {
  const text = message
    .replace(/^error: (command-argument value )?/, '')
    .replace(/\.?\s*$/, '')
    .replaceAll('\n', ' ');
  const meant = code === 'commander.unknownCommand' && elsewhere.length > 0 ? `; there is ${elsewhere.join(', ')}` : '';
  return new CommandError(`${text}${meant}; add --help for usage`, exitCodes.notConfirmed);
}

/** Commands in other groups with the unknown word: `setpoint pull` for `rules pull`. */
function elsewhere({ commands }: Command, [first, second]: readonly string[]): readonly string[] {
  const word = commands.some((group) => group.name() === first) ? second : first;
  return commands
    .flatMap((group) => [[group.name()], ...group.commands.map((command) => [group.name(), command.name()])])
    .filter((words) => words.at(-1) === word)
    .map((words) => `\`setpoint ${words.join(' ')}\``);
}
