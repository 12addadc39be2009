/** Entry of the thread of one backtest: the service ends it with its answer (ARCHITECTURE.md, "Threads"). */
import { parentPort, workerData } from 'node:worker_threads';
import { answerCalls } from '../base/thread.ts';
import type { BacktestResult } from '../rules/backtest/backtest.ts';
import { type BacktestJob, runBacktest } from './job.ts';

export type BacktestMethods = { readonly run: (question: null) => BacktestResult };

if (parentPort === null) throw new Error('the backtest thread was started as a program');
answerCalls<BacktestMethods>(
  parentPort,
  {
    // Its job comes with the thread.
    run: () => runBacktest(workerData as BacktestJob),
  },
  // An error in it leaves nothing half done.
  { questions: ['run'] },
);
