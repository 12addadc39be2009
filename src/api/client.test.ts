import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { startTestGateway, type TestGateway, testSubject } from '../testing/test-gateway.ts';
import { automation } from './automation.ts';
import type { BoundCapability, CallContext, Capability } from './capability.ts';
import { ApiError, createClient } from './client.ts';
import { dataProcessing } from './processing-capabilities.ts';

const subjects = { ada: testSubject('ada', ['automation.read', 'automation.rule.manage', 'data_processing.read']) };
const resource = () => ({ kind: 'automation-rule', id: 'automation-rule:1' });

let gateway: TestGateway | undefined;
let raw: Server | undefined;
afterEach(async () => {
  await gateway?.server.close();
  gateway = undefined;
  raw?.closeAllConnections();
  raw?.close();
  raw = undefined;
});

/** A gateway whose only operation records the call and answers `data`. */
async function serving(descriptor: Capability, answer: (context: CallContext) => unknown) {
  const calls: CallContext[] = [];
  const bound: BoundCapability = {
    descriptor,
    resource,
    async handler(context) {
      calls.push(context);
      return { data: answer(context), headers: { etag: '"7"' } };
    },
  };
  gateway = await startTestGateway([bound], { subjects });
  return { calls, client: createClient({ baseUrl: gateway.base, token: () => 'ada' }) };
}

