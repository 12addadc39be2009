/**
 * [data-processing §5.4] a read that no rollup speeds up, over 30 days of values a second apart: the call ends at its deadline, and other
 * requests are answered meanwhile.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { historyLimits } from '../../src/historian/limits.ts';
import { openHistorian } from '../../src/historian/open-historian.ts';
import { quality } from '../../src/site/quality.ts';
import { startTestService, type TestService, testFolders } from '../e2e/running-service.ts';

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
/** Not a divisor of an hour, and too short for rollups inside a cell: every row of the 30 days is read. */
const cadenceSeconds = 127;
const days = 30;
const steps = Math.floor((days * 86_400) / cadenceSeconds) - 1;
const labelsMax = 20_000;
/** One point, repeated so often that no machine reads it all before the deadline. */
const series = Array.from({ length: 12 }, (_, index) => (index === 0 ? 'level' : `level_${index}`));
const task = `schema: svc.data-processing-task.v1
id: tank.level
revision: 1
kind: forecast
processor_contract: svc.data-processing.forecast.v1
target: { name: level, semantic_point: tank.level, unit: m, sign_convention: positive_up }
frame: { cadence_seconds: ${cadenceSeconds}, history_steps: ${Math.min(labelsMax, steps)}, horizon_steps: 10, timezone: UTC, live_tail: forbidden }
inputs:
  history:
${series.map((name) => `    - { name: ${name}, unit: m, source: { kind: measurement, instance_ref: tank, point_ref: level } }`).join('\n')}
alignment: { aggregation: mean, timestamp_semantics: interval_end, duplicate_policy: latest, missing_policy: reject }
quality: { max_input_age_seconds: 86400, max_gap_seconds: 86400, max_missing_ratio: 0.9, require_input_watermark: true,
  require_covariate_issue_time_not_after_as_of: true }
output: { unit: m, sign_convention: positive_up, max_quantiles: 3, expires_after_seconds: 600 }
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
const routes = `schema: svc.data-processing-routes.v1
processors:
  - { id: helper, version: 1.0.0, contract: svc.data-processing.forecast.v1, endpoint: "http://127.0.0.1:1/",
      boundary: local, max_frame_cells: 1000000, max_request_bytes: 10000000, max_response_bytes: 100000,
      connect_timeout_ms: 1000, request_timeout_ms: 10000 }
routes:
  - { task: { id: tank.level, revision: 1 }, binding: { id: tank.site, revision: 1 }, processor: helper, enabled: true,
      deadline_ms: 1000, audit_finalization_timeout_ms: 2000, max_concurrency: 2 }
`;

const folders = testFolders(site);
const nowMs = Math.floor(Date.now() / 1000) * 1000;
let service: TestService;
beforeAll(async () => {
  for (const part of ['tasks', 'bindings']) mkdirSync(join(folders.config, 'processing', part), { recursive: true });
  folders.write('processing/tasks/level.yaml', task);
  folders.write('processing/bindings/site.yaml', binding);
  folders.write('processing/routes.yaml', routes);
  mkdirSync(folders.data, { recursive: true });
  const historian = openHistorian(join(folders.data, 'history.sqlite'), historyLimits);
  const rowsAtOnce = 10_000;
  for (let from = days * 86_400; from > 0; from -= rowsAtOnce)
    await historian.append(
      Array.from({ length: Math.min(rowsAtOnce, from) }, (_, index) => {
        const eventMs = nowMs - (from - index) * 1000;
        const series = { instance: 1, point: 1 };
        return { series, eventMs, ingestedMs: eventMs, value: Math.sin(eventMs / 1e6), quality: quality.good };
      }),
    );
  await historian.close();
  service = await startTestService(folders, { SVC_DATA_PROCESSING_ENABLED: 'true' });
}, 300_000);
afterAll(async () => {
  await service?.stop();
  folders.remove();
});

const share = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))] ?? Number.NaN;

test('504 at the deadline of a second, and /health beside it', { timeout: 60_000 }, async () => {
  const asOfMs = Math.floor(nowMs / (cadenceSeconds * 1000)) * cadenceSeconds * 1000;
  const body = {
    task_id: 'tank.level',
    expected_task_revision: 1,
    binding_id: 'tank.site',
    expected_binding_revision: 1,
    as_of: new Date(asOfMs).toISOString(),
    options: { kind: 'forecast', horizon_steps: 3 },
  };
  const waited: number[] = [];
  const ended: number[] = [];
  for (let round = 0; round < 5; round++) {
    const begunMs = performance.now();
    const call = service.request('POST', '/api/v1/data-processing/process', { body }).finally(() => {
      ended.push(performance.now() - begunMs);
    });
    while (ended.length === round) {
      const askedMs = performance.now();
      await fetch(`${service.base}/health`).then((answer) => answer.text());
      waited.push(performance.now() - askedMs);
    }
    const { status, body: answer } = await call;
    expect([status, JSON.stringify(answer)]).toEqual([504, expect.stringContaining('deadline-exceeded')]);
  }
  const text = (values: readonly number[]): string =>
    `p50 ${share(values, 0.5).toFixed(1)} ms, p99 ${share(values, 0.99).toFixed(1)} ms, most ${Math.max(...values).toFixed(1)} ms`;
  console.log(
    `504 after ${text(ended)} (aim: 1200); /health beside it: ${waited.length} answers, ${text(waited)} (aim: p99 below 30)`,
  );
});
