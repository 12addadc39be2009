/** Clients that close the connection before the answer [platform §3]. */
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { automation } from '../api/automation.ts';
import type { HandledCapability } from '../api/capability.ts';
import { startTestGateway, type TestGateway, testSubject } from '../testing/test-gateway.ts';

let gateway: TestGateway | undefined;
afterEach(async () => {
  await gateway?.server.close();
});

const subjects = { ada: testSubject('ada', ['automation.read']) };
const path = '/api/v1/automation/api/scheduler/status';

test('[platform §3] a handler sees that its caller hung up before the answer', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<AbortSignal>();
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  const slow: HandledCapability = {
    descriptor: automation.schedulerStatus,
    resource: () => ({ kind: 'x', id: 'x' }),
    async handler({ gone }) {
      const signal = gone?.() ?? new AbortController().signal;
      begin(signal);
      await done;
      return { data: {} };
    },
  };
  gateway = await startTestGateway([slow], { subjects });
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ada\r\n\r\n`);
  const signal = await begun;
  expect(signal.aborted).toBe(false);
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
  socket.destroy();
  await aborted;
  finish();
});

test('[platform §3] the end of a connection after the answer is not a hang-up', async () => {
  let seen: AbortSignal | undefined;
  const quick: HandledCapability = {
    descriptor: automation.schedulerStatus,
    resource: () => ({ kind: 'x', id: 'x' }),
    async handler({ gone }) {
      seen = gone?.();
      return { data: {} };
    },
  };
  gateway = await startTestGateway([quick], { subjects });
  const answer = await fetch(`${gateway.base}${path}`, {
    headers: { authorization: 'Bearer ada', connection: 'close' },
  });
  await answer.text();
  await gateway.server.close();
  expect(seen?.aborted).toBe(false);
});
