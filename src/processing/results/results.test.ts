/** [data-processing §8] kept results and their scores over HTTP, on both engines. */
import { describe, expect, test } from 'vitest';
import type { KeptResult, ResultList, Scores } from '../../api/processing-results.ts';
import { labelsBeforeMax, resultPageSize } from '../../api/processing-results.ts';
import { dayMs } from '../../base/timestamp.ts';
import { engines } from '../../testing/engines.ts';
import { processBody } from '../../testing/fallback-processor.ts';
import { loadSeries, row } from '../../testing/load-site.ts';
import { derivedOf, gatewaysOn, type ProcessingGateway, refusalIn } from '../../testing/processing-gateway.ts';
import { processingLimits } from '../limits.ts';
import { unavailable } from '../processor/processor.ts';
import { kindOf } from './keep.ts';
import type { NewResult } from './result-store.ts';

const keeping = { routes: [['    enabled: true\n', '    enabled: true\n    keep_results: true\n']] } as const;
const about = 'task=energy.site-load-forecast&binding=energy.example-site';
const asOfMs = Date.UTC(2026, 6, 11, 12);
const cadenceMs = 900_000;

const json = async <T>(response: Response): Promise<T> => (await response.json()) as T;
const listOf = async (site: ProcessingGateway, more = ''): Promise<ResultList> =>
  json(await site.send(`/results?${about}${more}`));

function produced(site: ProcessingGateway, more: Partial<NewResult> & { readonly value?: number } = {}): NewResult {
  const [route] = site.routes;
  if (route === undefined) throw new Error('no route');
  const numbers = {
    value: Float64Array.of(more.value ?? 900, more.value ?? 900),
    quantiles: [],
    references: [Float64Array.of(800, 800), Float64Array.of(Number.NaN, Number.NaN), Float64Array.of(850, 850)],
  };
  const id = `0190aee6-2139-7a87-8448-${(more.asOfMs ?? asOfMs).toString(16).padStart(12, '0')}`;
  return {
    resultId: id,
    kind: kindOf(route),
    asOfMs,
    keptMs: asOfMs,
    firstMs: asOfMs + cadenceMs,
    lastMs: asOfMs + 2 * cadenceMs,
    steps: 2,
    probabilities: [],
    inputDigest: `sha256:${'0'.repeat(64)}`,
    outcome: { status: 'produced', derived: { data: { points: [] } } as never, numbers },
    ...more,
  };
}

