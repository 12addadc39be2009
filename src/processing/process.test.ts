/** A process call after it was admitted [data-processing §5.1] and [data-processing §5.3]: audit that fails closed, every refusal, limits. */
import { describe, expect, test } from 'vitest';
import { engines } from '../testing/engines.ts';
import { processBody } from '../testing/fallback-processor.ts';
import { type Edit, fixtureRows, loadSeries } from '../testing/load-site.ts';
import { type GatewayChanges, gatewaysOn, hanging, outcomes, refusalIn, told } from '../testing/processing-gateway.ts';
import type { ProcessorAnswer } from './processor/processor.ts';
import { http } from './processor/transport/http.ts';

const remote: readonly Edit[] = [
  ['endpoint: http://127.0.0.1:8989/', 'endpoint: https://forecast.example.com/'],
  ['boundary: local', 'boundary: remote'],
  ['max_concurrency: 1', 'max_concurrency: 1\n    remote_preapproved: true\n    confirmation: never'],
];
const approved: GatewayChanges['edits'] = {
  task: [['output: {', 'egress: { remote_allowed: true }\noutput: {']],
  binding: [['remote_egress_allowed: false', 'remote_egress_allowed: true']],
  routes: remote,
};

describe.each(engines)('[data-processing §5.3]: the audit fails closed, on %s', (engine) => {
  const start = gatewaysOn(engine);

  test('an accepted record that cannot be written: 503, nothing is read, no processor is called', async () => {
    const site = await start();
    site.gateway.failAudit(() => true);
    const response = await site.process();
    expect([response.status, (await refusalIn(response)).code]).toEqual([503, 'audit-unavailable']);
    expect(site.counts).toEqual({ reads: 0, asked: 0 });
  });

  test('a terminal record that cannot be written: the result is withheld with 503', async () => {
    const site = await start();
    site.gateway.failAudit(({ outcome }) => outcome === 'succeeded');
    const response = await site.process();
    expect([response.status, response.headers.get('x-svc-audit')]).toEqual([503, 'incomplete']);
    expect(await response.text()).not.toContain('points');
  });

  test('one that takes longer than audit_finalization_timeout_ms counts as failed', async () => {
    const edits: GatewayChanges['edits'] = {
      routes: [['audit_finalization_timeout_ms: 1000', 'audit_finalization_timeout_ms: 50']],
    };
    const site = await start({ edits });
    site.gateway.stallAudit(({ outcome }) => outcome === 'succeeded');
    const response = await site.process();
    expect([response.status, (await refusalIn(response)).code]).toEqual([503, 'audit-unavailable']);
  });

  test('[data-processing §5.3]: a remote call records its egress with the digest before anything leaves', async () => {
    let before: unknown[] = [];
    const { make } = told(async () => {
      before = site.gateway.entries.map(({ action, outcome, details }) => [action, outcome, details]);
      return { outcome: 'timeout' };
    });
    const site = await start({ edits: approved, processor: make });
    await site.process();
    expect(before.map((entry) => (entry as unknown[])[0])).toEqual([
      'data_processing.process',
      'data_processing.egress',
    ]);
    expect(site.gateway.entries.map(({ action }) => action)).toEqual([
      'data_processing.process',
      'data_processing.egress',
      'data_processing.process',
    ]);
    expect(site.gateway.entries[1]?.details).toMatchObject({
      input_digest: expect.stringMatching(/^sha256:/),
      processor_id: 'load-forecasting-edge',
    });
  });

  test('a call that the breaker refuses leaves nothing, and no record says that it did', async () => {
    // A name that does not resolve: five failures open the breaker.
    const unreachable: GatewayChanges['processor'] = ({ processor }, clock) =>
      http(processor, { clock, bearerToken: null, resolve: async () => [] });
    const site = await start({ edits: approved, processor: unreachable });
    for (let call = 0; call < 5; call++) await site.process();
    const egress = () => site.gateway.entries.filter(({ action }) => action === 'data_processing.egress').length;
    expect(egress()).toBe(5);
    const refused = await refusalIn(await site.process());
    expect([refused.code, refused.details?.['reason'], egress()]).toEqual([
      'processing-unavailable',
      'CIRCUIT_OPEN',
      5,
    ]);
    expect(site.gateway.entries.at(-1)).toMatchObject({
      action: 'data_processing.process',
      outcome: 'failed',
      details: { input_digest: expect.stringMatching(/^sha256:/), reason: { reason: 'CIRCUIT_OPEN' } },
    });
    site.clock.advance(10_000);
    await site.process();
    expect(egress()).toBe(6);
  });

  test('an egress record that cannot be written: 503, and nothing leaves', async () => {
    const { make, sent } = told(async () => ({ outcome: 'timeout' }));
    const site = await start({ edits: approved, processor: make });
    site.gateway.failAudit(({ action }) => action === 'data_processing.egress');
    const response = await site.process();
    expect([response.status, (await refusalIn(response)).code]).toEqual([503, 'audit-unavailable']);
    expect([sent, outcomes(site)]).toEqual([[], ['accepted', 'failed']]);
  });
});

