/** [data-processing §8] a task over recorded history: as known then, through a real processor, every figure recomputed from the files. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scores } from '../../src/api/processing-results.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { readTasks } from '../../src/processing/commission/configuration.ts';
import { defaultServerLimits } from '../../src/processor-kit/server/limits.ts';
import { serveProcessor } from '../../src/processor-kit/server/serve.ts';
import { horizonLabels, type Work } from '../../src/processor-kit/server/work.ts';
import { compiledOnce, programFile, serviceEnvironment, startTestService, testFolders } from './running-service.ts';

const site = `schema: svc.site.v1
site: { id: reservoir, name: Reservoir, timezone: UTC }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: derived, sign_convention: positive_up }
`;
const task = `schema: svc.data-processing-task.v1
id: tank.level
revision: 1
kind: forecast
processor_contract: svc.data-processing.forecast.v1
target: { name: level, semantic_point: tank.level, unit: m, sign_convention: positive_up }
frame: { cadence_seconds: 60, history_steps: 5, horizon_steps: 10, timezone: UTC, live_tail: forbidden }
inputs:
  history:
    - { name: level, unit: m, source: { kind: measurement, instance_ref: tank, point_ref: level } }
alignment: { aggregation: mean, timestamp_semantics: interval_end, duplicate_policy: latest, missing_policy: reject }
quality: { max_input_age_seconds: 600, max_gap_seconds: 120, max_missing_ratio: 0, require_input_watermark: true,
  require_covariate_issue_time_not_after_as_of: true }
output: { unit: m, sign_convention: positive_up, max_quantiles: 3, expires_after_seconds: 600, median_equals_value: false }
`;
const binding = `schema: svc.data-processing-binding.v1
id: tank.site
revision: 1
enabled: true
commissioned: true
instances:
  tank:
    instance: 1
    points:
      level: { point: 1, unit: m, scale: 1, offset: 0, sign_convention: positive_up, source_ref: tank.level }
`;
const routes = (port: number): string => `schema: svc.data-processing-routes.v1
processors:
  - { id: helper, version: 1.0.0, contract: svc.data-processing.forecast.v1, endpoint: "http://127.0.0.1:${port}/",
      boundary: local, max_frame_cells: 1000, max_request_bytes: 100000, max_response_bytes: 100000,
      connect_timeout_ms: 1000, request_timeout_ms: 10000 }
routes:
  - { task: { id: tank.level, revision: 1 }, binding: { id: tank.site, revision: 1 }, processor: helper, enabled: true,
      deadline_ms: 4000, audit_finalization_timeout_ms: 2000, max_concurrency: 2 }
`;

/** The newest value of the frame plus a little more each step, with quantiles in steps of two around it. */
const climbing: Work = async (accepted) => {
  const level = accepted.request.frame.history.features['level'];
  const newest = level?.value_type === 'number' ? (level.values.at(-1) ?? 0) : 0;
  const points = horizonLabels(accepted).map((timestamp, step) => {
    const value = newest + 0.3 * step;
    const quantiles = (accepted.request.options.quantiles ?? []).map((probability, place, { length }) => ({
      probability,
      value: value + 2 * (place - (length - 1) / 2),
    }));
    return { timestamp, value, quantiles };
  });
  return { status: 'produced', points };
};

const folders = testFolders(site);
const minuteMs = 60_000;
const nowMs = Math.floor(Date.now() / minuteMs) * minuteMs;
const iso = (ms: number): string => new Date(ms).toISOString();
let stop: () => Promise<unknown>;

async function setpoint(...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [programFile('setpoint'), ...words], {
    env: { ...process.env, ...compiledOnce, ...serviceEnvironment(folders) },
  });
  return stdout;
}

/** Two hours of values, one every seven seconds. */
async function importValues(name: string, ...more: string[]): Promise<void> {
  const lines = Array.from(
    { length: 1000 },
    (_, index) => `${iso(nowMs - (1000 - index) * 7000)},${20 * Math.sin(index / 40)}`,
  );
  const file = join(folders.config, name);
  writeFileSync(file, ['time,value', ...lines, ''].join('\n'));
  await setpoint('history', 'import', file, '--point', '1:1', ...more);
}

function asked(name: string, fromMs: number, toMs: number, everySeconds: number, ...more: string[]): Promise<string> {
  const what = ['forecasts', 'backtest', '--task', name, '--binding', 'tank.site'];
  return setpoint(...what, '--from', iso(fromMs), '--to', iso(toMs), '--every', String(everySeconds), ...more);
}

const backtest = (...more: string[]): Promise<string> =>
  asked('tank.level', nowMs - 60 * minuteMs, nowMs - 30 * minuteMs, 120, ...more);

beforeAll(async () => {
  for (const part of ['tasks', 'bindings']) mkdirSync(join(folders.config, 'processing', part), { recursive: true });
  folders.write('processing/tasks/level.yaml', task);
  folders.write('processing/bindings/site.yaml', binding);
  const server = await serveProcessor(
    {
      processor: { id: 'helper', version: '1.0.0', contract: 'svc.data-processing.forecast.v1' },
      declarations: readTasks(join(folders.config, 'processing', 'tasks')),
      limits: defaultServerLimits,
      bearerToken: null,
      clock: systemClock,
      log: silentLog,
      work: climbing,
      condition: () => 'ok',
      knowsArtifact: () => true,
    },
    { host: '127.0.0.1', port: 0 },
  );
  stop = () => server.close(100);
  folders.write('processing/routes.yaml', routes(server.port));
  // A service has to create the databases first.
  const service = await startTestService(folders, { SVC_DATA_PROCESSING_ENABLED: 'true' });
  await service.stop();
}, 60_000);
afterAll(async () => {
  await stop();
  folders.remove();
});

