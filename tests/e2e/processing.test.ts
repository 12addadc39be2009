/** Data processing in a running service [data-processing §5], [data-processing §5.4], [data-processing §2.1]: its switch, a whole call, a processor that hangs. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DerivedData } from '../../src/api/processing.ts';
import type { ResultList, ScoreGroup } from '../../src/api/processing-results.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { readTasks } from '../../src/processing/commission/configuration.ts';
import { fallbackWork } from '../../src/processor-kit/server/fallback-work.ts';
import { defaultServerLimits } from '../../src/processor-kit/server/limits.ts';
import { serveProcessor } from '../../src/processor-kit/server/serve.ts';
import { engines } from '../../src/testing/engines.ts';
import { rawServer } from '../../src/testing/raw-server.ts';
import {
  feedFlow,
  type Reply,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  waitFor,
} from './running-service.ts';
import { storageOn } from './storage-on.ts';

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
    - { name: hour, unit: "1", source: { kind: calendar, transform: hour_of_day } }
alignment: { aggregation: mean, timestamp_semantics: interval_end, duplicate_policy: latest, missing_policy: reject }
quality: { max_input_age_seconds: 600, max_gap_seconds: 120, max_missing_ratio: 0, require_input_watermark: true,
  require_covariate_issue_time_not_after_as_of: true }
output: { unit: m, sign_convention: positive_up, max_quantiles: 3, expires_after_seconds: 600 }
fallbacks:
  - { strategy: persistence, version: "1", source_feature: level, max_output_age_seconds: 300 }
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

let folders: TestFolders;
let service: TestService | undefined;
const closers: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folders = testFolders(site);
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  for (const close of closers.splice(0)) await close();
  folders.remove();
});

const on = { SVC_DATA_PROCESSING_ENABLED: 'true' };
const minuteMs = 60_000;

function configure(port: number): void {
  for (const part of ['tasks', 'bindings']) mkdirSync(join(folders.config, 'processing', part), { recursive: true });
  folders.write('processing/tasks/level.yaml', task);
  folders.write('processing/bindings/site.yaml', binding);
  folders.write('processing/routes.yaml', routes(port));
}

/** Ten minutes of values up to now, each 7 seconds apart. */
function importHistory(storage: Readonly<Record<string, string>> = {}): void {
  const nowMs = Date.now();
  const lines = Array.from(
    { length: 90 },
    (_, index) => `${new Date(nowMs - (90 - index) * 7000).toISOString()},${index}`,
  );
  const file = join(folders.config, 'level.csv');
  writeFileSync(file, ['time,value', ...lines, ''].join('\n'));
  mkdirSync(folders.data, { recursive: true });
  const done = runCommand(
    'setpoint',
    ['history', 'import', file, '--point', '1:1'],
    serviceEnvironment(folders, storage),
  );
  expect([done.status, done.stderr]).toEqual([0, '']);
}

function process(options: Record<string, unknown> = {}): Promise<Reply> {
  if (service === undefined) throw new Error('no service');
  const asOfMs = Math.floor(Date.now() / minuteMs) * minuteMs;
  return service.request('POST', '/api/v1/data-processing/process', {
    body: {
      task_id: 'tank.level',
      expected_task_revision: 1,
      binding_id: 'tank.site',
      expected_binding_revision: 1,
      as_of: new Date(asOfMs).toISOString(),
      options: { kind: 'forecast', horizon_steps: 3, ...options },
    },
  });
}

describe('[data-processing §2.1] Switch', () => {
  const paths = [
    ['GET', '/api/v1/data-processing/tasks'],
    ['GET', '/api/v1/data-processing/processors/health'],
    ['POST', '/api/v1/data-processing/process'],
  ] as const;

  test('off by default: its routes are 404', async () => {
    service = await startTestService(folders);
    for (const [method, path] of paths) expect((await service.request(method, path)).status).toBe(404);
  });

  test('on with a bad configuration: the start fails and says where', () => {
    configure(1);
    folders.write('processing/tasks/level.yaml', task.replace('unit: m, source', 'unit: cm, source'));
    const started = runCommand('serve', [], serviceEnvironment(folders, on));
    expect(started.status).toBe(1);
    expect(started.stderr).toMatch(/^setpoint: processing\/tasks\/level\.yaml:10: \/inputs\/history\/0\/unit /m);
    expect(started.stderr).not.toMatch(/ at .*\.ts:/);
  });

  test('a switch that is neither true nor false stops the start', () => {
    const started = runCommand('serve', [], serviceEnvironment(folders, { SVC_DATA_PROCESSING_ENABLED: 'yes' }));
    expect([started.status, started.stderr]).toEqual([
      1,
      'setpoint: SVC_DATA_PROCESSING_ENABLED must be true or false, not "yes"\n',
    ]);
  });
});

