/** The conformance check, judged by processors that are right and by processors that are wrong in one way each. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import { readTask } from '../../contract/task/read.ts';
import { type AnswerServer, answerServer } from '../../testing/answer-server.ts';
import { fixtureText, loadTask } from '../../testing/load-fixture.ts';
import { type ProcessorReply, requestAnswerer, type ServedProcessor } from '../server/answer-request.ts';
import { fallbackWork } from '../server/fallback-work.ts';
import { defaultServerLimits } from '../server/limits.ts';
import { serveProcessor } from '../server/serve.ts';
import { horizonLabels, type Work } from '../server/work.ts';
import { checkProcessor, type ScoreLine } from './check-processor.ts';

/** A straight line with every quantile that was asked for. */
const straight: Work = (accepted) => {
  const quantiles = accepted.request.options.quantiles?.map((probability) => ({ probability, value: probability }));
  const points = horizonLabels(accepted).map((timestamp) => ({
    timestamp,
    value: 0.5,
    ...(quantiles && { quantiles }),
  }));
  return Promise.resolve({ status: 'produced', points });
};

const bare = fixtureText('site-load-forecast.yaml').replace(/ {2}future_covariates:\n( {4}- .*\n)+/, '');
/** Quantiles, gaps, seasonal fallbacks, no covariates. */
const otherTask: TaskDeclaration = {
  ...readTask(bare, 'bare.yaml').value,
  id: 'energy.other',
  frame: { ...loadTask.frame, history_steps: 96, horizon_steps: 4096 },
  output: { ...loadTask.output, max_quantiles: 99, median_equals_value: true },
};

function served(changes: Partial<ServedProcessor> = {}): ServedProcessor {
  return {
    processor: { id: 'under-test', version: '1.0.0', contract: 'svc.data-processing.forecast.v1' },
    declarations: [loadTask, otherTask],
    limits: defaultServerLimits,
    bearerToken: null,
    clock: systemClock,
    log: silentLog,
    work: fallbackWork,
    condition: () => 'ok',
    knowsArtifact: () => true,
    ...changes,
  };
}

const failed = (lines: readonly ScoreLine[]): string[] =>
  lines.filter((line) => !line.passed).map(({ name, seen }) => `${name}: ${seen}`);
const target = (port: number, bearerToken: string | null = null) => ({
  endpoint: new URL(`http://127.0.0.1:${port}/`),
  bearerToken,
  requestTimeoutMs: 10_000,
  clock: systemClock,
});

describe('a processor of this repository', () => {
  test.each([
    ['the example task', loadTask, fallbackWork],
    ['a task without covariates and with quantiles', otherTask, straight],
  ])('holds every line: %s', async (_, task, work) => {
    const server = await serveProcessor(served({ work, bearerToken: 'right' }), { host: '127.0.0.1', port: 0 });
    const lines = await checkProcessor(target(server.port, 'right'), task);
    await server.close(0);
    expect(failed(lines)).toEqual([]);
    expect(lines.length).toBeGreaterThan(80);
    expect(new Set(lines.map((line) => line.name)).size).toBe(lines.length);
  });
});

describe('a processor that is wrong', () => {
  let server: AnswerServer;
  afterEach(() => server.close());

  /** A right processor whose replies, or whose work, `wrong` changes. */
  async function scoreOf(
    wrong: (reply: ProcessorReply, route: string) => Partial<ProcessorReply>,
    changes: Partial<ServedProcessor> = {},
  ): Promise<string[]> {
    const answerer = requestAnswerer(served(changes));
    server = await answerServer(async (route, received, signal) => {
      const reply = route === 'health' ? answerer.health(received.headers) : await answerer.process(received, signal);
      const { status, headers, body } = { ...reply, ...wrong(reply, route) };
      return { status, body, contentType: headers['content-type'], contentEncoding: undefined };
    });
    return failed(await checkProcessor(target(server.port), loadTask));
  }
  const text = (reply: ProcessorReply, change: (json: string) => string): Partial<ProcessorReply> => ({
    body: new TextEncoder().encode(change(new TextDecoder().decode(reply.body))),
  });

  test('one that is right fails nothing', async () => {
    expect(await scoreOf(() => ({}))).toEqual([]);
  });

  test('no health is one line, and nothing else is tried', async () => {
    expect(await scoreOf((_, route) => (route === 'health' ? { status: 200, body: new Uint8Array() } : {}))).toEqual([
      'GET /v1/health returns status, identity and contract: 200, body: json',
    ]);
  });

  test('results with crossed numbers are seen', async () => {
    const lines = await scoreOf((reply) =>
      reply.status === 200 ? text(reply, (json) => json.replace('"value":', '"value":1')) : {},
    );
    expect(lines).toContainEqual(expect.stringMatching(/^one step: rejected: fallback_values/));
  });

  test('errors of another code, category or status are seen', async () => {
    const code = await scoreOf((reply) => text(reply, (json) => json.replace('"UNIT_UNSUPPORTED"', '"FRAME_INVALID"')));
    expect(code).toEqual(['another unit: 422 invalid_data FRAME_INVALID, expected 422 invalid_data UNIT_UNSUPPORTED']);
    await server.close();
    const status = await scoreOf((reply) => (reply.status === 404 ? { status: 400 } : {}));
    expect(status).toHaveLength(3);
  });

  test('messages that leak are seen', async () => {
    for (const leak of [
      'open /var/lib/model.bin',
      'at Model.load (model.py',
      'SELECT * FROM x',
      'connect 10.0.0.7:80',
    ]) {
      const lines = await scoreOf((reply) =>
        text(reply, (json) => json.replace('a unit is not the one of the task', leak)),
      );
      expect(lines).toEqual(['another unit: message or details tell a path, an address, a query or a stack']);
      await server.close();
    }
    await scoreOf(() => ({}));
  });

  test('a processor that takes anything fails every hostile line', async () => {
    const lines = await scoreOf((reply) =>
      reply.status === 200 ? {} : { status: 200, body: new TextEncoder().encode('{}') },
    );
    expect(lines.length).toBeGreaterThan(80);
    expect(lines).toContain('another unit: accepted (200), expected 422 invalid_data UNIT_UNSUPPORTED');
  });

  test('a refusal without the error envelope is reported with the expected one', async () => {
    const lines = await scoreOf((reply) =>
      reply.status === 422 ? { body: new TextEncoder().encode('{"detail":"no"}') } : {},
    );
    expect(lines).toContain(
      'another unit: 422 without the error envelope (unknown_member), expected 422 invalid_data UNIT_UNSUPPORTED',
    );
  });

  test('a clock that is wrong is seen: passed deadlines are not, results are issued long ago', async () => {
    const clock: Clock = { ...systemClock, wallMs: () => Date.parse('2000-01-01T00:00:00Z') };
    const lines = await scoreOf(() => ({}), { clock });
    expect(lines).toContainEqual(expect.stringMatching(/^a deadline that has passed: .*expected 504/));
    expect(lines).toContain('one step: rejected: issued_at /issued_at');
  });
});
