/** Builds the program that the tests start: it is what a site runs, and it starts in half the time of the sources. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtProgram, root } from '../e2e/running-service.ts';

export function setup(): void {
  // From an interrupted run.
  endPrograms();
  execFileSync(process.execPath, [join(root, 'setup', 'build.ts'), builtProgram], { cwd: root, stdio: 'pipe' });
}

/** A service that its test did not stop slows down all later tests, and later work on the machine. */
export function teardown(): void {
  const left = endPrograms();
  if (left.length > 0) throw new Error(`tests left programs running:\n${left.join('\n')}`);
}

/** Ends the programs that run from the folder, where the system lists processes in /proc; returns their commands. */
function endPrograms(): string[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  const running = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), command: commandOf(name) }))
    .filter(({ command }) => command.includes(join(builtProgram, 'dist')));
  return running.filter(({ pid }) => ended(pid)).map(({ command }) => command);
}

/** False for one that has already ended. */
function ended(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}
