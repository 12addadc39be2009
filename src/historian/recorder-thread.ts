/** Entry of the historian worker: the recorder behind the thread protocol. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { answerCalls } from '../base/thread.ts';
import { trimHeapLater } from '../base/trim-heap.ts';
import { startRecorderAt } from './recorder-at.ts';
import type { RecorderMethods, RecorderWorkerData } from './recorder-protocol.ts';

const port = parentPort;
if (port === null) throw new Error('the historian thread is started by the service');
trimHeapLater();
const data = workerData as RecorderWorkerData;
const recorder = startRecorderAt(data, systemClock, createLog(data.logLevel, { thread: 'historian' }));
answerCalls<RecorderMethods>(port, {
  append: (columns) => recorder.append(columns),
  settle: (request) => recorder.settle(request),
  counts: () => recorder.counts(),
  stop: (store) => recorder.stop(store),
  keep: () => recorder.keep(),
});
