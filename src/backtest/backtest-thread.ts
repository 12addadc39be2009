/** Entry of the thread of one backtest: it ends with its answer (ARCHITECTURE.md, "Threads"). */
import { parentPort, workerData } from 'node:worker_threads';
import { answerCalls, sendEvent } from '../base/thread.ts';
import type { BacktestResult } from '../rules/backtest/backtest.ts';
import { type BacktestJob, runBacktest } from './job.ts';

export type BacktestMethods = { readonly run: (question: null) => BacktestResult };

/** Shares of the window between two reports of progress. */
const progressStep = 0.01;

if (parentPort === null) throw new Error('the backtest thread was started as a program');
const port = parentPort;
let told = 0;
answerCalls<BacktestMethods>(
  port,
  {
    run: () =>
      runBacktest(workerData as BacktestJob, (share) => {
        if (share < told + progressStep) return;
        told = share;
        sendEvent(port, share);
      }),
  },
  { questions: ['run'] },
);