describe.each(engines)('[data-processing §5.3] refusals after the call was accepted, on %s', (engine) => {
  const start = gatewaysOn(engine);

  test('422 lists every broken rule, and the terminal record names them', async () => {
    const site = await start({ rows: fixtureRows().filter(({ series }) => series !== loadSeries) });
    const response = await site.process();
    const refused = await refusalIn(response);
    expect([response.status, refused.code]).toEqual([422, 'input-quality-rejected']);
    expect(refused.details).toMatchObject({
      reasons: expect.arrayContaining([
        expect.objectContaining({ rule: 'history_unavailable', segment: 'history', feature: 'load' }),
      ]),
    });
    expect(site.gateway.entries.at(-1)).toMatchObject({
      outcome: 'failed',
      details: { code: 'input-quality-rejected', status: 'input-quality-rejected', reason: refused.details },
    });
    expect(site.counts.asked).toBe(0);
  });

  test.each<[string, ProcessorAnswer, number, string, object]>([
    [
      'a result that breaks a check',
      { outcome: 'answered', message: {} },
      502,
      'result-rejected',
      { details: { check: 'schema', path: '/schema' } },
    ],
    [
      'a typed refusal',
      { outcome: 'refused', status: 422, code: 'QUALITY_REJECTED' },
      502,
      'processor-refused',
      { details: { code: 'QUALITY_REJECTED' } },
    ],
    [
      'unavailable with advice',
      { outcome: 'unavailable', reason: 'INSUFFICIENT_HISTORY', retryable: true, retryAfterSeconds: 900 },
      503,
      'processing-unavailable',
      { retryable: true, retryAfterMs: 900_000, details: { reason: 'INSUFFICIENT_HISTORY' } },
    ],
    [
      'unavailable for good',
      { outcome: 'unavailable', reason: 'NO_MODEL', retryable: false, retryAfterSeconds: null },
      503,
      'processing-unavailable',
      { details: { reason: 'NO_MODEL' } },
    ],
    ['a timer', { outcome: 'timeout' }, 504, 'deadline-exceeded', { retryable: true }],
    ['a request that is too large', { outcome: 'oversized' }, 413, 'frame-too-large', {}],
  ])('%s', async (_name, answer, status, code, more) => {
    const { make } = told(async () => answer);
    const site = await start({ processor: make });
    const response = await site.process();
    expect(response.status).toBe(status);
    expect(await refusalIn(response)).toMatchObject({ code, ...more });
    expect(outcomes(site)).toEqual(['accepted', 'failed']);
    expect(site.gateway.entries.at(-1)?.details).toMatchObject({
      code,
      input_digest: expect.stringMatching(/^sha256:/),
    });
  });

  test('[data-processing §5.5] deadline_ms is the hard budget: a hanging processor ends with 504 and its slot is free again', async () => {
    const { make } = hanging();
    const site = await start({ processor: make });
    const answered = site.process();
    while (site.counts.asked === 0) await new Promise((resolve) => void setImmediate(resolve));
    site.clock.advance(4998);
    expect(await Promise.race([answered, Promise.resolve('waiting')])).toBe('waiting');
    site.clock.advance(2);
    const response = await answered;
    expect([response.status, (await refusalIn(response)).code]).toEqual([504, 'deadline-exceeded']);
    expect(site.gateway.entries.at(-1)?.details).toMatchObject({ duration_ms: 5000 });
    const next = site.process();
    while (site.counts.asked === 1) await new Promise((resolve) => void setImmediate(resolve));
    site.clock.advance(5000);
    expect((await next).status).toBe(504);
  });

  test('[platform §2.4] processing_calls_per_minute: one more is 429 at once, reads nothing and is not recorded', async () => {
    const site = await start({ callsPerMinute: 2 });
    expect([(await site.process()).status, (await site.process()).status]).toEqual([200, 200]);
    const [reads, records] = [site.counts.reads, site.gateway.entries.length];
    const limited = await site.process();
    expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(await refusalIn(limited)).toMatchObject({ code: 'rate-limited', retryable: true });
    expect([site.counts.reads, site.gateway.entries.length]).toEqual([reads, records]);
    expect((await site.process(processBody, { authorization: 'Bearer token-9c1b44' })).status).toBe(200);
    expect((await site.send('/tasks')).status).toBe(200);
  });

  test('[data-processing §5.5] max_concurrency: while the processor hangs, the excess of 64 callers is answered 429 at once', async () => {
    const { make, sent } = hanging();
    const edits: GatewayChanges['edits'] = { routes: [['max_concurrency: 1', 'max_concurrency: 2']] };
    const site = await start({ edits, processor: make });
    const calls = Array.from({ length: 64 }, () => site.process());
    const settled: Response[] = [];
    for (const call of calls) void call.then((response) => settled.push(response));
    while (settled.length < 62) await new Promise((resolve) => void setImmediate(resolve));
    const [first] = settled;
    if (first === undefined) throw new Error('nobody was answered');
    expect(settled.every(({ status }) => status === 429)).toBe(true);
    expect(first.headers.get('retry-after')).toBe('1');
    expect(await refusalIn(first)).toMatchObject({ code: 'processor-busy', retryable: true, retryAfterMs: 250 });
    // While it hangs, all other requests are answered.
    expect((await site.send('/tasks')).status).toBe(200);
    while (sent.length < 2) await new Promise((resolve) => void setImmediate(resolve));
    site.clock.advance(5000);
    await Promise.all(calls);
    expect(settled.slice(62).map(({ status }) => status)).toEqual([504, 504]);
    expect(sent.length).toBe(2);
  });

  test('[data-processing §5.3]: a client that disconnects still gets a terminal record', async () => {
    const { make } = hanging();
    const site = await start({ processor: make });
    const gone = new AbortController();
    const call = fetch(`${site.gateway.base}/api/v1/data-processing/process`, {
      method: 'POST',
      headers: { authorization: 'Bearer ada', 'content-type': 'application/json' },
      body: JSON.stringify(processBody),
      signal: gone.signal,
    }).catch(() => undefined);
    while (site.counts.asked === 0) await new Promise((resolve) => void setImmediate(resolve));
    gone.abort();
    await call;
    site.clock.advance(5000);
    while (outcomes(site).length < 2) await new Promise((resolve) => void setImmediate(resolve));
    expect(outcomes(site)).toEqual(['accepted', 'failed']);
  });
});
