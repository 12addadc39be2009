/** The end of the process [platform §1.3]: SIGTERM drains and exits within 10 s, and leaves tidy files. */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { startGate } from '../../src/testing/gate.ts';
import { afterThisTest, folders, start, storedOn } from './per-test.ts';
import { editorFlow, runCommand, serviceEnvironment, type TestService } from './running-service.ts';
import { rulesRun } from './storage-on.ts';

/** Begins a PUT and sends its body a byte at a time, without ever finishing. */
async function drip(service: TestService, token: string, path: string) {
  const { port } = new URL(service.base);
  const socket = connect(Number(port), '127.0.0.1');
  let closed = false;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closed = true;
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  const head = [
    `PUT ${path} HTTP/1.1`,
    'host: x',
    `authorization: Bearer ${token}`,
    'x-svc-confirmed: true',
    'content-type: application/json',
    'content-length: 100000',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n{`);
  const timer = setInterval(() => socket.write(' '), 20);
  afterThisTest(() => {
    clearInterval(timer);
    socket.destroy();
  });
  return { isClosed: () => closed };
}

describe('[platform §1.3] SIGTERM drains and exits within 10 s', () => {
  test('a body that never ends does not hold it up, and other requests are answered', async () => {
    const of = folders();
    const service = await start(of);
    const token = await service.token('Engineer');
    const path = '/api/v1/automation/api/rules';
    const id = Number((await service.command('POST', '/rules', { name: 'kept' })).body['data']?.['id']);
    const dripping = await drip(service, token, `${path}/${id}`);

    // A second request has begun when the signal comes, and completes during the drain.
    const body = JSON.stringify({ confirmed: true, flow_json: editorFlow() });
    const socket = connect(Number(new URL(service.base).port), '127.0.0.1');
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(
      `PUT ${path}/${id} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nx-svc-confirmed: true\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body.slice(0, 10)}`,
    );
    // Answered after the two above were accepted and read, a few turns later: the signal finds them in flight.
    for (let turn = 0; turn < 5; turn++) await service.request('GET', '/health');
    const begun = Date.now();
    const exit = service.stop('SIGTERM');
    await expect.poll(() => service.logs()).toContain('"stopping"');
    socket.write(body.slice(10));
    await ended;
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(received).toMatch(/x-svc-audit: recorded/i);
    expect(dripping.isClosed()).toBe(false);

    expect(await exit).toBe(0);
    const tookMs = Date.now() - begun;
    expect(tookMs).toBeGreaterThan(4000);
    expect(tookMs).toBeLessThan(10_000);
    const next = await start(of);
    expect((await next.read(`/rules/${id}`)).body['data']).toMatchObject({ name: 'kept', flow_json: editorFlow() });
  });

  test('a WebSocket client that ignores the closing handshake does not hold it', async () => {
    const service = await start(folders());
    const socket = connect(Number(new URL(service.base).port), '127.0.0.1');
    afterThisTest(() => socket.destroy());
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(
      'GET /ws HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await new Promise((resolve) => socket.once('data', resolve));
    const begun = Date.now();
    expect(await service.stop('SIGTERM')).toBe(0);
    expect(Date.now() - begun).toBeLessThan(10_000);
  });

  test('a database server that does not answer any more does not hold it up', async () => {
    const { of, storage } = await storedOn('postgres');
    const between = await startGate(
      Number(new URL(storage.env['SVC_DATABASE_URL'] ?? '').port),
      storage.env['SVC_DATABASE_URL'] ?? '',
    );
    afterThisTest(() => between.close());
    const service = await start(of, { ...storage.env, SVC_DATABASE_URL: between.url });
    await rulesRun(service);
    between.gate.shut();
    const begun = Date.now();
    const exit = await service.stop('SIGTERM');
    expect([0, 1]).toContain(exit);
    expect(Date.now() - begun).toBeLessThan(10_000);
    expect(service.logs()).toContain('"stopping"');
  });

  test('a clean stop leaves no write-ahead log, whether history was read or not', async () => {
    const of = folders();
    for (const asks of [false, true]) {
      const service = await start(of);
      if (asks) {
        const id = Number((await service.command('POST', '/rules', { name: 'asked' })).body['data']?.['id']);
        expect((await service.read(`/rules/${id}/history`)).status).toBe(200);
      }
      expect(await service.stop('SIGTERM')).toBe(0);
      expect(readdirSync(of.data).filter((name) => /-(wal|shm|journal)$/.test(name))).toEqual([]);
    }
  });
});

describe('[platform §2.4] a start that cannot be: HTTP limits', () => {
  test('an invalid address in trusted_proxies is one clear line', async () => {
    const of = folders();
    of.write('service.yaml', 'http:\n  trusted_proxies: [not-an-address]\n');
    const result = runCommand('serve', [], serviceEnvironment(of));
    expect([result.status, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toMatch(/^setpoint: service\.yaml: http\.trusted_proxies: .*not-an-address\n$/);
  });
});

describe('[rules §8] /ws over HTTP', () => {
  test('without an upgrade, with a bad handshake or with a token in its address it is refused in the envelope', async () => {
    const service = await start(folders());
    const plain = await service.request('GET', '/ws');
    expect([plain.status, plain.body['error']?.['code']]).toEqual([404, 'not-found']);
    const handshake = (path: string, version: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(Number(new URL(service.base).port), '127.0.0.1');
        let received = '';
        socket.on('data', (data) => (received += data.toString()));
        socket.on('close', () => resolve(received));
        socket.on('error', () => undefined);
        socket.write(
          `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: ${version}\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
        );
      });
    expect(await handshake('/ws', '99')).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid-input"/s);
    expect(await handshake('/ws?token=secret', '13')).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid-input"/s);
    expect(await handshake('/none', '13')).toMatch(/^HTTP\/1\.1 404 .*"code":"not-found"/s);
    const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
    await new Promise((resolve) => socket.once('open', resolve));
    socket.close();
  });

  test('a client that floods it with messages, or with pings before authentication, is disconnected', async () => {
    const own = folders();
    own.write('service.yaml', 'automation: { stream_clients: 1 }\n');
    const service = await start(own);
    const opened = async (): Promise<{ socket: WebSocket; ended: Promise<string> }> => {
      const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
      const ended = new Promise<string>((resolve) =>
        socket.once('close', (code, reason) => resolve(`${code} ${reason.toString()}`)),
      );
      await new Promise((resolve) => socket.once('open', resolve));
      return { socket, ended };
    };
    const stranger = await opened();
    // The client that never signed in came first, and takes no place of `stream_clients`.
    const reader = await opened();
    reader.socket.send(JSON.stringify({ type: 'authenticate', token: await service.token('Viewer') }));
    await new Promise((resolve) => reader.socket.once('message', resolve));
    const subscription = JSON.stringify({ type: 'subscribe', data: { source: 'rule', channels: [1] } });
    for (let count = 0; count < 100; count++) reader.socket.send(subscription);
    for (let count = 0; count < 100; count++) stranger.socket.ping();
    expect(await Promise.all([reader.ended, stranger.ended])).toEqual(
      Array.from({ length: 2 }, () => '1008 more than 50 messages a second'),
    );
  });
});
