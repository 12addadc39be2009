/** Runs a service as a process: one clear line when it cannot start, a clean end on SIGINT and SIGTERM (decisions §1). */
import { systemClock } from '../base/clock.ts';
import { isForOperator, type ServiceConfig } from './config.ts';
import { type RunningService, startService } from './service.ts';

/** A process that is asked to stop is gone within this time. */
const stopDeadlineMs = 9500;

/** Resolves when the service runs; ends the process when it cannot, or when it is told to stop. */
export async function runService(config: () => ServiceConfig): Promise<RunningService> {
  let service: RunningService | undefined;
  let stopping = false;
  const stop = (): void => {
    // A second signal, or one before the start is done, does not wait for anything.
    if (stopping || service === undefined) process.exit(stopping ? 1 : 0);
    stopping = true;
    systemClock.after(stopDeadlineMs, () => process.exit(1));
    void service.stop().then(() => process.exit(0));
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    service = await startService(config());
    return service;
  } catch (error) {
    if (!isForOperator(error)) throw error;
    process.stderr.write(`setpoint: ${error.message.replaceAll('\n', '\nsetpoint: ')}\n`);
    process.exit(1);
  }
}

export { isForOperator as isExpected };
