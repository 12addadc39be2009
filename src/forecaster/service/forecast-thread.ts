/** Entry of a forecasting thread: one job at a time; fits of earlier jobs are cached. */
import { parentPort } from 'node:worker_threads';
import { forecastSample } from '../forecast.ts';
import type { RegressionFit } from '../regression.ts';
import { fitCache } from './fit-cache.ts';
import { buffersOfAnswer, type ForecastJob, type ForecastReply } from './forecast-job.ts';
import { fitCacheBytesMax } from './limits.ts';
import { readyMessage } from './worker-slot.ts';

const port = parentPort;
if (port === null) throw new Error('the forecasting thread is started by the worker pool');
const fits = fitCache<RegressionFit>(fitCacheBytesMax);

port.on('message', ({ sample, ask }: ForecastJob) => {
  try {
    const answer = forecastSample(sample, ask, fits.recall);
    const reply: ForecastReply = { outcome: 'forecast', answer };
    port.postMessage(reply, buffersOfAnswer(answer));
  } catch (error) {
    // A model that fails on a valid request is an outcome [processor §5]; the fits of other series are kept.
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    port.postMessage({ outcome: 'failed', reason } satisfies ForecastReply);
  }
});
port.postMessage(readyMessage);
