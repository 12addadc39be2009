/** `--watch`: the same question again and again until the person has seen enough [platform §7]. */
import { InvalidArgumentError } from 'commander';
import { ApiError } from '../api/client.ts';
import { sleep } from '../base/clock.ts';
import type { CommandLine } from './command-line.ts';
import { failureOf } from './failure.ts';

export const watchOption = '--watch [seconds]';
const defaultSeconds = 2;
const secondsMin = 0.1;
const secondsMax = 3600;
/** Attempts that fail in a row before a watch into a pipe ends. */
export const failuresMax = 5;
/** To the upper left corner, everything below removed: without flicker. */
const home = '\u001b[H\u001b[J';
const cleared = '\u001b[2J';

/** Option value: seconds between two questions. */
export function watchSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= secondsMin && seconds <= secondsMax))
    throw new InvalidArgumentError(`Give seconds from ${secondsMin} to ${secondsMax}.`);
  return seconds;
}

/**
 * Shows once, or until interrupted when `watch` says so. A service that goes away is waited for where a person looks on;
 * in a pipe, it ends after some failed attempts in a row with the exit code of the last one.
 */
export async function showing(
  { terminal, clock, interrupted }: Pick<CommandLine, 'terminal' | 'clock' | 'interrupted'>,
  watch: number | true | undefined,
  show: () => Promise<void>,
): Promise<void> {
  if (watch === undefined) return show();
  const periodMs = (watch === true ? defaultSeconds : watch) * 1000;
  let failures = 0;
  let failingSince = '';
  if (terminal.outIsTerminal) terminal.out(cleared);
  while (!interrupted.aborted) {
    if (terminal.outIsTerminal) terminal.out(home);
    try {
      await show();
      failures = 0;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.retryable) throw error;
      failures += 1;
      if (failures === 1) failingSince = new Date(clock.wallMs()).toISOString();
      if (!terminal.outIsTerminal && failures >= failuresMax)
        throw error.saying(`${error.message} (given up after ${failuresMax} attempts)`);
      const told = terminal.outIsTerminal ? error.saying(`${error.message} Failing since ${failingSince}`) : error;
      terminal.error(failureOf(told, false, () => false)?.text ?? '');
    }
    await sleep(clock, periodMs, interrupted).catch(() => undefined);
  }
}
