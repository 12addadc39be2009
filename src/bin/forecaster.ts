#!/usr/bin/env node
/** `npm run forecaster`: the reference processor, configured by `SVC_FORECASTER_*` [platform §1.2]. */
import { availableParallelism } from 'node:os';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { isTooShort } from '../forecaster/service/judge-history.ts';
import { type RunningForecaster, startForecaster } from '../forecaster/service/start-forecaster.ts';
import { readForecasterConfig } from './forecaster-config.ts';
import { isForOperator } from './start-error.ts';
import { packageVersion } from './version.ts';

/** Answers in progress at a stop signal may take this long; the process ends within 10 s. */
const graceMs = 8000;
const stopDeadlineMs = 9500;

let running: RunningForecaster | undefined;
let stopping = false;

function stop(): void {
  // Until the start is done, a stop needs no wait.
  if (running === undefined) process.exit(0);
  if (stopping) return;
  stopping = true;
  systemClock.after(stopDeadlineMs, () => process.exit(1));
  void running.stop(graceMs).then(() => process.exit(0));
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);

try {
  const { logLevel, ...config } = readForecasterConfig(process.env);
  const log = createLog(logLevel);
  const workers = Math.max(1, availableParallelism());
  running = await startForecaster({ ...config, version: packageVersion(), workers, clock: systemClock, log });
  if (config.bearerToken === null && !isLoopback(config.host))
    log.warn('the forecaster accepts remote requests without a token: set SVC_FORECASTER_BEARER_TOKEN');
  const short = config.declarations.filter((task) => isTooShort(task)).map(({ id }) => id);
  if (short.length > 0)
    log.warn('tasks with too little history for a forecast; using their fallbacks', { tasks: short });
  const tasks = config.declarations.map(({ id, revision }) => `${id}@${revision}`);
  log.info('listening', { host: config.host, port: running.port, workers, tasks });
} catch (error) {
  if (!isForOperator(error) && !isListenError(error)) throw error;
  process.stderr.write(`forecaster: ${error.message.replaceAll('\n', '\nforecaster: ')}\n`);
  process.exit(1);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** A port in use, or an address of another machine: errors for the operator. */
function isListenError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && ['listen', 'getaddrinfo'].includes(String(error.syscall));
}
