/** Entry of the thread that stores executions: one record writer behind this thread's port (ARCHITECTURE.md, "Threads"). */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { answerCalls, sendEvent } from '../base/thread.ts';
import { trimHeapLater } from '../base/trim-heap.ts';
import { openRecordWriter, type WriterMethods, type WriterWorkerData } from './open-record-writer.ts';
import { openRuntimeDatabase } from './store/runtime-database.ts';

if (parentPort === null) throw new Error('the record thread was started as a program');
trimHeapLater();
const data = workerData as WriterWorkerData;
const log = createLog(data.logLevel, { thread: 'records' });
const port = parentPort;
const database = openRuntimeDatabase(data.database);
const writer = openRecordWriter(data, database, systemClock, log, (counts) => sendEvent(port, counts));
answerCalls<WriterMethods>(port, {
  async take(batch) {
    await writer.take(batch);
    return null;
  },
  settled: (ruleId) => writer.settled(ruleId),
  async put({ grant, gone }) {
    await writer.put(grant, gone);
    return null;
  },
  async remove(ids) {
    await writer.remove(ids);
    return null;
  },
  close: () => writer.close(),
  async end() {
    await writer.end();
    return null;
  },
});
