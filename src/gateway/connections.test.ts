/** Connections per address. All clients of a test are on this machine, so their sockets are given the addresses of others. */
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { trackConnections } from './connections.ts';
import { gatewayLimits } from './limits.ts';

/** Connections that a server accepted, each as if it came from an address. */
async function tracked(limits: Partial<typeof gatewayLimits>) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clients: Socket[] = [];
  onTestFinished(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  const http = new EventEmitter();
  trackConnections(http as never, systemClock, { ...gatewayLimits, ...limits }, (address) => address === '192.0.2.9');
  return async (address: string): Promise<Socket> => {
    const accepted = once(server, 'connection');
    clients.push(connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined));
    const [socket] = (await accepted) as [Socket];
    Object.defineProperty(socket, 'remoteAddress', { value: address });
    http.emit('connection', socket);
    return socket;
  };
}

test('[platform §2.4] connections_per_address, at its edge: one more is closed at once; it fits when another one ends', async () => {
  const from = await tracked({ connections_per_address: 2 });
  const [first, second] = [await from('192.0.2.1'), await from('192.0.2.1')];
  expect((await from('192.0.2.1')).destroyed).toBe(true);
  expect([first.destroyed, second.destroyed, (await from('192.0.2.2')).destroyed]).toEqual([false, false, false]);
  first.destroy();
  await once(first, 'close');
  expect((await from('192.0.2.1')).destroyed).toBe(false);
});

test('[platform §2.4] the addresses of one IPv6 /64 count as one; a trusted proxy is exempt', async () => {
  const from = await tracked({ connections_per_address: 1 });
  expect((await from('2001:db8:0:1::5')).destroyed).toBe(false);
  expect((await from('2001:db8:0:1:ffff::9')).destroyed).toBe(true);
  expect((await from('2001:db8:0:2::5')).destroyed).toBe(false);
  for (let count = 0; count < 3; count++) expect((await from('192.0.2.9')).destroyed).toBe(false);
});
