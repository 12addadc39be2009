/** Progress of a long call, line by line [rules §10.1]. */
import { afterEach, describe, expect, test } from 'vitest';
import { ruleBacktest } from '../api/backtest.ts';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { createClient } from '../api/client.ts';
import { Fault } from '../base/fault.ts';
import { startTestGateway, type TestGateway, testSubject } from '../testing/test-gateway.ts';

const descriptor = ruleBacktest.run;
const body = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', mode: 'recorded' } as const;
let gateway: TestGateway | undefined;
afterEach(async () => {
  await gateway?.server.close();
});

async function started(handler: (context: CallContext) => Promise<Answer>): Promise<TestGateway> {
  const handled: HandledCapability = { descriptor, resource: () => ({ kind: 'x', id: 'x' }), handler };
  gateway = await startTestGateway([handled], { subjects: { ada: testSubject('ada', ['automation.read']) } });
  return gateway;
}

async function asked(accept: string): Promise<{ status: number; type: string | null; text: string }> {
  const answer = await fetch(`${gateway?.base}${descriptor.path.replace(':id', '1')}`, {
    method: 'POST',
    headers: { authorization: 'Bearer ada', 'content-type': 'application/json', accept },
    body: JSON.stringify(body),
  });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

describe('[rules §10.1] progress', () => {
  test('is sent in lines only to a caller that accepts them', async () => {
    let isWanted: boolean | undefined;
    await started(async ({ progress }) => {
      isWanted = progress !== undefined;
      progress?.(0.25);
      progress?.(0.5);
      return { data: { success: true, data: 7 } };
    });
    const lines = '{"progress":0.25}\n{"progress":0.5}\n{"success":true,"data":7}\n';
    expect(await asked('text/html, application/x-ndjson;q=0.9')).toEqual({
      status: 200,
      type: 'application/x-ndjson',
      text: lines,
    });
    expect(isWanted).toBe(true);
    expect(await asked('application/json')).toMatchObject({ status: 200, text: '{"success":true,"data":7}' });
    expect(isWanted).toBe(false);
  });

  test('a refusal before the first line has its status; after it, its envelope is the last line', async () => {
    await started(async () => {
      throw new Fault('backtest-busy', 'two are running');
    });
    const early = await asked('application/x-ndjson');
    expect([early.status, early.type]).toEqual([429, 'application/json; charset=utf-8']);
    await gateway?.server.close();

    await started(async ({ progress }) => {
      progress?.(0.1);
      throw new Fault('too-many-evaluations', 'too many');
    });
    const late = await asked('application/x-ndjson');
    expect(late.status).toBe(200);
    expect(JSON.parse(late.text.split('\n')[1] ?? '')).toMatchObject({ error: { code: 'too-many-evaluations' } });
  });

  test('the client reports it, and refuses with the error of the last line', async () => {
    await started(async ({ progress }) => {
      progress?.(0.1);
      progress?.(0.9);
      throw new Fault('too-many-evaluations', 'too many', { details: { evaluations_max: 1 } });
    });
    const client = createClient({ baseUrl: gateway?.base ?? '', token: () => 'ada' });
    const shares: number[] = [];
    const call = client.call(descriptor, { params: { id: 1 }, body, onProgress: (share) => shares.push(share) });
    await expect(call).rejects.toMatchObject({ code: 'too-many-evaluations', details: { evaluations_max: 1 } });
    expect(shares).toEqual([0.1, 0.9]);
  });
});
