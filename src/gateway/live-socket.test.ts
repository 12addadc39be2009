/** The live stream's socket, with the WebSocket client of the platform. */
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket as WebSocketClient } from 'ws';
import type { StreamSocket } from '../api/live-stream.ts';
import { silentLog } from '../base/log.ts';
import { startTestGateway } from '../testing/test-gateway.ts';
import { gatewayLimits } from './limits.ts';
import { addLiveSocket } from './live-socket.ts';
import { createRateLimits } from './rate-limit.ts';

test('stream_message_bytes, at its edge: a message of so many bytes arrives, a longer one ends the connection', async () => {
  const messageBytesMax = 256;
  const heard: (string | null)[] = [];
  const stream = { connect: (socket: StreamSocket) => socket.onMessage((text) => void heard.push(text)) };
  const rateLimits = createRateLimits(gatewayLimits);
  const { server, port } = await startTestGateway([], {
    before: (made) => addLiveSocket(made, { stream, rateLimits, log: silentLog, messageBytesMax }),
  });
  onTestFinished(() => server.close());
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  const longest = 'ä'.repeat(messageBytesMax / 2);
  socket.send(longest);
  await expect.poll(() => heard).toEqual([longest]);
  socket.send(`${longest}.`);
  // 1009: message too big.
  expect(await closed).toBe(1009);
  expect(heard).toEqual([longest]);
});

test('a ping reaches the client, whose pong arrives by itself', async () => {
  let pongs = 0;
  let ping = (): void => undefined;
  const stream = {
    connect(socket: StreamSocket): void {
      socket.onPong(() => pongs++);
      ping = () => socket.ping();
    },
  };
  const { server, port } = await startTestGateway([], {
    before: (made) =>
      addLiveSocket(made, {
        stream,
        rateLimits: createRateLimits(gatewayLimits),
        log: silentLog,
        messageBytesMax: 256,
      }),
  });
  onTestFinished(() => server.close());
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  ping();
  await expect.poll(() => pongs).toBe(1);
  socket.close();
});

test.each([
  ['the host that the page is from', [], {}, true],
  ['another host', [], { host: 'internal:8080' }, false],
  [
    'another host, by a proxy that is not trusted',
    [],
    { host: 'internal:8080', 'x-forwarded-host': 'plant.example' },
    false,
  ],
  [
    'another host, by a trusted proxy',
    ['127.0.0.1'],
    { host: 'internal:8080', 'x-forwarded-host': 'plant.example' },
    true,
  ],
] as const)('[identity §7.1] a session counts for a request for %s', async (_for, proxies, headers, isOwn) => {
  const lines: string[] = [];
  const connected = Promise.withResolvers<StreamSocket>();
  const { server, port } = await startTestGateway([], {
    limits: { ...gatewayLimits, trusted_proxies: [...proxies] },
    before: (made) =>
      addLiveSocket(made, {
        stream: { connect: connected.resolve },
        rateLimits: createRateLimits(gatewayLimits),
        log: { ...silentLog, warn: (message, fields) => void lines.push(`${message}: ${String(fields?.['reason'])}`) },
        messageBytesMax: 256,
      }),
  });
  onTestFinished(() => server.close());
  const socket = new WebSocketClient(`ws://127.0.0.1:${port}/ws`, {
    headers: {
      host: 'plant.example',
      origin: 'https://plant.example',
      cookie: '__Host-setpoint-session=v',
      ...headers,
    },
  });
  await once(socket, 'open');
  socket.close();
  const { session, isForeign } = await connected.promise;
  expect({ session, isForeign }).toEqual({ session: isOwn ? 'v' : null, isForeign: !isOwn });
  expect(lines).toEqual(
    isOwn
      ? []
      : [expect.stringContaining('the page is from https://plant.example, but the request is for internal:8080')],
  );
});
