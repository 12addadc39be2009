/** How a person is asked about a change [platform §8], over the library's in-memory transport. */
import { Client as Assistant } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { ElicitRequestSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError, type Client } from '../api/client.ts';
import { createToolServer } from './server.ts';

const create = { name: 'automation_rule_create', arguments: { name: 'asked for', confirmed: true } };
const minutes = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An assistant whose client answers questions with `person`; `made` lists the operations that were called. */
async function connected(elicitation: Record<string, object>, person: () => Promise<ElicitResult>) {
  const made: string[] = [];
  const client: Client = {
    call({ name }) {
      made.push(name);
      const parts = { code: 'reached', message: 'the service was called', status: 500, correlationId: null };
      return Promise.reject(new ApiError({ ...parts, retryable: false, retryAfterMs: null, details: {} }));
    },
  };
  const assistant = new Assistant({ name: 'test', version: '1' }, { capabilities: { elicitation } });
  assistant.setRequestHandler(ElicitRequestSchema, person);
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createToolServer({ client, allowWrite: true, version: '1' }).connect(far);
  await assistant.connect(near);
  const call = async (): Promise<string> => {
    const { content } = await assistant.callTool(create, undefined, { timeout: 10 * minutes });
    return JSON.stringify(content);
  };
  return { call, made };
}

test('[platform §8] the person has five minutes to answer; a later answer changes nothing', async () => {
  let agree: (answer: ElicitResult) => void = () => undefined;
  const { call, made } = await connected({ form: {} }, () => new Promise((resolve) => (agree = resolve)));
  const slow = call();
  await vi.advanceTimersByTimeAsync(5 * minutes - 1);
  agree({ action: 'accept', content: { agreed: true } });
  expect(await slow).toContain('the service was called');
  const late = call();
  await vi.advanceTimersByTimeAsync(5 * minutes);
  expect(await late).toContain('nothing was done: the person did not answer within 5 minutes');
  agree({ action: 'accept', content: { agreed: true } });
  await vi.advanceTimersByTimeAsync(minutes);
  expect(made).toEqual(['automation.rule.create']);
});

test('[platform §8] an invalid answer and a failing client change nothing, and the reason is reported', async () => {
  const odd = await connected({ form: {} }, () => Promise.resolve({ action: 'accept', content: {} }));
  expect(await odd.call()).toContain('nothing was done: the person could not be asked: ');
  const broken = await connected({ form: {} }, () => Promise.reject(new Error('no window')));
  expect(await broken.call()).toContain('no window');
  expect([...odd.made, ...broken.made]).toEqual([]);
});

test('[platform §8] a client that supports URL elicitation only is not asked; its confirmation counts', async () => {
  const { call, made } = await connected({ url: {} }, () => Promise.reject(new Error('must not be asked')));
  expect(await call()).toContain('the service was called');
  expect(made).toEqual(['automation.rule.create']);
});
