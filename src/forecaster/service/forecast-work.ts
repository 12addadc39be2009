/** The forecaster's work on an accepted request: read, judge, forecast in a thread, and report anomalies. */
import type { ForecastPoint, UsedArtifact } from '../../api/processing.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { timeMs } from '../../contract/wire/normal-times.ts';
import type { AcceptedRequest } from '../../processor-kit/check-request.ts';
import { declaredFallback } from '../../processor-kit/server/fallback-work.ts';
import { type Findings, horizonLabels, type Work } from '../../processor-kit/server/work.ts';
import type { Ask, ForecastAnswer } from '../forecast.ts';
import { explanationDetails, warningsOf } from './explanation-details.ts';
import { buffersOfJob, type ForecastJob, type ForecastReply } from './forecast-job.ts';
import { judgeHistory } from './judge-history.ts';
import { readFrame } from './read-frame.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface WorkParts {
  readonly pool: Pick<WorkerPool<ForecastJob, ForecastReply>, 'run'>;
  readonly artifact: UsedArtifact;
  readonly clock: Clock;
  readonly log: Log;
}

export function forecastWork({ pool, artifact, clock, log }: WorkParts): Work {
  async function find(accepted: AcceptedRequest, signal: AbortSignal): Promise<Findings> {
    const { sample, warnings } = readFrame(accepted);
    const verdict = judgeHistory(sample);
    if (!verdict.enough) return insufficient(accepted, verdict.why);
    const job: ForecastJob = { sample, ask: askOf(accepted) };
    const { task, binding } = accepted.request;
    const reply = await pool.run(job, buffersOfJob(job), `${task.id} ${binding.id}`, signal);
    if (reply.outcome === 'failed') throw new Error(reply.reason);
    const { explanation } = reply.answer;
    return {
      status: 'produced',
      points: pointsOf(accepted, reply.answer),
      artifact,
      warnings: [...new Set([...verdict.warnings, ...warnings, ...warningsOf(explanation)])],
      details: { explanation: explanationDetails(explanation, timeMs(accepted.request.frame.as_of)) },
    };
  }

  return async (accepted, signal) => {
    const startMs = clock.monotonicMs();
    const about = { task: accepted.request.task.id, binding: accepted.request.binding.id };
    const took = (): number => Math.round(clock.monotonicMs() - startMs);
    try {
      const findings = await find(accepted, signal);
      log.info('forecast', { ...about, status: findings.status, warnings: findings.warnings, durationMs: took() });
      return findings;
    } catch (error) {
      const reason = signal.aborted ? 'ended at its deadline, or nobody waits' : stackOf(error);
      log.warn('no forecast', { ...about, reason, durationMs: took() });
      throw error;
    }
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The first declared strategy that the frame allows; its own warning comes first. */
function insufficient(accepted: AcceptedRequest, why: string): Findings {
  const findings = declaredFallback(accepted, 'INSUFFICIENT_HISTORY');
  return { ...findings, warnings: [...(findings.warnings ?? []), why] };
}

function askOf({ request, declaration }: AcceptedRequest): Ask {
  return {
    minimum: declaration.output.minimum ?? undefined,
    probabilities: Float64Array.from(request.options.quantiles ?? []),
  };
}

/** Throws on a non-finite forecast, which is answered as MODEL_RUNTIME_UNAVAILABLE [processor §5]. */
function pointsOf(accepted: AcceptedRequest, { value: values, quantiles }: ForecastAnswer): ForecastPoint[] {
  const { minimum, maximum } = accepted.declaration.output;
  const probabilities = accepted.request.options.quantiles;
  const bounded = (value: number | undefined): number => {
    if (value === undefined || !Number.isFinite(value)) throw new Error('the models gave no finite number');
    return Math.min(maximum ?? value, Math.max(minimum ?? value, value));
  };
  return horizonLabels(accepted).map((timestamp, step) => ({
    timestamp,
    value: bounded(values[step]),
    ...(probabilities !== undefined && {
      quantiles: probabilities.map((probability, index) => ({ probability, value: bounded(quantiles[index]?.[step]) })),
    }),
  }));
}
