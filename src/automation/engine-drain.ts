/** Shutdown of the engine: pending executions are stored, or spooled until the database is available again. */
import { type Clock, withTimeout } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Caller } from '../base/thread.ts';
import type { EngineEvent, EngineMethods } from './engine-contract.ts';
import type { AutomationLimits } from './limits.ts';

/** Of `engine_call_timeout_ms`, the share reserved for the final flush, so that a stop takes at most as long as a call. */
const closingShare = 0.5;

/** Rows that an engine could not store are spooled, or reported as lost. */
export async function drainEngine(
  { call }: Caller<EngineMethods, EngineEvent>,
  limits: AutomationLimits,
  clock: Clock,
  log: Log,
): Promise<void> {
  let left = 0;
  try {
    left = await call('drain', null);
    const rows = left;
    while (left > 0) left = await call('keep', null);
    if (rows > 0) log.warn('unsaved executions spooled until the database is back', { rows });
  } catch (error) {
    if (left > 0) log.error('executions lost: neither stored nor spooled', { rows: left, error: String(error) });
    else log.warn('the rule engine did not drain', { error: String(error) });
    return;
  }
  let reason: string | null = 'no answer';
  const closing = call('close', null).then(
    () => void (reason = null),
    (error: unknown) => void (reason = String(error)),
  );
  await withTimeout(clock, limits.engine_call_timeout_ms * closingShare, closing);
  if (reason !== null) log.warn('the rule engine did not close its files in time', { reason });
}
