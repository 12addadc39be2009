/** Entry of the automation worker: one engine behind this thread's port (ARCHITECTURE.md, "Threads"). */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { trimHeap } from '../base/trim-heap.ts';
import { type EngineSetup, recordsApart, startEngineCore } from './engine-core.ts';
import type { EngineWorkerData } from './start-engine.ts';

if (parentPort === null) throw new Error('the engine thread was started as a program');
// Before it has rules: later the heap is large, and a tick would wait.
trimHeap();
const { setup, logLevel } = workerData as EngineWorkerData;
const log = createLog(logLevel, { thread: 'automation' });
startEngineCore(parentPort, setup satisfies EngineSetup, systemClock, log, recordsApart(logLevel));