interface Line {
  readonly status: string;
  readonly points: readonly {
    timestamp: string;
    value: number;
    quantiles: readonly { probability: number; value: number }[];
  }[];
  readonly references: Readonly<Record<string, readonly (number | null)[]>>;
}

const linesOf = <T>(folder: string, file: string): T[] =>
  readFileSync(join(folder, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T);

/** From the files alone, by another method than the service's. */
function recomputed(folder: string) {
  const actuals = new Map(
    linesOf<{ timestamp: string; value: number | null }>(folder, 'actuals.jsonl').map(({ timestamp, value }) => [
      timestamp,
      value,
    ]),
  );
  const [errors, losses, inside, reference, own]: number[][] = [[], [], [], [], []];
  for (const { points, references, status } of linesOf<Line>(folder, 'results.jsonl')) {
    expect(status).toBe('produced');
    for (const [step, { timestamp, value, quantiles }] of points.entries()) {
      const actual = actuals.get(timestamp) ?? null;
      if (actual === null) continue;
      errors?.push(Math.abs(value - actual));
      for (const { probability, value: quantile } of quantiles)
        losses?.push(Math.max(probability * (actual - quantile), (probability - 1) * (actual - quantile)));
      inside?.push(actual >= (quantiles[0]?.value ?? 0) && actual <= (quantiles[2]?.value ?? 0) ? 1 : 0);
      const last = references['persistence']?.[step] ?? null;
      if (last === null) continue;
      reference?.push(Math.abs(last - actual));
      own?.push(Math.abs(value - actual));
    }
  }
  const mean = (values: readonly number[] = []): number => values.reduce((sum, each) => sum + each, 0) / values.length;
  return {
    n: errors?.length ?? 0,
    mae: mean(errors),
    pinball: mean(losses),
    coverage: mean(inside),
    persistence: 1 - mean(own) / mean(reference),
  };
}

describe('a backtest', { timeout: 60_000 }, () => {
  test('uses nothing that was recorded later', async () => {
    await importValues('late.csv');
    const reason =
      /15 of 15 calls had no result, the first at 20\S+Z: input-quality-rejected: history_unavailable of level, .*--ingested-at-event-time/s;
    const refusal = { code: 1, stderr: expect.stringMatching(reason) as unknown };
    await expect(backtest()).rejects.toMatchObject({ ...refusal, stdout: '' });
    const groups = expect.stringContaining('"groups":[]') as unknown;
    await expect(backtest('--json')).rejects.toMatchObject({ ...refusal, stdout: groups });
    await setpoint(
      'history',
      'delete',
      '--point',
      '1:1',
      '--from',
      '2000-01-01T00:00:00Z',
      '--to',
      '2100-01-01T00:00:00Z',
      '--confirmed',
    );
  });

  test('every figure follows from the files; no result is stored; the audit records the backtest', async () => {
    await importValues('values.csv', '--ingested-at-event-time');
    const out = join(folders.config, 'out');
    const scores = JSON.parse(await backtest('--json', '--out', out)) as Scores;
    expect(JSON.parse(readFileSync(join(out, 'scores.json'), 'utf8'))).toEqual(scores);
    const [group] = scores.groups;
    const expected = recomputed(out);
    expect(group).toMatchObject({ key: null, n: 150, produced: 15, fallback: 0, unavailable: 0 });
    expect(group?.n).toBe(expected.n);
    expect(Math.abs((group?.mae ?? 0) - expected.mae)).toBeLessThan(1e-9);
    expect(Math.abs((group?.pinball ?? 0) - expected.pinball)).toBeLessThan(1e-9);
    expect(Math.abs((group?.coverage['0.1-0.9'] ?? 0) - expected.coverage)).toBeLessThan(1e-9);
    expect(Math.abs((group?.skill.persistence ?? 0) - expected.persistence)).toBeLessThan(1e-9);
    expect(linesOf(out, 'frames.jsonl')).toHaveLength(15);
    const events = await setpoint('audit', 'export');
    expect(events).toContain('data_processing.backtest');
    // The same folder is refused a second time.
    await expect(backtest('--out', out)).rejects.toMatchObject({ code: 2 });
  });

  test('by lead, as a table', async () => {
    const table = await backtest('--by', 'lead');
    const leads = table
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').slice(0, 2));
    expect(leads).toEqual(Array.from({ length: 10 }, (_, step) => [String(60 * (step + 1)), '15']));
  });

  test('a horizon and quantiles of its own; those that do not fit are refused', async () => {
    const table = await backtest('--by', 'lead', '--horizon', '2', '--quantiles', '0.2,0.8');
    const rows = table.trimEnd().split('\n');
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(row).toContain('0.2-0.8: ');
    const refused = async (reason: string, ...more: string[]) =>
      expect(backtest(...more)).rejects.toMatchObject({ stderr: expect.stringContaining(reason) as unknown });
    await refused('Give at least 1 step', '--horizon', '0');
    await refused('must be at most 10', '--horizon', '11');
    await refused('must increase', '--quantiles', '0.8,0.2');
    await refused('numbers between 0 and 1', '--quantiles', '0.2,1');
  });

  test('cutoffs that do not fit the task, and an unknown task, are refused', async () => {
    const reason = (words: string) => ({ stderr: expect.stringContaining(words) as unknown });
    await expect(asked('none', nowMs - minuteMs, nowMs, 60)).rejects.toMatchObject(
      reason('no route for the task none'),
    );
    await expect(asked('tank.level', nowMs - 60 * minuteMs, nowMs, 90)).rejects.toMatchObject(
      reason('multiples of 60 seconds'),
    );
    await expect(asked('tank.level', nowMs, nowMs, 60)).rejects.toMatchObject(
      reason('the end must be later than the first cutoff'),
    );
  });
});