test.each(engines)(
  '[data-processing §6.4] history imported into %s becomes derived data, with its two audit records; a changed revision stops the next start',
  async (engine) => {
    const { env, remove } = await storageOn(engine, folders);
    closers.push(remove);
    const processor = { id: 'helper', version: '1.0.0', contract: 'svc.data-processing.forecast.v1' };
    const tasksFolder = join(folders.config, 'processing', 'tasks');
    configure(1);
    const server = await serveProcessor(
      {
        processor,
        declarations: readTasks(tasksFolder),
        limits: defaultServerLimits,
        bearerToken: null,
        clock: systemClock,
        log: silentLog,
        work: fallbackWork,
        condition: () => 'ok',
        knowsArtifact: () => false,
      },
      { host: '127.0.0.1', port: 0 },
    );
    closers.push(() => server.close(100));
    configure(server.port);
    importHistory(env);
    service = await startTestService(folders, { ...on, ...env });
    const health = await service.request('GET', '/api/v1/data-processing/processors/health');
    expect(health.body['processors']).toMatchObject([
      { processor_id: 'helper', health: 'healthy', tasks: ['tank.level'] },
    ]);
    const answer = await process({ quantiles: [0.1, 0.9] });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      schema: 'svc.derived-data.v1',
      processing_status: 'fallback',
      processor,
      quality: { fallback_used: true, missing_ratio: 0, live_tail_included: false },
      data: { target: 'level', unit: 'm', cadence_seconds: 60 },
    });
    const events = await service.request('GET', '/api/v1/audit/events?action=data_processing.process', {
      token: await service.token('Admin'),
    });
    const correlationId = answer.headers.get('x-correlation-id');
    expect(events.body['items']).toMatchObject([
      {
        outcome: 'succeeded',
        correlationId,
        resource: { kind: 'processing-binding', resourceId: 'processing-binding:tank.site' },
      },
      { outcome: 'accepted', correlationId, risk: 'medium' },
    ]);
    expect(await service.stop()).toBe(0);
    service = undefined;

    const changed = readFileSync(join(tasksFolder, 'level.yaml'), 'utf8').replace(
      'max_gap_seconds: 120',
      'max_gap_seconds: 121',
    );
    folders.write('processing/tasks/level.yaml', changed);
    const started = runCommand('serve', [], serviceEnvironment(folders, { ...on, ...env }));
    expect([started.status, started.stderr]).toEqual([
      1,
      expect.stringMatching(/^setpoint: processing\/tasks\/level\.yaml:3: .*give it a new revision\n$/),
    ]);
  },
);

