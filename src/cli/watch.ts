/** `--watch`: repeats the same query until it is interrupted [platform §7]. */
import { InvalidArgumentError } from 'commander';
import { ApiError } from '../api/client.ts';
import { sleep } from '../base/clock.ts';
import type { CommandLine } from './command-line.ts';
import { failureOf } from './failure.ts';

export const watchOption = '--watch [seconds]';
const defaultSeconds = 2;
const secondsMin = 0.1;
const secondsMax = 3600;
/** Consecutive failures before a watch into a pipe ends. */
export const failuresMax = 5;
/** Cursor to the upper left corner, then clear: without flicker. */
const home = '\u001b[H\u001b[J';
const cleared = '\u001b[2J';

/** Option value: seconds between two queries. */
export function watchSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= secondsMin && seconds <= secondsMax))
    throw new InvalidArgumentError(`Give seconds from ${secondsMin} to ${secondsMax}.`);
  return seconds;
}

/**
 * Shows once, or with `watch` until interrupted. On a terminal an unavailable service is waited for;
 * in a pipe, the command ends after some consecutive failures with the exit code of the last one.
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
