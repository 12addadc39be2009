/** The end of the server [platform §1.3]: requests in flight are completed, those that never would be are cut. */
import { connect, type Socket } from 'node:net';
import Type from 'typebox';
import { Value } from 'typebox/value';
import { afterEach, describe, expect, test } from 'vitest';
import { sendRaw, startTestGateway, type TestGateway, testCapability } from '../testing/test-gateway.ts';
import { gatewayLimits, gatewayLimitsSchema } from './limits.ts';

const none = Type.Object({}, { additionalProperties: false });

test('[platform §1.3] a drain takes 5 s unless configured, and 8 s at most, so that a stop ends within 10', () => {
  expect(gatewayLimits.drain_timeout_ms).toBe(5000);
  const accepts = (drain_timeout_ms: number): boolean =>
    Value.Check(gatewayLimitsSchema, { ...gatewayLimits, drain_timeout_ms });
  expect([0, 8000].map(accepts)).toEqual([true, true]);
  expect([-1, 8001].map(accepts)).toEqual([false, false]);
});

describe('[platform §1.3] SIGTERM drains', () => {
  let gateway: TestGateway;
  let release: () => void;
  let entered: Promise<void>;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    release();
    await gateway.server.close();
  });

  const start = async (drain_timeout_ms: number): Promise<void> => {
    const gate = new Promise<void>((resolve) => (release = resolve));
    let enter = (): void => undefined;
    entered = new Promise((resolve) => (enter = resolve));
    const held = testCapability({ method: 'GET', path: '/held', params: none, query: none }, async () => {
      enter();
      await gate;
      return { data: { success: true } };
    });
    const take = testCapability({
      method: 'POST',
      path: '/take',
      params: none,
      query: none,
      body: Type.Object({}),
    });
    gateway = await startTestGateway([held, take], { limits: { drain_timeout_ms } });
  };
  const opened = async (text: string): Promise<{ socket: Socket; received: () => string; closed: Promise<void> }> => {
    const socket = connect(gateway.port, '127.0.0.1');
    sockets.push(socket);
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    await new Promise((resolve) => socket.once('connect', resolve));
    if (text !== '') await new Promise<void>((resolve) => void socket.write(text, () => resolve()));
    return { socket, received: () => received, closed };
  };
  const elapsedMs = async (work: Promise<unknown>): Promise<number> => {
    const began = performance.now();
    await work;
    return performance.now() - began;
  };

  test('a request in flight is answered, and the server is closed as soon as it is', async () => {
    await start(60_000);
    const held = sendRaw(gateway.port, 'GET /held HTTP/1.1\r\nhost: x\r\n\r\n');
    await entered;
    const closing = gateway.server.close();
    await expect(fetch(`${gateway.base}/held`)).rejects.toThrow();
    release();
    expect(await held).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
    expect(await elapsedMs(closing)).toBeLessThan(5000);
  });

  test('a request that had begun to arrive is answered like any other', async () => {
    await start(60_000);
    const arriving = await opened('POST /take HTTP/1.1\r\nhost: x\r\n');
    // Answered after the one above was accepted: the server has read the beginning of that one.
    expect((await fetch(`${gateway.base}/take`, { method: 'POST' })).status).toBe(400);
    const closing = gateway.server.close();
    arriving.socket.write('content-type: application/json\r\ncontent-length: 2\r\n\r\n{}');
    await arriving.closed;
    expect(arriving.received()).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
    await closing;
  });

  test('idle connections, and those that never said anything, do not hold the drain', async () => {
    await start(60_000);
    const idle = await opened(
      'POST /take HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
    );
    await expect.poll(idle.received).toContain('success');
    const silent = await opened('');
    expect(await elapsedMs(gateway.server.close())).toBeLessThan(5000);
    await Promise.all([idle.closed, silent.closed]);
  });

  test('a request that never ends is cut after drain_timeout_ms, not before', async () => {
    await start(300);
    const dripping = await opened(
      'POST /take HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );
    const headless = await opened('GET /held HT');
    const hanging = await opened('GET /held HTTP/1.1\r\nhost: x\r\n\r\n');
    await entered;
    const tookMs = await elapsedMs(gateway.server.close());
    expect(tookMs).toBeGreaterThan(250);
    expect(tookMs).toBeLessThan(5000);
    await Promise.all([dripping.closed, headless.closed, hanging.closed]);
    expect(dripping.received()).toBe('');
  });
});
