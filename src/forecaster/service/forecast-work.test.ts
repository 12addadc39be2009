/** From an accepted request to findings: the models' input, their output, and the findings on it. */
import { expect, test } from 'vitest';
import type { NormalisedFrame, Series } from '../../api/processing.ts';
import { silentLog } from '../../base/log.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import type { AcceptedRequest } from '../../processor-kit/check-request.ts';
import { sampleRequest } from '../../processor-kit/conformance/sample-request.ts';
import { loadTask } from '../../testing/load-fixture.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import type { Explanation } from '../explanation.ts';
import { forecasterArtifact } from './artifact.ts';
import type { ForecastJob, ForecastReply } from './forecast-job.ts';
import { forecastWork } from './forecast-work.ts';
import { readFrame } from './read-frame.ts';

const nowMs = Date.UTC(2026, 6, 11, 12);
const artifact = forecasterArtifact('1.0.0');
const steps = 30 * 96;

function task(output: Partial<TaskDeclaration['output']> = {}): TaskDeclaration {
  return {
    ...loadTask,
    frame: { ...loadTask.frame, history_steps: steps },
    output: { ...loadTask.output, max_quantiles: 9, ...output },
  };
}

type Change = (frame: NormalisedFrame) => NormalisedFrame;

function accepted(declaration: TaskDeclaration, change: Change = (frame) => frame): AcceptedRequest {
  const options = { kind: 'forecast' as const, horizon_steps: 2, quantiles: [0.1, 0.9] };
  const about = { nowMs, deadlineMs: 5000, requestId: '', bindingId: 'site' };
  const request = sampleRequest(declaration, options, about);
  return { ok: true, request: { ...request, frame: change(request.frame) }, declaration };
}

/** The frame with one cell of a number feature replaced. */
const withCell =
  (segment: 'history' | 'future_covariates', feature: string, cell: number, value: number | null): Change =>
  (frame) => {
    const part = frame[segment];
    const series = part?.features[feature];
    if (part === undefined || series?.value_type !== 'number') throw new Error('no such feature');
    const changed: Series = { ...series, values: series.values.with(cell, value) };
    return { ...frame, [segment]: { ...part, features: { ...part.features, [feature]: changed } } };
  };

function worked(request: AcceptedRequest, reply: ForecastReply | null) {
  const jobs: ForecastJob[] = [];
  const run = (job: ForecastJob): Promise<ForecastReply> => {
    jobs.push(job);
    return reply === null ? Promise.reject(new Error('not asked for')) : Promise.resolve(reply);
  };
  const work = forecastWork({ pool: { run }, artifact, clock: simulatedClock(nowMs), log: silentLog });
  return { findings: work(request, new AbortController().signal), jobs };
}

const explanation: Explanation = {
  models: [{ name: 'ridge', share: 1 }],
  inputs: [],
  shift: null,
  lost: [],
  stale: [],
  doubted: 0,
};

const forecast = (value: number[], low: number[], high: number[], seen: Partial<Explanation> = {}): ForecastReply => ({
  outcome: 'forecast',
  answer: {
    value: Float64Array.from(value),
    quantiles: [Float64Array.from(low), Float64Array.from(high)],
    explanation: { ...explanation, ...seen },
  },
});

test('[data-processing §6.2] points at the labels after as_of, inside the bounds of the task, with the artifact that was used', async () => {
  const request = accepted(task({ minimum: 0, maximum: 9 }));
  const { findings, jobs } = worked(request, forecast([1, 10], [-2, 8], [3, 12]));
  expect(await findings).toEqual({
    status: 'produced',
    artifact,
    warnings: [],
    details: { explanation: { models: [{ name: 'ridge', share: 1 }], inputs: [] } },
    points: [
      {
        timestamp: '2026-07-11T12:15:00Z',
        value: 1,
        quantiles: [
          { probability: 0.1, value: 0 },
          { probability: 0.9, value: 3 },
        ],
      },
      {
        timestamp: '2026-07-11T12:30:00Z',
        value: 9,
        quantiles: [
          { probability: 0.1, value: 8 },
          { probability: 0.9, value: 9 },
        ],
      },
    ],
  });
  expect(jobs[0]?.ask).toEqual({ minimum: 0, probabilities: Float64Array.of(0.1, 0.9) });
  expect(jobs[0]?.sample).toMatchObject({ count: steps, horizon: 2, cadenceMs: 900_000, timeZone: 'UTC' });
});

