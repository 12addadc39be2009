/** The reference forecaster as a process: both routes, deadlines, capacity, and answers independent of earlier requests. */
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hoursBefore, type ScoreCase, withoutCells } from '../../bench/forecaster/score-data.ts';
import { requestOf, taskText } from '../../bench/forecaster/score-requests.ts';
import { systemClock } from '../../src/base/clock.ts';
import { SeededStream } from '../../src/base/seeded.ts';
import { readTask } from '../../src/contract/task/read.ts';
import { validateResult } from '../../src/contract/validate/result.ts';
import { decodeMessage } from '../../src/contract/wire/message.ts';
import { checkProcessor } from '../../src/processor-kit/conformance/check-processor.ts';
import { loadFixtureRoute } from '../../src/testing/load-fixture.ts';
import { startTestForecaster, type TestForecaster, taskFolder } from './running-forecaster.ts';
import { runCommand, waitFor } from './running-service.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2021, 2, 1);

/** A site that works on weekdays and heats when it is cold; the weather is known ahead. */
function siteCase(cadenceMs: number, days: number, horizonHours: number): ScoreCase {
  const stream = new SeededStream(7);
  const count = Math.round((days * 24 * hourMs) / cadenceMs);
  const horizon = Math.round((horizonHours * hourMs) / cadenceMs);
  const temperature = Float64Array.from({ length: count + horizon }, (_, cell) => {
    const hours = (cell * cadenceMs) / hourMs;
    return 10 + 6 * Math.sin((2 * Math.PI * (hours - 9)) / 24) + 4 * Math.sin(hours / 70) + stream.next();
  });
  const load = Float64Array.from(temperature, (degrees, cell) => {
    const date = new Date(startMs + cell * cadenceMs);
    const open = date.getUTCDay() % 6 !== 0 && date.getUTCHours() >= 7 && date.getUTCHours() < 18;
    return 40 + (open ? 60 : 0) + 2 * Math.max(0, 18 - degrees) + 4 * stream.next();
  });
  const covariates = [{ name: 'temperature', values: temperature }];
  return {
    series: 'a site',
    origin: 'the last label',
    sample: { startMs, cadenceMs, count, horizon, target: load.slice(0, count), covariates, timeZone: 'UTC' },
    actual: load.slice(count),
    minimum: 0,
    quantiles: [0.1, 0.5, 0.9],
  };
}

const site = siteCase(hourMs, 42, 24);
const later = hoursBefore(site, 1);
const earlier = hoursBefore(site, 2);
/** Fitting it takes seconds. */
/** More than a second of work on any machine. */
const heavy = withCovariates(siteCase(hourMs / 4, 200, 24), 8);
const short = siteCase(hourMs, 5, 24);

const seasonal = { strategy: 'seasonal-naive', version: '1', source_feature: 'target', season_seconds: 86_400 };
const withFallback = JSON.stringify({
  ...(JSON.parse(taskText(short, 'site.short')) as object),
  fallbacks: [{ ...seasonal, max_output_age_seconds: 1800 }],
});
const tasks = {
  'site.yaml': taskText(site, 'site.load'),
  'later.yaml': taskText(later, 'site.later'),
  'heavy.yaml': taskText(heavy, 'site.heavy'),
  'short.yaml': withFallback,
  'bare.yaml': taskText(short, 'site.bare'),
};
/** The longest history of the contract, with twelve covariates of 17 digits and a month ahead. */
function longest(): ScoreCase {
  const own = withCovariates(siteCase(hourMs, 20_000 / 24, 744), 12);
  return { ...own, quantiles: Array.from({ length: 99 }, (_, at) => (at + 1) / 100) };
}
function withCovariates(own: ScoreCase, length: number): ScoreCase {
  const { sample } = own;
  const [weather] = sample.covariates;
  if (weather === undefined) throw new Error('no weather');
  const covariates = Array.from({ length }, (_, index) => ({
    name: `weather_${index}`,
    values: weather.values.map((value) => value / (index + 3)),
  }));
  return { ...own, sample: { ...sample, covariates } };
}