/** A server that gives every request the same answer. */
async function saying(status: number, text: string, headers: Record<string, string> = {}): Promise<string> {
  raw = createServer((_request, response) => response.writeHead(status, headers).end(text));
  await new Promise<void>((resolve) => raw?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(raw.address() as AddressInfo).port}`;
}

async function failureOf(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw new Error(`an ApiError was expected, not ${String(error)}`);
}

describe('[platform §3] a call by its descriptor', () => {
  test('a confirmed command carries path, both confirmations and the expected revision', async () => {
    const { calls, client } = await serving(automation.update, () => ({
      success: true,
      data: { id: 3, status: 'updated', warnings: [] },
    }));
    const reply = await client.call(automation.update, {
      params: { id: '3' },
      body: { name: 'Peak shaving' },
      confirmed: true,
      expectedRevision: 6,
      correlationId: 'console-0001',
    });
    expect(reply).toEqual({
      data: { success: true, data: { id: 3, status: 'updated', warnings: [] } },
      status: 200,
      correlationId: 'console-0001',
      revision: 7,
      audit: 'recorded',
      receipt: { sequence: '1', hash: 'ab'.repeat(32) },
    });
    expect(calls[0]).toMatchObject({
      params: { id: '3' },
      body: { name: 'Peak shaving', confirmed: true },
      ifMatch: '6',
    });
  });

  test('an unconfirmed command is sent unconfirmed, and refused with both particulars', async () => {
    const { calls, client } = await serving(automation.enable, () => ({}));
    const error = await failureOf(client.call(automation.enable, { params: { id: '3' } }));
    expect([error.code, error.status, error.retryable]).toEqual(['confirmation-required', 428, false]);
    expect(error.correlationId).toMatch(/^[0-9a-f-]{36}$/);
    expect(calls).toEqual([]);
  });

  test('where the header alone confirms, no body is made up', async () => {
    const { calls, client } = await serving(automation.reload, () => ({
      success: true,
      data: { rules_loaded: 2, rules_failed: [] },
    }));
    await client.call(automation.reload, { confirmed: true });
    expect(calls[0]?.body).toBeUndefined();
  });

  test('a DELETE confirms in its body', async () => {
    const { calls, client } = await serving(automation.remove, () => ({
      success: true,
      data: { id: 3, status: 'deleted' },
    }));
    await client.call(automation.remove, { params: { id: '3' }, confirmed: true });
    expect(calls[0]?.body).toEqual({ confirmed: true });
  });

  test('query values are encoded, absent ones left out', async () => {
    const { calls, client } = await serving(automation.list, () => ({
      success: true,
      data: { list: [], total: 0, page: 1, page_size: 20, total_pages: 0, has_next: false, has_previous: false },
    }));
    await client.call(automation.list, { query: { search: 'a&b=c %', page: '2' } });
    expect(calls[0]?.query).toEqual({ search: 'a&b=c %', page: '2' });
  });

  test.each([
    ['..', 'id must not be empty, "." or ".."'],
    ['.', 'id must not be empty, "." or ".."'],
    ['', 'id must not be empty, "." or ".."'],
    ['\ud800', 'id must be well-formed Unicode'],
  ])('a path parameter %j would lead elsewhere: nothing is sent', async (id, message) => {
    const { calls, client } = await serving(automation.remove, () => ({ success: true }));
    const refused = await failureOf(client.call(automation.remove, { params: { id }, confirmed: true }));
    expect(refused).toMatchObject({ code: 'invalid-input', message, status: null });
    expect(calls).toEqual([]);
  });

  test('a query value that has no form in a URL is refused, not replaced', async () => {
    const { calls, client } = await serving(automation.list, () => ({}));
    const refused = await failureOf(client.call(automation.list, { query: { search: '\udc00' } }));
    expect(refused.message).toBe('search must be well-formed Unicode');
    expect(calls).toEqual([]);
  });

  test('a path parameter may have an underscore in its name', async () => {
    const { calls, client } = await serving(dataProcessing.result, () => ({}));
    const result_id = '0190aee6-2139-7a87-8448-806f1b843201';
    // This answer is not a stored result.
    await failureOf(client.call(dataProcessing.result, { params: { result_id } }));
    expect(calls[0]?.params).toEqual({ result_id });
  });
});

describe('[platform §2.1] every failure is one typed error', () => {
  test('a refusal has code, message, correlation id, details and retry time', async () => {
    const { client } = await serving(automation.get, () => {
      throw new Fault('engine-unavailable', 'the engine starts', { retryAfterMs: 250, details: { rule: 3 } });
    });
    const error = await failureOf(client.call(automation.get, { params: { id: '3' }, correlationId: 'console-0002' }));
    expect(Object.fromEntries(Object.entries(error))).toEqual({
      name: 'ApiError',
      code: 'engine-unavailable',
      status: 503,
      correlationId: 'console-0002',
      retryable: true,
      retryAfterMs: 250,
      details: { rule: 3 },
    });
    expect(error.message).toBe('the engine starts');
  });

  test('a closed port is unreachable, and retryable', async () => {
    const base = await saying(200, '');
    raw?.close();
    const client = createClient({ baseUrl: base, token: () => null });
    const error = await failureOf(client.call(automation.list));
    expect([error.code, error.status, error.retryable]).toEqual(['unreachable', null, true]);
  });

  test('a call without an answer ends at its deadline', async () => {
    raw = createServer(() => undefined);
    await new Promise<void>((resolve) => raw?.listen(0, '127.0.0.1', resolve));
    const { port } = raw.address() as AddressInfo;
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, token: () => null, deadlineMs: 20 });
    const error = await failureOf(client.call(automation.list));
    expect([error.code, error.status]).toEqual(['no-answer-in-time', null]);
  });

  test('a call without its path parameter is a bug of the caller, not a service that is down', async () => {
    const client = createClient({ baseUrl: await saying(200, '{}'), token: () => null });
    await expect(client.call(automation.get)).rejects.toThrow('needs the path parameter id');
  });

  test('a caller that gives up sees its own reason', async () => {
    const base = await saying(200, '{}');
    const client = createClient({ baseUrl: base, token: () => null });
    const signal = AbortSignal.abort(new Error('the page was left'));
    await expect(client.call(automation.list, { signal })).rejects.toThrow('the page was left');
  });

  test.each([
    ['a page of something else', 200, '<html></html>'],
    ['an answer without its members', 200, '{"success":true,"data":{}}'],
  ])('%s is not taken for the answer', async (_what, status, text) => {
    const client = createClient({ baseUrl: await saying(status, text), token: () => null });
    expect((await failureOf(client.call(automation.list))).code).toBe('unexpected-answer');
  });

  test('a proxy without our envelope is retryable if it reports an unreachable backend', async () => {
    const client = createClient({ baseUrl: await saying(502, 'Bad Gateway'), token: () => null });
    const error = await failureOf(client.call(automation.list));
    expect([error.code, error.status, error.retryable]).toEqual(['unexpected-answer', 502, true]);
  });
});
