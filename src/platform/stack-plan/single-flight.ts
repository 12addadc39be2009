/**
 * Engine runs in progress, one per scope and key [platform §6.3]: the same request joins, a different one is refused. A run is
 * cancelled when all of its callers have cancelled.
 */

import type { CallSubject } from '../call-context.ts';
import { isSameRequest } from '../run-command.ts';

interface Run<Outcome> {
  readonly subject: CallSubject;
  readonly requestDigest: string;
  readonly outcome: Promise<Outcome>;
  readonly controller: AbortController;
  callers: number;
}

type Waited<Outcome> = { readonly kind: 'done'; readonly value: Outcome } | { readonly kind: 'cancelled' };

type FlightResult<Outcome> =
  | { readonly kind: 'done'; readonly value: Outcome; readonly joined: boolean }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'full' }
  | { readonly kind: 'cancelled' };

interface FlightCall {
  /** Scope and key. */
  readonly key: string;
  readonly subject: CallSubject;
  readonly requestDigest: string;
  readonly signal: AbortSignal | undefined;
}

export interface SingleFlight<Outcome> {
  run(call: FlightCall, work: (signal: AbortSignal) => Promise<Outcome>): Promise<FlightResult<Outcome>>;
}

export function createSingleFlight<Outcome>(runsMax: number): SingleFlight<Outcome> {
  const runs = new Map<string, Run<Outcome>>();

  const start = (
    { key, subject, requestDigest }: FlightCall,
    work: (signal: AbortSignal) => Promise<Outcome>,
  ): Run<Outcome> => {
    const controller = new AbortController();
    const outcome = work(controller.signal).finally(() => {
      if (runs.get(key) === run) runs.delete(key);
    });
    const run: Run<Outcome> = { subject, requestDigest, outcome, controller, callers: 0 };
    runs.set(key, run);
    return run;
  };

  return {
    async run(call, work) {
      const running = runs.get(call.key);
      if (running !== undefined && !isSameRequest(running, call.subject, call.requestDigest)) {
        return { kind: 'conflict' };
      }
      if (running === undefined && runs.size >= runsMax) return { kind: 'full' };
      const run = running ?? start(call, work);
      run.callers++;
      const waited = await waitFor(run.outcome, call.signal);
      run.callers--;
      if (waited.kind === 'done') return { ...waited, joined: running !== undefined };
      if (run.callers === 0) {
        // A run that is being cancelled is not joined: the next call with this key starts a new one.
        if (runs.get(call.key) === run) runs.delete(call.key);
        run.controller.abort();
      }
      return waited;
    },
  };
}

function waitFor<Outcome>(outcome: Promise<Outcome>, signal: AbortSignal | undefined): Promise<Waited<Outcome>> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      resolve({ kind: 'cancelled' });
      return;
    }
    const onAbort = (): void => resolve({ kind: 'cancelled' });
    signal?.addEventListener('abort', onAbort, { once: true });
    const settle = (): void => signal?.removeEventListener('abort', onAbort);
    outcome.then(
      (value) => {
        settle();
        resolve({ kind: 'done', value });
      },
      (error: unknown) => {
        settle();
        reject(error instanceof Error ? error : new Error('the run failed without an error'));
      },
    );
  });
}
