/** Entry of the thread of one backtest: the service ends it with its answer (ARCHITECTURE.md, "Threads"). */
import { parentPort, workerData } from 'node:worker_threads';
import { answerCalls, sendEvent } from '../base/thread.ts';
import type { BacktestResult } from '../rules/backtest/backtest.ts';
import { type BacktestJob, runBacktest } from './job.ts';

/** How far it has come, from 0 to 1. */
export interface BacktestEvent {
  readonly share: number;
}
export type BacktestMethods = { readonly run: (question: null) => BacktestResult };

const port = parentPort;
if (port === null) throw new Error('the backtest thread was started as a program');
answerCalls<BacktestMethods>(
  port,
  {
    // Its job comes with the thread.
    run: () => runBacktest(workerData as BacktestJob, (share) => sendEvent(port, { share } satisfies BacktestEvent)),
  },
  // An error in it leaves nothing half done.
  { questions: ['run'] },
);
