/** Entry of the historian worker: the recorder behind the thread protocol. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { answerCalls } from '../base/thread.ts';
import { openHistorian } from './open-historian.ts';
import { startRecorder } from './recorder.ts';
import { type RecorderMethods, rowsOf } from './recorder-protocol.ts';
import type { RecorderWorkerData } from './recording.ts';

const port = parentPort;
if (port === null) throw new Error('the historian thread is started by the service');
const { setup, file, logLevel } = workerData as RecorderWorkerData;
const historian = openHistorian(file, setup.limits);
const recorder = startRecorder(setup, historian, systemClock, createLog(logLevel, { thread: 'historian' }));
answerCalls<RecorderMethods>(port, {
  append: (columns) => recorder.append(rowsOf(columns)),
  counts: () => recorder.counts(),
  stop: () => {
    recorder.stop();
    historian.close();
    return null;
  },
});
