#!/usr/bin/env node
/** The command line as a process [platform §7]: environment, terminal, signals, exit code. The commands are in src/cli. */
import { systemClock } from '../base/clock.ts';
import { leftOut, optionalLibrary } from '../base/optional-library.ts';
import { CommandError, exitCodes } from '../cli/exit.ts';
import { failureOf } from '../cli/failure.ts';
import { runProgram } from '../cli/program.ts';
import { remoteOf } from '../cli/remote.ts';
import { misspeltSetting } from './environment.ts';
import { processTerminal } from './terminal.ts';
import { packageVersion } from './version.ts';

// Files that a command writes in the data dir are for the service's account.
process.umask(0o077);
const interruption = new AbortController();

/** The service loads all its areas: other commands do not import it. */
async function serve(): Promise<void> {
  const [{ runService }, { readConfig }] = await Promise.all([import('./run-service.ts'), import('./config.ts')]);
  await runService(() => readConfig(process.env));
}

/** Its library is large. */
async function mcp({ allowWrite }: { readonly allowWrite: boolean }): Promise<void> {
  if ((process.env['SVC_ACCESS_TOKEN'] ?? '') === '')
    throw new CommandError(
      'SVC_ACCESS_TOKEN is not set: the tools act with the permissions of a token',
      exitCodes.notConfirmed,
    );
  const library = await optionalLibrary(() => import('../mcp/serve-stdio.ts'));
  if (library === null) throw new CommandError(leftOut('setpoint mcp', '@modelcontextprotocol/sdk'));
  await library.serveStdio({ client: remoteOf(process.env), allowWrite, version: packageVersion() });
}

/** Ctrl-C ends what watches in order; whatever else it meets ends at once, as usual. */
function watchInterrupt(): void {
  if (!process.argv.includes('--watch') && process.argv[3] !== 'watch') return;
  process.once('SIGINT', () => interruption.abort(new Error('interrupted')));
}

function end(message: string): never {
  const failure = new CommandError(message);
  process.stderr.write(failureOf(failure, process.argv.includes('--json'), () => false)?.text ?? '');
  process.exit(exitCodes.failed);
}

// A closed pipe is the end of reading, as after `head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.done);
  // A disk that is full, mostly.
  end(`the output cannot be written (${error.code ?? error.message})`);
});
const misspelt = misspeltSetting(process.env);
if (misspelt !== null) end(misspelt);
watchInterrupt();
const [terminal, clock, version] = [processTerminal(process.env), systemClock, packageVersion()];
process.exitCode = await runProgram(process.argv.slice(2), {
  terminal,
  clock,
  version,
  env: process.env,
  interrupted: interruption.signal,
  serve,
  mcp,
  ownCommands: async () => (await import('./own-commands.ts')).ownCommands({ terminal, clock, version }),
});