test('[data-processing §8] details and warnings state the basis of the forecast, and doubts about it', async () => {
  const seen: Partial<Explanation> = {
    inputs: [
      { name: 'past values', share: 0.75 },
      { name: 'temp_avg', share: 0.25 },
    ],
    shift: { hours: 6, kind: 'scaled', amount: 1.98765, share: 0.6 },
    lost: [
      { name: 'humidity', steps: 1, how: 'missing' },
      { name: 'rain', steps: 2, how: 'stuck' },
    ],
    stale: ['rain'],
    doubted: 1,
  };
  const { findings } = worked(accepted(task()), forecast([1, 2], [1, 1], [3, 3], seen));
  expect(await findings).toMatchObject({
    warnings: ['LEVEL_SHIFT', 'INPUT_LOST', 'INPUT_STALE', 'NEWEST_CELL_DOUBTED'],
    details: {
      explanation: {
        models: [{ name: 'ridge', share: 1 }],
        inputs: [{ name: 'past values', share: 0.75 }, { name: 'temp_avg' }],
        level_shift: { since: '2026-07-11T06:00:00Z', factor: 1.988, probability: 0.6 },
        lost_inputs: seen.lost,
        stale_inputs: ['rain'],
        newest_cells_left_out: 1,
      },
    },
  });
});

test('[processor §5] a model that gives no number, or fails, is not a forecast', async () => {
  await expect(worked(accepted(task()), forecast([1, Number.NaN], [1, 1], [1, 1])).findings).rejects.toThrow(
    'no finite',
  );
  await expect(worked(accepted(task()), forecast([1], [1, 1], [1, 1])).findings).rejects.toThrow('no finite');
  await expect(worked(accepted(task()), { outcome: 'failed', reason: 'singular' }).findings).rejects.toThrow(
    'singular',
  );
});

test('[data-processing §6.3] a forecast of zeros is produced, for any baseline', async () => {
  const zeros = forecast([0, 0], [0, 0], [1, 1]);
  expect(await worked(accepted(task()), zeros).findings).toMatchObject({ status: 'produced' });
});

test('[processor §3] a history of four cells never reaches the models', async () => {
  const { findings, jobs } = worked(accepted({ ...task(), frame: loadTask.frame }), null);
  expect(await findings).toMatchObject({
    status: 'fallback',
    fallback: { strategy: 'persistence', reason_code: 'INSUFFICIENT_HISTORY' },
    warnings: ['MODEL_FALLBACK_USED', 'HISTORY_TOO_SHORT'],
  });
  expect(jobs).toEqual([]);
});

test('[data-processing §4.8] covariates are future inputs with a history; the models compute the calendar themselves', () => {
  const { sample, warnings } = readFrame(accepted(task()));
  expect(sample.covariates.map(({ name }) => name)).toEqual(['temp_avg', 'humidity', 'rain']);
  expect(sample.covariates[0]?.values).toHaveLength(steps + 2);
  expect(sample.startMs).toBe(nowMs - (steps - 1) * 900_000);
  expect(warnings).toEqual([]);
});

test('a missing cell is NaN, never 0, and is said', () => {
  const newest = readFrame(accepted(task(), withCell('history', 'load', steps - 1, null)));
  expect(newest.sample.target.at(-1)).toBeNaN();
  expect(newest.warnings).toEqual(['HISTORY_CELLS_MISSING', 'NEWEST_VALUE_MISSING']);
  const ahead = readFrame(accepted(task(), withCell('future_covariates', 'rain', 1, null)));
  expect(ahead.sample.covariates[2]?.values.at(-1)).toBeNaN();
  expect(ahead.warnings).toEqual(['COVARIATE_CELLS_MISSING']);
});

test('a covariate that leaves its history, is empty, or was filled in, is said', () => {
  const beyond = readFrame(accepted(task(), withCell('future_covariates', 'temp_avg', 0, 1e6)));
  expect(beyond.warnings).toEqual(['COVARIATE_BEYOND_HISTORY']);
  const empty = [0, 1].reduce<Change>(
    (change, cell) => (frame) => withCell('future_covariates', 'rain', cell, null)(change(frame)),
    (frame) => frame,
  );
  const without = readFrame(accepted(task(), empty));
  // Kept in the sample, so that the models find the input lost.
  expect([without.sample.covariates.length, without.warnings]).toEqual([3, ['COVARIATE_CELLS_MISSING']]);
  const filled = readFrame(
    accepted(task(), (frame) => ({ ...frame, quality: { ...frame.quality, substituted_samples: 1 } })),
  );
  expect(filled.warnings).toEqual(['CELLS_SUBSTITUTED']);
});

test('a cell that was filled in is missing: nothing is learned from it', () => {
  const filled = accepted(task(), (frame) => {
    const { history } = frame;
    const load = history.features['load'];
    if (load?.value_type !== 'number') throw new Error('no such feature');
    const quality = load.quality.with(7, 'substituted').with(8, 'uncertain');
    return { ...frame, history: { ...history, features: { ...history.features, load: { ...load, quality } } } };
  });
  const { sample, warnings } = readFrame(filled);
  expect([...sample.target.subarray(6, 9)].map(Number.isNaN)).toEqual([false, true, false]);
  expect(warnings).toEqual(['HISTORY_CELLS_MISSING']);
});
