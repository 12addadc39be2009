/** Two ways to run an engine behind the same port: in a worker of its own, or in this thread (ARCHITECTURE.md, "Threads"). */
import { MessageChannel, Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { threadMemory } from '../base/thread.ts';
import type { EngineThread } from './engine-client.ts';
import { type EngineSetup, startEngineCore } from './engine-core.ts';

export interface EngineWorkerData {
  readonly setup: EngineSetup;
  readonly logLevel: LogLevel;
}

export function startEngineWorker(setup: EngineSetup, logLevel: LogLevel): EngineThread {
  const worker = new Worker(new URL('./engine-thread.ts', import.meta.url), {
    workerData: { setup, logLevel } satisfies EngineWorkerData,
    name: 'automation',
    resourceLimits: threadMemory,
  });
  let reason = 'the thread ended';
  worker.on('error', (error) => {
    reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  });
  return {
    port: worker,
    onDeath: (listener) => void worker.on('exit', () => listener(reason)),
    terminate: async () => void (await worker.terminate()),
  };
}

export function startEngineTwin(setup: EngineSetup, clock: Clock, log: Log): EngineThread {
  const { port1, port2 } = new MessageChannel();
  const core = startEngineCore(port2, setup, clock, log);
  const listeners: ((reason: string) => void)[] = [];
  return {
    port: port1,
    onDeath: (listener) => void listeners.push(listener),
    async terminate() {
      await core.stop();
      port1.close();
      port2.close();
      for (const listener of listeners.splice(0)) listener('the twin was ended');
    },
  };
}