describe.each(engines)('kept results on %s', (engine) => {
  const start = gatewaysOn(engine);

  test('nothing is stored unless the route requests it', async () => {
    const site = await start();
    await site.process();
    expect(await listOf(site)).toMatchObject({ list: [], total: 0 });
  });

  test('a result is stored completely: the stored result equals the answer', async () => {
    const site = await start({ edits: keeping });
    const response = await site.process();
    const derived = await derivedOf(response);
    expect(site.gateway.entries.at(-1)?.details).toMatchObject({ kept: true });
    const { list, total } = await listOf(site);
    expect(total).toBe(1);
    expect(list[0]).toMatchObject({
      result_id: derived.result_id,
      status: 'fallback',
      as_of: '2026-07-11T12:00:00Z',
      first: '2026-07-11T12:15:00Z',
      last: '2026-07-11T12:30:00Z',
    });
    const kept = await json<KeptResult>(await site.send(`/results/${derived.result_id}`));
    expect(kept.derived).toEqual(derived);
    expect(kept.frame_digest).toBe(derived.input_digest);
    expect(kept.references.persistence).toEqual([840, 840]);
    expect(kept.references.same_time_last_week).toEqual([null, null]);
  });

  test('a result with quantiles is read back with them', async () => {
    const site = await start({ edits: { ...keeping, task: [['max_quantiles: 0', 'max_quantiles: 3']] } });
    const body = { ...processBody, options: { ...processBody.options, quantiles: [0.1, 0.5, 0.9] } };
    const derived = await derivedOf(await site.process(body));
    const kept = await json<KeptResult>(await site.send(`/results/${derived.result_id}`));
    expect(kept.derived).toEqual(derived);
    expect(kept.derived?.data.points[0]?.quantiles).toHaveLength(3);
  });

  test('an unavailable forecast is stored too, with its reason', async () => {
    const gone = {
      process: () =>
        Promise.resolve(unavailable('MODEL_RUNTIME_UNAVAILABLE', { retryable: true, retryAfterSeconds: null })),
    };
    const site = await start({
      edits: keeping,
      processor: () => ({ id: 'gone', health: () => Promise.resolve({ health: 'healthy', latencyMs: 1 }), ...gone }),
    });
    expect((await site.process()).status).toBe(503);
    const { list } = await listOf(site);
    expect(list[0]).toMatchObject({ status: 'unavailable', reason_code: 'MODEL_RUNTIME_UNAVAILABLE' });
    const kept = await json<KeptResult>(await site.send(`/results/${list[0]?.result_id}`));
    expect(kept).toMatchObject({ derived: null, references: { persistence: [] } });
  });

  test('actuals are joined as they arrive', async () => {
    const site = await start({ edits: keeping });
    const { result_id } = await derivedOf(await site.process());
    const actuals = async () =>
      (await json<KeptResult>(await site.send(`/results/${result_id}?include=actuals`))).actuals;
    expect(await actuals()).toEqual([
      { timestamp: '2026-07-11T12:15:00Z', value: null },
      { timestamp: '2026-07-11T12:30:00Z', value: null },
    ]);
    await site.history.historian.append([row(loadSeries, '12:15:00', 900)]);
    expect((await actuals())?.map(({ value }) => value)).toEqual([900, null]);
  });

  test('[data-processing §8.3] values before the forecast are joined, 0 to 2000 labels', async () => {
    const site = await start({ edits: keeping });
    const { result_id } = await derivedOf(await site.process());
    await site.history.historian.append([row(loadSeries, '12:15:00', 900)]);
    const answer = (query: string) => site.send(`/results/${result_id}?${query}`);
    const kept = await json<KeptResult>(await answer('include=actuals&before=2'));
    expect(kept.before).toEqual([
      { timestamp: '2026-07-11T11:45:00Z', value: expect.any(Number) },
      { timestamp: '2026-07-11T12:00:00Z', value: 840 },
    ]);
    expect(kept.actuals?.map(({ value }) => value)).toEqual([900, null]);
    expect((await json<KeptResult>(await answer('include=actuals&before=0'))).before).toEqual([]);
    expect((await json<KeptResult>(await answer(`include=actuals&before=${labelsBeforeMax}`))).before).toHaveLength(
      2000,
    );
    expect((await answer(`include=actuals&before=${labelsBeforeMax + 1}`)).status).toBe(400);
    const alone = await answer('before=2');
    expect(alone.status).toBe(400);
    expect(await alone.text()).toContain('before needs include=actuals');
  });

  test('the list: newest first, bounded by as_of, in pages', async () => {
    const site = await start({ edits: keeping });
    for (let index = 0; index <= resultPageSize; index++)
      await site.store.keep(produced(site, { asOfMs: asOfMs + index * cadenceMs }), 0);
    site.clock.advance(dayMs);
    const first = await listOf(site);
    expect(first).toMatchObject({ total: resultPageSize + 1, total_pages: 2, has_next: true, has_previous: false });
    expect(first.list).toHaveLength(resultPageSize);
    expect(first.list[0]?.as_of).toBe('2026-07-12T00:30:00Z');
    expect((await listOf(site, '&page=2')).list.map(({ as_of }) => as_of)).toEqual(['2026-07-11T12:00:00Z']);
    const bounded = await listOf(site, '&from=2026-07-11T12:15:00Z&to=2026-07-11T12:45:00Z');
    expect(bounded.list.map(({ as_of }) => as_of)).toEqual(['2026-07-11T12:30:00Z', '2026-07-11T12:15:00Z']);
  });

  test('expired results are removed with the next result', async () => {
    const site = await start({ edits: keeping });
    await site.store.keep(produced(site, { keptMs: asOfMs - 10 }), 0);
    await site.store.keep(produced(site, { asOfMs: asOfMs + 1, keptMs: asOfMs }), asOfMs - 10);
    expect((await listOf(site)).total).toBe(2);
    await site.store.keep(produced(site, { asOfMs: asOfMs + 2, keptMs: asOfMs }), asOfMs - 9);
    expect((await listOf(site)).total).toBe(2);
  });

  test('scores: against recorded values, beside the references', async () => {
    const site = await start({ edits: keeping });
    await site.store.keep(produced(site), 0);
    await site.store.keep(produced(site, { asOfMs: asOfMs + 1, value: 860 }), 0);
    await site.history.historian.append([row(loadSeries, '12:15:00', 880)]);
    site.clock.advance(dayMs);
    const scores = await json<Scores>(await site.send(`/scores?${about}`));
    expect(scores).toMatchObject({ by: 'none', unit: 'kW', to: '2026-07-12T12:00:01Z', from: '2026-06-12T12:00:01Z' });
    expect(scores.groups).toEqual([
      {
        key: null,
        n: 2,
        produced: 2,
        fallback: 0,
        unavailable: 0,
        mae: 20,
        bias: 0,
        rmse: 20,
        pinball: null,
        coverage: {},
        pit: null,
        skill: { persistence: 1 - 20 / 80, same_time_yesterday: null, same_time_last_week: 1 - 20 / 30 },
        interval: null,
      },
    ]);
    const byLead = await json<Scores>(await site.send(`/scores?${about}&by=lead`));
    expect(byLead.groups.map(({ key, n }) => [key, n])).toEqual([
      [900, 2],
      [1800, 0],
    ]);
  });

  test('a result of another revision has no actuals: they would be those of another grid', async () => {
    const site = await start({ edits: keeping });
    const own = produced(site);
    await site.store.keep({ ...own, kind: { ...own.kind, taskRevision: 2 } }, 0);
    const path = `/results/${own.resultId}`;
    expect((await site.send(path)).status).toBe(200);
    const refused = await site.send(`${path}?include=actuals`);
    expect([refused.status, (await refusalIn(refused)).code]).toEqual([404, 'task-not-commissioned']);
  });

  test('`score_timeout_ms`: a scoring at its deadline is cancelled, one a millisecond shorter is not', async () => {
    let readMs = processingLimits.score_timeout_ms - 1;
    const site: ProcessingGateway = await start({ edits: keeping, beforeRead: () => site.clock.advance(readMs) });
    await site.store.keep(produced(site), 0);
    site.clock.advance(dayMs);
    expect((await site.send(`/scores?${about}`)).status).toBe(200);
    readMs = processingLimits.score_timeout_ms;
    const late = await site.send(`/scores?${about}`);
    expect([late.status, (await refusalIn(late)).code]).toEqual([504, 'deadline-exceeded']);
  });

  test('results are stored for `kept_days` (400)', async () => {
    const site = await start({ edits: keeping });
    const limitMs = site.clock.wallMs() - processingLimits.kept_days * dayMs;
    await site.store.keep(produced(site, { keptMs: limitMs }), 0);
    await site.store.keep(produced(site, { asOfMs: asOfMs - 1, keptMs: limitMs - 1 }), 0);
    await site.process();
    expect((await listOf(site)).list.map(({ kept_at }) => kept_at)).toEqual([
      '2026-07-11T12:00:01Z',
      '2025-06-06T12:00:01Z',
    ]);
  });

  test('a scoring of too many labels is refused with the limit, one of as many is made', async () => {
    const site = await start({ edits: keeping, limits: { score_labels: 1000 } });
    const last = (labels: number): Partial<NewResult> => ({ lastMs: asOfMs + labels * cadenceMs });
    await site.store.keep(produced(site, last(1000)), 0);
    site.clock.advance(30 * dayMs);
    expect((await site.send(`/scores?${about}`)).status).toBe(200);
    await site.store.keep(produced(site, { asOfMs: asOfMs + 1, ...last(1001) }), 0);
    const refused = await site.send(`/scores?${about}&from=2026-07-11T00:00:00Z`);
    expect(refused.status).toBe(400);
    expect((await refusalIn(refused)).details).toEqual({ labels: 1001, score_labels: 1000 });
  });

  test('results of another revision are not scored with these', async () => {
    const site = await start({ edits: keeping });
    const own = produced(site);
    await site.store.keep({ ...own, kind: { ...own.kind, taskRevision: 2 } }, 0);
    expect(await json<Scores>(await site.send(`/scores?${about}&to=2027-01-01T00:00:00Z`))).toMatchObject({
      groups: [],
    });
  });

  test('readers may see them; invalid requests are refused with the reason', async () => {
    const site = await start({ edits: keeping });
    expect((await site.send(`/scores?${about}`, { as: 'vera' })).status).toBe(200);
    expect((await site.send(`/results?${about}`, { as: 'mute' })).status).toBe(403);
    const refused = async (path: string) => {
      const response = await site.send(path);
      return [response.status, (await refusalIn(response)).code];
    };
    expect(await refused('/results/0190aee6-2139-7a87-8448-806f1b843299')).toEqual([404, 'not-found']);
    expect(await refused(`/scores?${about}&from=2026-07-11T12:00:00Z&to=2026-07-11T12:00:00Z`)).toEqual([
      400,
      'invalid-input',
    ]);
    expect(await refused(`/scores?${about}&from=2026-02-30T12:00:00Z`)).toEqual([400, 'invalid-input']);
    expect(await refused(`/scores?${about}&by=week`)).toEqual([400, 'invalid-input']);
    expect(await refused('/scores?task=none&binding=energy.example-site')).toEqual([404, 'task-not-commissioned']);
    expect(await refused('/results?task=energy.site-load-forecast')).toEqual([400, 'invalid-input']);
  });
});
