/** Runs a service as a process: one clear line when it cannot start, a clean end on SIGINT and SIGTERM [platform §1.3]. */
import { systemClock } from '../base/clock.ts';
import { trimHeapLater } from '../base/trim-heap.ts';
import type { ServiceConfig } from './config.ts';
import { type RunningService, startService } from './service.ts';
import { isForOperator } from './start-error.ts';

/** The process must be gone within 10 s, and ending its threads can take two. */
const stopDeadlineMs = 8000;
/**
 * Nothing can cancel the look-up of a name, and the process ends after those in progress: 10 s by default for a DNS server that is silent,
 * 2 s with this. Read by the resolver of glibc.
 */
const lookUps = 'timeout:1 attempts:2';
/** npm passes on a Ctrl-C that the terminal has sent already; only a signal that comes later is an impatient second one. */
const sameSignalMs = 500;

/** Resolves when the service runs; ends the process if it cannot start, or on a stop signal. */
export async function runService(config: () => ServiceConfig | Promise<ServiceConfig>): Promise<RunningService> {
  let service: RunningService | undefined;
  let stoppingSinceMs: number | undefined;
  const stop = (): void => {
    // Before the start is done there is nothing to wait for.
    if (service === undefined) process.exit(0);
    if (stoppingSinceMs !== undefined) {
      if (systemClock.monotonicMs() - stoppingSinceMs > sameSignalMs) process.exit(1);
      return;
    }
    stoppingSinceMs = systemClock.monotonicMs();
    systemClock.after(stopDeadlineMs, () => process.exit(1));
    void service.stop().then(() => process.exit(0));
  };
  // Files of the service are for its own account.
  process.umask(0o077);
  process.env['RES_OPTIONS'] ??= lookUps;
  // A hangup comes when the terminal goes, or when npm is gone before its script.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  try {
    service = await startService(await config());
    // The first requests arrive now.
    trimHeapLater();
    return service;
  } catch (error) {
    if (!isForOperator(error)) throw error;
    process.stderr.write(`setpoint: ${error.message.replaceAll('\n', '\nsetpoint: ')}\n`);
    process.exit(1);
  }
}

export { isForOperator as isExpected };
