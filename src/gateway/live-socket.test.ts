/** The live stream's socket, with the WebSocket client of the platform. */
import { expect, onTestFinished, test } from 'vitest';
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
