/** `--watch` while the service cannot be reached [platform §7]. */
import { describe, expect, test } from 'vitest';
import { ApiError, localCodes } from '../api/client.ts';
import { settledPort } from '../testing/faulty-port.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { testTerminal } from '../testing/test-terminal.ts';
import { failuresMax, showing } from './watch.ts';

const away = (retryable = true) =>
  new ApiError({
    code: localCodes.unreachable,
    message: 'no answer.',
    status: null,
    correlationId: null,
    retryable,
    retryAfterMs: null,
    details: {},
  });

/** Watches once a second for this long; `fails` says which requests, counted from 1, get no answer. */
async function watching(isTerminal: boolean, fails: (question: number) => boolean, seconds: number) {
  const clock = simulatedClock();
  const shown = testTerminal({ isTerminal });
  const stop = new AbortController();
  let questions = 0;
  let end: unknown = 'still watching';
  const watch = showing({ terminal: shown.terminal, clock, interrupted: stop.signal }, 1, async () => {
    questions += 1;
    if (fails(questions)) throw away();
    shown.terminal.out('fine\n');
  }).then(
    () => (end = 'stopped'),
    (error: unknown) => (end = error),
  );
  for (let second = 0; second < seconds; second++) {
    await settledPort();
    clock.advance(1000);
  }
  await settledPort();
  const result = { end, questions, out: shown.out(), error: shown.error() };
  stop.abort();
  await watch;
  return result;
}

describe('[platform §7] a service that is unavailable during a watch', () => {
  test('into a pipe: ends after so many failures in a row, with the failure itself', async () => {
    const { end, questions, error } = await watching(false, () => true, 20);
    expect(questions).toBe(failuresMax);
    expect(end).toBeInstanceOf(ApiError);
    expect(end).toMatchObject({ code: localCodes.unreachable, message: 'no answer. (given up after 5 attempts)' });
    expect(error.trimEnd().split('\n')).toHaveLength(failuresMax - 1);
  });

  test('into a pipe: one answer in between begins the count again', async () => {
    const { end, out } = await watching(false, (question) => question % failuresMax !== 0, 20);
    expect(end).toBe('still watching');
    expect(out).toBe('fine\n'.repeat(4));
  });

  test('on a terminal: continues, and says since when', async () => {
    const { end, error, questions } = await watching(true, (question) => question > 1, 20);
    expect([end, questions]).toEqual(['still watching', 21]);
    expect(error.trimEnd().split('\n').at(-1)).toBe(
      'setpoint: no answer. Failing since 2023-11-14T22:13:21.000Z (unreachable)',
    );
  });

  test('an error that a retry cannot fix ends it at once', async () => {
    const shown = testTerminal({ isTerminal: true });
    const line = { terminal: shown.terminal, clock: simulatedClock(), interrupted: new AbortController().signal };
    await expect(showing(line, 1, () => Promise.reject(away(false)))).rejects.toThrow('no answer.');
  });
});
