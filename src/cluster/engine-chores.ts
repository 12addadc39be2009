/** Background work beside an engine: storing spooled rows, and polling for rules that others changed. */
import type { EngineClient } from '../automation/engine-client.ts';
import type { ParametersInForce } from '../automation/parameters-in-force.ts';
import { recordSpool } from '../automation/record-spool.ts';
import type { RunStore } from '../automation/store/run-store.ts';
import { systemClock, type Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type Repeated, repeatedly } from '../base/repeatedly.ts';

/** Retry interval for executions that were spooled while the database was unavailable. */
const spoolPollMs = 2000;
/** Poll interval for rules and parameters whose change notification was lost. */
const rulesPollMs = 2000;

interface SpoolParts {
  readonly config: { readonly dataDir: string };
  readonly runs: Pick<RunStore, 'restore'>;
  readonly log: Log;
}

/** Stores the spool of this process's engine when the database is available again. */
export function storeSpool({ config, runs, log }: SpoolParts): Timer & { recover(): Promise<void> } {
  const spool = recordSpool(config.dataDir);
  const storeKept = async (): Promise<void> => {
    const executions = await spool.store(runs.restore);
    if (executions > 0) log.info('spooled executions stored', { executions });
  };
  const waiting = 'cannot store spooled executions yet; retrying';
  const storing = repeatedly(systemClock, spoolPollMs, log, storeKept, waiting);
  const recover = (): Promise<void> =>
    spool.recover().catch((error: unknown) => {
      log.error('cannot recover spooled executions', { error: String(error) });
    });
  // Of a process that was killed while it spooled them.
  void recover();
  return { cancel: () => storing.cancel(), recover };
}

/** Changes of rules and parameters reach every engine when they are made; this finds those whose notification was lost. */
export function pollRules(client: EngineClient, log: Log, parameters: Pick<ParametersInForce, 'renew'>): Repeated {
  return repeatedly(systemClock, rulesPollMs, log, async () => {
    await parameters.renew((inForce) => client.reload(inForce));
  });
}
