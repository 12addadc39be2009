/** Requests that a server has not answered yet, counted from the messages on its transport [platform §8]. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { watchRequests } from './open-requests.ts';

const deadlineMs = 1000;

function watched() {
  const received: JSONRPCMessage[] = [];
  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: () => Promise.resolve(),
    onmessage: (message) => void received.push(message),
  };
  const clock = simulatedClock();
  const requests = watchRequests(transport, clock);
  return {
    clock,
    received,
    transport,
    ask: (id: number) => transport.onmessage?.({ jsonrpc: '2.0', id, method: 'tools/call' }),
    answer: (id: number) => transport.send({ jsonrpc: '2.0', id, result: {} }),
    /** Whether the wait has ended. */
    async waiting() {
      let over = false;
      const ended = requests.answered(deadlineMs).then(() => (over = true));
      await Promise.resolve();
      return { ended, isOver: () => over };
    },
  };
}

test('[platform §8] nothing was asked, or all of it answered: no wait', async () => {
  const { ask, answer, waiting, clock, received } = watched();
  await (await waiting()).ended;
  ask(1);
  await answer(1);
  await (await waiting()).ended;
  expect([received.length, clock.pendingCount()]).toEqual([1, 0]);
});

test('[platform §8] the last of several answers ends the wait, an error or a cancelled request too', async () => {
  const { ask, answer, waiting, transport, clock } = watched();
  for (const id of [1, 2, 3]) ask(id);
  const { ended, isOver } = await waiting();
  await answer(2);
  await transport.send({ jsonrpc: '2.0', id: 1, error: { code: -32_602, message: 'no' } });
  expect(isOver()).toBe(false);
  transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } });
  await ended;
  expect(clock.pendingCount()).toBe(0);
  // Another request starts the wait again.
  ask(4);
  const again = await waiting();
  expect(again.isOver()).toBe(false);
  await answer(4);
  await again.ended;
});

test('[platform §8] a missing answer is waited for until the deadline', async () => {
  const { ask, waiting, clock } = watched();
  ask(1);
  const { ended, isOver } = await waiting();
  clock.advance(deadlineMs - 1);
  await Promise.resolve();
  expect(isOver()).toBe(false);
  clock.advance(1);
  await ended;
});