const workers = Math.max(1, availableParallelism());

const ask = (own: ScoreCase, task: string, deadlineMs?: number): Uint8Array =>
  requestOf(own, task, Date.now(), deadlineMs);
/** The parts that must not differ from run to run. */
const lasting = (text: string): string =>
  text.replace(/"issued_at":"[^"]*"/, '"issued_at":""').replace(/"expires_at":"[^"]*"/, '"expires_at":""');

/** The service's verdict on an answer. */
function judged(request: Uint8Array, text: string, fileName: keyof typeof tasks) {
  const message = decodeMessage(request);
  if (!message.ok) throw new Error('the request is no JSON');
  const result = JSON.parse(text) as { processor: typeof loadFixtureRoute.processor };
  const route = { ...loadFixtureRoute, processor: result.processor };
  const declaration = readTask(tasks[fileName], fileName).value;
  return validateResult(result, { request: message.value as never, declaration, route, nowMs: Date.now() });
}

describe('the forecaster', { timeout: 180_000 }, () => {
  let forecaster: TestForecaster;
  beforeAll(async () => {
    forecaster = await startTestForecaster(tasks);
  }, 60_000);
  afterAll(() => forecaster.stop());

  test('[processor §1] health: its identity and that it is well', async () => {
    const { status, body } = await forecaster.health();
    expect([status, body['status'], body['processor'], body['contract']]).toEqual([
      200,
      'ok',
      'setpoint-forecaster',
      'svc.data-processing.forecast.v1',
    ]);
  });

  test('[processor §3] a forecast with its band is produced, names its artifact, and the service accepts it', async () => {
    const request = ask(site, 'site.load');
    const { status, text, body } = await forecaster.process(request);
    expect([status, body['status'], body['warnings']]).toEqual([200, 'produced', []]);
    expect(body['artifact']).toMatchObject({ kind: 'model', family: 'setpoint-forecaster' });
    expect(judged(request, text, 'site.yaml')).toMatchObject({ outcome: 'accepted' });
    const points = JSON.parse(text).output.points as { value: number }[];
    const missed = points.map(({ value }, step) => Math.abs(value - (site.actual[step] ?? Number.NaN)));
    // The load swings by 60: a learned forecast is much closer.
    expect(missed.reduce((sum, each) => sum + each, 0) / missed.length).toBeLessThan(10);
  });

  test('the same request gives the same bytes but for its times, in any thread and in any process', async () => {
    const request = ask(site, 'site.load');
    const answers = await Promise.all(Array.from({ length: workers }, () => forecaster.process(request)));
    const again = await forecaster.process(request);
    const other = await startTestForecaster(tasks);
    const elsewhere = await other.process(request);
    expect(await other.stop()).toBe(0);
    const texts = [...answers, again, elsewhere].map(({ text }) => lasting(text));
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('"status":"produced"');
  });

  test('[processor §7] an answer from a fit of an hour before equals the answer of a fresh process', async () => {
    const request = ask(later, 'site.later');
    const before = await forecaster.process(ask(earlier, 'site.later'));
    const warm = await forecaster.process(request);
    const fresh = await startTestForecaster(tasks);
    const cold = await fresh.process(request);
    expect(await fresh.stop()).toBe(0);
    expect([before.body['status'], warm.body['status']]).toEqual(['produced', 'produced']);
    expect(lasting(warm.text)).toBe(lasting(cold.text));
    expect(lasting(warm.text)).not.toBe(lasting(before.text));
  });

  test('[data-processing §6.3] too short a history is a named fallback of the task, or unavailable: never produced', async () => {
    const request = ask(short, 'site.short');
    const fallback = await forecaster.process(request);
    expect(fallback.body).toMatchObject({
      status: 'fallback',
      fallback: { strategy: 'seasonal-naive', reason_code: 'INSUFFICIENT_HISTORY' },
      warnings: ['MODEL_FALLBACK_USED', 'HISTORY_TOO_SHORT'],
    });
    expect(judged(request, fallback.text, 'short.yaml')).toMatchObject({ outcome: 'accepted' });
    const none = await forecaster.process(ask(short, 'site.bare'));
    expect([none.status, none.body['status']]).toEqual([200, 'unavailable']);
    expect(none.body['unavailable']).toEqual({
      reason_code: 'INSUFFICIENT_HISTORY',
      retryable: true,
      retry_after_seconds: 3600,
    });
  });

  test('[data-processing §3.3] missing cells are handled: said, and never zeros', async () => {
    const thin = withoutCells(site, 0.05, 3);
    const target = thin.sample.target.map((value, cell) => (cell >= 600 && cell < 630 ? Number.NaN : value));
    const request = ask({ ...thin, sample: { ...thin.sample, target } }, 'site.load');
    const { text, body } = await forecaster.process(request);
    expect(body).toMatchObject({ status: 'produced' });
    expect(body['warnings']).toEqual(expect.arrayContaining(['HISTORY_CELLS_MISSING', 'COVARIATE_CELLS_MISSING']));
    expect(judged(request, text, 'site.yaml')).toMatchObject({ outcome: 'accepted' });
    const points = JSON.parse(text).output.points as { value: number }[];
    expect(Math.min(...points.map(({ value }) => value))).toBeGreaterThan(35);
  });

  test('[processor §2] a deadline that passes during the work: 504, the work ends, and its thread is replaced', async () => {
    // How long reading the request takes depends on the machine; before the work began, the deadline ends nothing.
    for (let deadlineMs = 1000; !forecaster.logs().includes('ended at its deadline'); deadlineMs *= 1.25) {
      const { status, body } = await forecaster.process(ask(heavy, 'site.heavy', Math.round(deadlineMs)));
      expect([status, body['code']]).toEqual([504, 'DEADLINE_EXCEEDED']);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    await waitFor(async () => (await forecaster.health()).body['status'] === ('ok' as never) || undefined);
    // No computation continues: a second of it would show.
    await waitFor(async () => {
      const before = forecaster.computedMs();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return forecaster.computedMs() - before < 100 || undefined;
    });
    const answers = await Promise.all(
      Array.from({ length: workers }, () => forecaster.process(ask(site, 'site.load'))),
    );
    expect(answers.map((answer) => answer.body['status'])).toEqual(answers.map(() => 'produced'));
  });

  test('[processor §6.5] max_concurrency: more than one forecast a core at once is answered 429 with advice', async () => {
    const answers = await Promise.all(
      Array.from({ length: workers + 2 }, () => forecaster.process(ask(heavy, 'site.heavy', 6000))),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect(refused[0]?.body).toMatchObject({ code: 'PROCESSOR_BUSY', category: 'capacity', retryable: true });
    expect(answers.filter(({ status }) => status === 200 || status === 504)).toHaveLength(
      answers.length - refused.length,
    );
  });

  test('[processor §6.5] max_request_bytes and max_frame_cells: the longest history of the contract fits, with 99 quantiles', async () => {
    const own = longest();
    const large = await startTestForecaster({ 'longest.yaml': taskText(own, 'site.longest') });
    const body = ask(own, 'site.longest', 50_000);
    expect(body.byteLength).toBeGreaterThan(6_000_000);
    const reply = await large.process(body);
    expect(reply.status, reply.text).toBe(200);
    expect(await large.stop()).toBe(0);
  });

  test('[processor §4] every line of the conformance check holds, for a task that is really forecast', async () => {
    const target = {
      endpoint: new URL(forecaster.url),
      bearerToken: null,
      requestTimeoutMs: 60_000,
      clock: systemClock,
    };
    const lines = await checkProcessor(target, readTask(tasks['site.yaml'], 'site.yaml').value);
    expect(lines.filter((line) => !line.passed)).toEqual([]);
    expect(lines.length).toBeGreaterThan(50);
  });

  test('[platform §1.3] on a stop signal it answers requests in progress and ends with 0 within 10 s', async () => {
    const stopping = await startTestForecaster(tasks);
    const idleMs = stopping.computedMs();
    const answer = stopping.process(ask(site, 'site.load'));
    // More than reading the request takes: a thread is computing.
    await waitFor(() => stopping.computedMs() - idleMs > 150 || undefined);
    const sinceMs = systemClock.monotonicMs();
    const stopped = stopping.stop();
    expect((await answer).status).toBe(200);
    const answeredMs = systemClock.monotonicMs();
    expect(await stopped).toBe(0);
    const endedMs = systemClock.monotonicMs();
    // The connection that carried the answer need not close first.
    expect([endedMs - sinceMs < 10_000, endedMs - answeredMs < 3000]).toEqual([true, true]);
  });
});

describe('the forecaster, started', { timeout: 120_000 }, () => {
  test('[processor §6.4] with a token, every route asks for it', async () => {
    const forecaster = await startTestForecaster(
      { 'site.yaml': tasks['site.yaml'] },
      { SVC_FORECASTER_BEARER_TOKEN: 'a-secret' },
    );
    const request = ask(site, 'site.load');
    const { status, body } = await forecaster.health();
    expect([status, body['code']]).toEqual([401, 'PROCESSOR_AUTH_REQUIRED']);
    expect((await forecaster.process(request)).status).toBe(401);
    expect((await forecaster.process(request, { authorization: 'Bearer wrong' })).status).toBe(403);
    expect((await forecaster.process(request, { authorization: 'Bearer a-secret' })).status).toBe(200);
    expect(await forecaster.stop()).toBe(0);
    expect(forecaster.logs()).not.toContain('a-secret');
  });

  test('[platform §1.1] an invalid setting is one clear line per error and exit 1', () => {
    const folder = taskFolder({ 'a.yaml': tasks['site.yaml'], 'b.yaml': tasks['site.yaml'], 'c.yaml': 'schema: x\n' });
    const started = (more: Record<string, string>) => {
      const { status, stderr } = runCommand('forecaster', [], {
        PATH: process.env['PATH'],
        SVC_FORECASTER_PORT: '0',
        ...more,
      });
      return { status, lines: stderr.trimEnd().split('\n') };
    };
    const broken = started({ SVC_FORECASTER_TASKS: folder });
    rmSync(folder, { recursive: true });
    expect(broken.status).toBe(1);
    expect(broken.lines.every((line) => /^forecaster: [bc]\.yaml:\d+: /.test(line))).toBe(true);
    expect(broken.lines[0]).toMatch(/^forecaster: b\.yaml:1: .*the same task and revision as in a\.yaml/);
    expect(started({})).toEqual({
      status: 1,
      lines: ['forecaster: SVC_FORECASTER_TASKS must name the folder of the task declarations to serve'],
    });
    expect(started({ SVC_FORECASTER_TASKS: folder })).toMatchObject({ status: 1, lines: [expect.any(String)] });
    expect(started({ SVC_FORECASTER_TASKS: folder, SVC_FORECASTER_PORT: '70000' }).lines).toEqual([
      'forecaster: SVC_FORECASTER_PORT must be a port number from 0 to 65535, not "70000"',
    ]);
  });

  test('[platform §1.1] a port in use is one clear line and exit 1', async () => {
    const first = await startTestForecaster({ 'site.yaml': tasks['site.yaml'] });
    const folder = taskFolder({ 'site.yaml': tasks['site.yaml'] });
    const { status, stderr } = runCommand('forecaster', [], {
      PATH: process.env['PATH'],
      SVC_FORECASTER_TASKS: folder,
      SVC_FORECASTER_PORT: new URL(first.url).port,
    });
    rmSync(folder, { recursive: true });
    expect([status, stderr.trimEnd().split('\n').length]).toEqual([1, 1]);
    expect(stderr).toMatch(/^forecaster: .*EADDRINUSE/);
    expect(await first.stop()).toBe(0);
  });
});
