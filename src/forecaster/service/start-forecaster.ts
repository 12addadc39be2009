/** The forecaster as a running service: its threads, then its routes [processor §7], [processor §1]. */
import { Worker } from 'node:worker_threads';
import { forecastContractId } from '../../api/processing.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import { serveProcessor } from '../../processor-kit/server/serve.ts';
import { forecasterArtifact, isSelected } from './artifact.ts';
import type { ForecastJob, ForecastReply } from './forecast-job.ts';
import { forecastWork } from './forecast-work.ts';
import { forecasterLimits, workerHeapMbMax, workerStartMs } from './limits.ts';
import { startWorkerPool } from './worker-pool.ts';

export interface ForecasterSetup {
  readonly host: string;
  readonly port: number;
  readonly declarations: readonly TaskDeclaration[];
  /** Null: no token is required. */
  readonly bearerToken: string | null;
  /** The product's version, which the forecaster shares. */
  readonly version: string;
  readonly workers: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RunningForecaster {
  readonly port: number;
  /** Accepts no more requests, waits up to `graceMs` for answers, then ends the threads. */
  stop(graceMs: number): Promise<void>;
}

export async function startForecaster(setup: ForecasterSetup): Promise<RunningForecaster> {
  const { host, port, declarations, bearerToken, version, workers, clock, log } = setup;
  const artifact = forecasterArtifact(version);
  const pool = await startWorkerPool<ForecastJob, ForecastReply>(workers, spawnThread, {
    clock,
    log,
    startMs: workerStartMs,
  });
  try {
    const server = await serveProcessor(
      {
        processor: { id: 'setpoint-forecaster', version, contract: forecastContractId },
        declarations,
        limits: forecasterLimits(workers),
        bearerToken,
        clock,
        log,
        work: forecastWork({ pool, artifact, clock, log }),
        condition: () => (pool.alive === workers ? 'ok' : pool.alive > 0 ? 'degraded' : 'unavailable'),
        knowsArtifact: (asked) => isSelected(asked, artifact),
      },
      { host, port },
    );
    return {
      port: server.port,
      async stop(graceMs) {
        await server.close(graceMs);
        await pool.close();
      },
    };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

function spawnThread(): Worker {
  return new Worker(new URL('./forecast-thread.ts', import.meta.url), {
    name: 'forecast',
    resourceLimits: { maxOldGenerationSizeMb: workerHeapMbMax },
  });
}
