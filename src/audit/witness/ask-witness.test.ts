/** One request to a witness [audit §9.6], and every answer that it may give. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { witnessAsker } from './ask-witness.ts';

describe('asking a witness', () => {
  let server: Server;
  let asked: { path: string | undefined; body: string }[];
  let answer: (response: ServerResponse) => void;
  beforeEach(async () => {
    asked = [];
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        asked.push({ path: request.url, body });
        answer(response);
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const ask = (path = '/', timeoutMs = 5000) => {
    const { port } = server.address() as AddressInfo;
    return witnessAsker(systemClock, timeoutMs)(new URL(`http://127.0.0.1:${port}${path}`), 'old 0\n\nnote');
  };

  test('[audit §9.6] posts to add-checkpoint behind the prefix, and reads the cosignatures', async () => {
    answer = (response) => response.end('— a YWFhYWFh\n— b YmJiYmJi\n');
    expect(await ask('/prefix/')).toEqual({ kind: 'cosigned', lines: ['— a YWFhYWFh', '— b YmJiYmJi'] });
    expect(asked).toEqual([{ path: '/prefix/add-checkpoint', body: 'old 0\n\nnote' }]);
  });

  test.each<[string, (response: ServerResponse) => void, object]>([
    [
      'another size',
      (response) => response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('17\n'),
      { kind: 'other-size', size: 17 },
    ],
    [
      'a 409 that names no size',
      (response) => response.writeHead(409).end('17\n'),
      { kind: 'failed', reason: 'status 409' },
    ],
    ['a refused proof', (response) => response.writeHead(422).end(), { kind: 'refused' }],
    ['an unknown log', (response) => response.writeHead(404).end(), { kind: 'failed', reason: 'status 404' }],
    ['16 kB', (response) => response.end('x'.repeat(16_384)), { kind: 'cosigned' }],
    [
      'one byte more',
      (response) => response.end('x'.repeat(16_385)),
      { kind: 'failed', reason: 'the answer is too large' },
    ],
    ['no answer', (response) => response.destroy(), { kind: 'failed', reason: 'the connection ended: socket hang up' }],
  ])('[audit §9.6] %s', async (_what, given, expected) => {
    answer = given;
    expect(await ask()).toMatchObject(expected);
  });

  test('[audit §9.6] a request to a silent witness ends after witness_timeout_ms', async () => {
    answer = () => undefined;
    expect(await ask('/', 100)).toEqual({ kind: 'failed', reason: 'no answer in time' });
  });
});