test('[data-processing §8.2] a scheduled route runs as the system, and its results are stored and scored', async () => {
  configure(1);
  const server = await serveProcessor(
    {
      processor: { id: 'helper', version: '1.0.0', contract: 'svc.data-processing.forecast.v1' },
      declarations: readTasks(join(folders.config, 'processing', 'tasks')),
      limits: defaultServerLimits,
      bearerToken: null,
      clock: systemClock,
      log: silentLog,
      work: fallbackWork,
      condition: () => 'ok',
      knowsArtifact: () => false,
    },
    { host: '127.0.0.1', port: 0 },
  );
  closers.push(() => server.close(100));
  configure(server.port);
  const scheduled = routes(server.port).replace(
    'max_concurrency: 2 }',
    'max_concurrency: 2, keep_results: true, schedule: { every_seconds: 1 } }',
  );
  folders.write('processing/routes.yaml', scheduled);
  folders.write('service.yaml', 'alarms: { interval_ms: 100, forecast_failing_ms: 500 }');
  importHistory();
  const running = await startTestService(folders, on);
  service = running;
  const about = 'task=tank.level&binding=tank.site';
  const list = async () =>
    (await running.request('GET', `/api/v1/data-processing/results?${about}`)).body as unknown as ResultList;
  const kept = await waitFor(async () => ((await list()).total >= 2 ? list() : undefined));
  expect(kept.list[0]).toMatchObject({ status: 'fallback', reason_code: null });
  const one = await running.request(
    'GET',
    `/api/v1/data-processing/results/${kept.list[0]?.result_id}?include=actuals`,
  );
  expect(one.status, one.text).toBe(200);
  expect((one.body['derived'] as unknown as DerivedData).data.points).toHaveLength(10);
  const events = await running.request('GET', '/api/v1/audit/events?action=data_processing.process', {
    token: await running.token('Admin'),
  });
  const items = events.body['items'] as unknown as { subject: { kind: string; subjectId: string } }[];
  expect(items[0]?.subject).toMatchObject({ kind: 'system', subjectId: 'forecast-schedule' });
  const scores = await running.request(
    'GET',
    `/api/v1/data-processing/scores?${about}&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z`,
  );
  expect(scores.status, scores.text).toBe(200);
  // Never the model: these are fallbacks.
  const [group] = scores.body['groups'] as unknown as ScoreGroup[];
  expect(group).toMatchObject({ n: 0, produced: 0, mae: null });
  expect(group?.fallback).toBeGreaterThanOrEqual(2);
  // [alarms §2.2]
  await server.close(100);
  const failing = await waitFor(async () => {
    const { list: alarms } = (await running.read('/alarms')).body['data'] as unknown as { list: AlarmRow[] };
    return alarms.find(({ id, state }) => id === 'forecast-failing' && state === 'active-unacknowledged');
  });
  expect(failing.message).toMatch(/^tank\.level for tank\.site: /);
});

interface AlarmRow {
  readonly id: string;
  readonly state: string;
  readonly message: string;
}

interface Counters {
  readonly ticks: number;
  readonly overruns: number;
}

test('[data-processing §5.4]: while the processor hangs and 64 callers arrive at once, rules keep their tick and health answers', async () => {
  const hanging = await rawServer(() => undefined);
  closers.push(() => hanging.close());
  configure(hanging.port);
  importHistory();
  const running = await startTestService(folders, on);
  service = running;
  const rule = Number((await running.command('POST', '/rules', { name: 'ticking' })).body['data']?.['id']);
  const trigger = { type: 'interval', interval_ms: 100 };
  await running.command('PUT', `/rules/${rule}`, { flow_json: feedFlow(), trigger_config: trigger });
  await running.command('POST', `/rules/${rule}/enable`);
  const counters = async (): Promise<Counters> =>
    (await running.read('/scheduler/status')).body['data'] as unknown as Counters;
  const residentBytes = (): number =>
    Number(readFileSync(`/proc/${running.process.pid}/statm`, 'utf8').split(' ')[1]) * 4096;

  const round = async (): Promise<number[]> => {
    const calls = Array.from({ length: 64 }, () => process());
    const refused: number[] = [];
    const begunMs = performance.now();
    for (const call of calls)
      void call.then(({ status }) => void (status === 429 && refused.push(performance.now() - begunMs)));
    while (performance.now() - begunMs < 3000) {
      const askedMs = performance.now();
      expect((await running.request('GET', '/health', { token: null })).status).toBe(200);
      expect(performance.now() - askedMs).toBeLessThan(1500);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // Long before the deadline that ends the two waiting calls.
    expect(refused.length).toBe(62);
    return (await Promise.all(calls)).map(({ status }) => status).toSorted();
  };
  expect((await round()).slice(-2)).toEqual([504, 504]);
  const memoryBefore = residentBytes();
  const before = await counters();
  const begunMs = performance.now();
  expect((await round()).slice(-2)).toEqual([504, 504]);
  const expected = (performance.now() - begunMs) / 100;
  const after = await counters();
  const ticks = after.ticks - before.ticks;
  expect(Math.abs(ticks + after.overruns - before.overruns - expected)).toBeLessThan(3);
  expect(ticks).toBeGreaterThan(expected * 0.9);
  expect(residentBytes() - memoryBefore).toBeLessThan(64 * 1_048_576);
  expect(hanging.received.length).toBe(4);
});
