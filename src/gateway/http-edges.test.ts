/** The edges of HTTP [platform §2]: one envelope for every failure, correlation, security headers, header and body limits. */
import { connect, type Socket } from 'node:net';
import Type from 'typebox';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BoundCapability, Capability } from '../api/capability.ts';
import { faultKinds } from '../base/fault.ts';
import { sendRaw, startTestGateway, type TestGateway, testCapability, testSubject } from '../testing/test-gateway.ts';
import { type GatewayLimits, gatewayLimits } from './limits.ts';

const none = Type.Object({}, { additionalProperties: false });
const look = testCapability({ method: 'GET', path: '/look', params: none, query: none, permission: 'automation.read' });
const open = testCapability({ method: 'GET', path: '/open', params: none, query: none });
const change = testCapability({
  name: 'test.change',
  method: 'POST',
  path: '/change',
  params: none,
  query: none,
  kind: 'command',
  permission: 'automation.rule.manage',
  confirmation: 'always',
  audit: 'required',
  body: Type.Object({ confirmed: Type.Literal(true) }, { additionalProperties: false }),
  confirmedIn: 'body',
});
const subjects = { engineer: testSubject('engineer', ['automation.read', 'automation.rule.manage']) };

let gateway: TestGateway;
afterEach(() => gateway.server.close());
const start = async (limits: Partial<GatewayLimits> = {}, more: readonly BoundCapability[] = []): Promise<void> => {
  gateway = await startTestGateway([look, open, change, ...more], { limits, subjects });
};

interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly error: { readonly code: string; readonly message: string; readonly correlationId: string } | undefined;
}
/** Sends one request as raw text with `connection: close`, and parses the answer. */
async function ask(...lines: readonly string[]): Promise<RawAnswer> {
  const text = await sendRaw(gateway.port, `${lines.join('\r\n')}\r\n\r\n`);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const [statusLine = '', ...headerLines] = head.split('\r\n');
  const headers = new Map(
    headerLines.map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.toLowerCase(), value.join(':').trim()];
    }),
  );
  const { error } = (body === '' ? {} : JSON.parse(body)) as Pick<RawAnswer, 'error'>;
  return { status: Number(statusLine.split(' ')[1]), headers, error };
}
const closing = 'connection: close';
const engineer = 'authorization: Bearer engineer';

function expectEnvelope(answer: RawAnswer, status: number, code: string): void {
  expect([answer.status, answer.error?.code]).toEqual([status, code]);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-correlation-id')).toBe(answer.error?.correlationId);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
}

describe('[platform §2.1] the error envelope for failures of the framework', () => {
  test.each<[string, number, string, readonly string[]]>([
    ['no HTTP at all', 400, 'invalid-input', ['GARBAGE']],
    ['an unknown version', 400, 'invalid-input', ['GET /open HTTP/9.9', 'host: x']],
    ['no Host', 400, 'invalid-input', ['GET /open HTTP/1.1', closing]],
    ['two Hosts', 400, 'invalid-input', ['GET /open HTTP/1.1', 'host: x', 'host: y', closing]],
    ['a header without a name', 400, 'invalid-input', ['GET /open HTTP/1.1', 'host: x', ': y']],
    [
      'two lengths of one body',
      400,
      'invalid-input',
      ['POST /change HTTP/1.1', 'host: x', 'content-length: 1', 'transfer-encoding: chunked'],
    ],
    ['an invalid length', 400, 'invalid-input', ['POST /change HTTP/1.1', 'host: x', 'content-length: -1']],
    ['a broken escape in the path', 400, 'invalid-input', ['GET /%zz HTTP/1.1', 'host: x', closing]],
    ['an unknown path', 404, 'not-found', ['GET /none HTTP/1.1', 'host: x', closing]],
    ['a path in another case', 404, 'not-found', ['GET /Open HTTP/1.1', 'host: x', closing]],
    ['a trailing slash', 404, 'not-found', ['GET /open/ HTTP/1.1', 'host: x', closing]],
    ['another method', 404, 'not-found', ['DELETE /open HTTP/1.1', 'host: x', closing]],
    ['OPTIONS', 404, 'not-found', ['OPTIONS /open HTTP/1.1', 'host: x', 'origin: http://evil.example', closing]],
    ['TRACE', 404, 'not-found', ['TRACE /open HTTP/1.1', 'host: x', closing]],
    ['PROPFIND', 404, 'not-found', ['PROPFIND /open HTTP/1.1', 'host: x', closing]],
    ['CONNECT', 404, 'not-found', ['CONNECT other.example:443 HTTP/1.1', 'host: x']],
    ['an expectation', 417, 'expectation-failed', ['GET /open HTTP/1.1', 'host: x', 'expect: a-miracle', closing]],
  ])('%s: %d %s', async (_what, status, code, lines) => {
    await start();
    expectEnvelope(await ask(...lines), status, code);
  });

  test.each([
    ['a public route', 200, ['/open HTTP/1.1', 'host: x', closing]],
    ['a route behind authentication', 200, ['/look HTTP/1.1', 'host: x', engineer, closing]],
    ['the same without credentials', 401, ['/look HTTP/1.1', 'host: x', closing]],
    ['a wrong query', 400, ['/look?page=1 HTTP/1.1', 'host: x', engineer, closing]],
    ['an unknown path', 404, ['/nope HTTP/1.1', 'host: x', closing]],
    ['a path without GET', 404, ['/change HTTP/1.1', 'host: x', engineer, closing]],
  ])('[platform §2.6] HEAD of %s answers %d like GET, without a body', async (_what, status, [line = '', ...more]) => {
    await start();
    const named = ({ headers }: RawAnswer) => ['content-type', 'content-length'].map((name) => headers.get(name));
    const get = await ask(`GET ${line}`, ...more);
    const head = await sendRaw(gateway.port, `${[`HEAD ${line}`, ...more].join('\r\n')}\r\n\r\n`);
    expect(head.split('\r\n\r\n')[1]).toBe('');
    const answer = await ask(`HEAD ${line}`, ...more);
    expect([get.status, answer.status]).toEqual([status, status]);
    expect(named(answer)).toEqual(named(get));
  });

  test('HTTP/1.0 without Host is answered', async () => {
    await start();
    expect((await ask('GET /open HTTP/1.0')).status).toBe(200);
  });

  test('a request that does not arrive in time: 408, and its connection is closed', async () => {
    await start({ request_timeout_ms: 100 });
    // Answered before its body arrived: cutting it afterwards sends no second answer.
    expectEnvelope(await ask('POST /change HTTP/1.1', 'host: x', 'content-length: 5'), 401, 'unauthenticated');
    const slow = await sendRaw(gateway.port, 'GET /open HTTP/1.1\r\nhost:');
    expect(slow).toMatch(/^HTTP\/1\.1 408 .*"code":"request-timeout"/s);
    const dripping = await sendRaw(
      gateway.port,
      `POST /change HTTP/1.1\r\nhost: x\r\n${engineer}\r\nx-svc-confirmed: true\r\ncontent-length: 9\r\n\r\n{`,
    );
    expect(dripping).toMatch(/^HTTP\/1\.1 408 .*"code":"request-timeout"/s);
    expect(gateway.entries).toEqual([]);
  });

  test('the first answer of a body that is too long does not wait for it', async () => {
    await start();
    const answer = await ask(
      'POST /change HTTP/1.1',
      'host: x',
      engineer,
      'x-svc-confirmed: true',
      'content-length: 9999999',
      closing,
    );
    expectEnvelope(answer, 413, 'payload-too-large');
  });

  test.each<[keyof GatewayLimits, Capability['bodyLimit']]>([
    ['rule_body_bytes', 'rule'],
    ['plan_body_bytes', 'plan'],
    ['session_body_bytes', 'session'],
    ['processing_body_bytes', 'processing'],
  ])(
    '%s, at its edge: a body of so many bytes is accepted, one more is refused with the limit',
    async (name, bodyLimit) => {
      const limited = { ...change, descriptor: { ...change.descriptor, path: '/limited', bodyLimit } };
      const most = 2000;
      await start({ [name]: most }, [limited as BoundCapability]);
      const send = (bytes: number) =>
        fetch(`${gateway.base}/limited`, {
          method: 'POST',
          headers: { authorization: 'Bearer engineer', 'x-svc-confirmed': 'true', 'content-type': 'application/json' },
          body: '{"confirmed":true}'.padEnd(bytes),
        });
      expect((await send(most)).status).toBe(200);
      const refused = await send(most + 1);
      expect([refused.status, await refused.json()]).toMatchObject([
        413,
        { error: { message: 'the body is larger than the 2000 bytes that this route accepts' } },
      ]);
    },
  );

  test('an Expect: 100-continue is met', async () => {
    await start();
    const text = await sendRaw(
      gateway.port,
      `POST /change HTTP/1.1\r\nhost: x\r\n${engineer}\r\nx-svc-confirmed: true\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 18\r\n${closing}\r\n\r\n{"confirmed":true}`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 100 .*HTTP\/1\.1 200 /s);
  });
});

describe('[platform §2.2] correlation', () => {
  const correlated = async (...ids: readonly string[]): Promise<string> => {
    const answer = await ask('GET /open HTTP/1.1', 'host: x', closing, ...ids.map((id) => `x-correlation-id: ${id}`));
    expect(answer.status).toBe(200);
    return answer.headers.get('x-correlation-id') ?? '';
  };
  const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

  test('8 to 128 of A-Za-z0-9._:- with an alphanumeric first are echoed; anything else, and two, give a UUIDv7', async () => {
    await start();
    for (const id of ['12345678', 'a._:-a._:-', 'Z'.repeat(128)]) expect(await correlated(id)).toBe(id);
    for (const id of ['1234567', 'Z'.repeat(129), '-2345678', '.2345678', 'a b c d e f', 'abcdefg/', 'abcdefgé', ''])
      expect(await correlated(id)).toMatch(uuidV7);
    expect(await correlated('12345678', '12345678')).toMatch(uuidV7);
    expect(await correlated()).toMatch(uuidV7);
  });

  test('a refusal that never reaches a route echoes it too', async () => {
    await start();
    const id = 'x-correlation-id: walk-0001';
    for (const lines of [
      ['GET /none HTTP/1.1', 'host: x', id, closing],
      ['GET /%zz HTTP/1.1', 'host: x', id, closing],
      ['GET /open HTTP/1.1', 'host: x', id, 'expect: x', closing],
      ['CONNECT x:1 HTTP/1.1', 'host: x', id],
    ])
      expect((await ask(...lines)).error?.correlationId).toBe('walk-0001');
  });
});

describe('[platform §2.3] security headers', () => {
  test('no CORS headers for any origin', async () => {
    await start();
    for (const line of ['GET /open HTTP/1.1', 'OPTIONS /change HTTP/1.1']) {
      const preflight = ['access-control-request-method: POST', 'access-control-request-headers: authorization'];
      const answer = await ask(line, 'host: x', 'origin: http://evil.example', ...preflight, closing);
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  describe('with http.cors_origins', () => {
    const page = 'origin: https://dashboard.example';
    const asked = ['access-control-request-method: POST', 'access-control-request-headers: authorization'];
    const corsOf = ({ headers }: RawAnswer) =>
      Object.fromEntries([...headers].filter(([name]) => /^(access-control-|vary)/.test(name)));
    beforeEach(() => start({ cors_origins: ['https://dashboard.example'] }));

    test('a page of a listed origin may ask, send a bearer token and read the answer; a cookie is never allowed', async () => {
      const preflight = await ask('OPTIONS /change HTTP/1.1', 'host: x', page, ...asked, closing);
      expect([preflight.status, corsOf(preflight)]).toEqual([
        204,
        {
          vary: 'Origin',
          'access-control-allow-origin': 'https://dashboard.example',
          'access-control-allow-methods': 'GET, POST, PUT, DELETE',
          'access-control-allow-headers': expect.stringMatching(/\bauthorization\b.*\bx-svc-confirmed\b/),
          'access-control-expose-headers': expect.stringMatching(/\betag\b.*\bx-svc-audit\b/),
          'access-control-max-age': '600',
        },
      ]);
      for (const [status, ...lines] of [
        [200, 'GET /look HTTP/1.1', engineer],
        [401, 'GET /look HTTP/1.1'],
        [404, 'GET /nope HTTP/1.1'],
        [404, 'OPTIONS /change HTTP/1.1'],
      ] as const) {
        const answer = await ask(...lines, 'host: x', page, closing);
        expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
          status,
          'https://dashboard.example',
        ]);
      }
    });

    test.each([
      'origin: https://dashboard.example:8443',
      'origin: http://dashboard.example',
      'origin: https://evil.example',
      'origin: null',
      'x: y',
    ])('a request with "%s" gets no permission', async (other) => {
      for (const lines of [
        ['OPTIONS /change HTTP/1.1', ...asked],
        ['GET /look HTTP/1.1', engineer],
      ])
        expect(corsOf(await ask(...lines, 'host: x', other, closing))).toEqual({ vary: 'Origin' });
    });
  });

  test('every refusal of an unauthenticated call is one identical 401', async () => {
    await start();
    const fixed = ['GET /look HTTP/1.1', 'host: x', closing, 'x-correlation-id: walk-0001'];
    const answers = [
      await ask(...fixed),
      await ask(...fixed, 'authorization: Bearer stranger'),
      await ask(...fixed, 'authorization: Bearer'),
      await ask(...fixed, 'authorization: Basic ZW5naW5lZXI6'),
      await ask(...fixed, engineer, engineer),
      await ask(...fixed, engineer, 'authorization: Bearer stranger'),
      await ask(...fixed, 'proxy-authorization: Bearer engineer'),
    ];
    for (const answer of answers) {
      expectEnvelope(answer, 401, 'unauthenticated');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect({ ...answer, headers: new Map([...answer.headers].filter(([name]) => name !== 'date')) }).toEqual({
        ...answers[0],
        headers: new Map([...(answers[0]?.headers ?? [])].filter(([name]) => name !== 'date')),
      });
    }
    expect((await ask(...fixed, engineer)).status).toBe(200);
  });

  test('a token in the query is refused with 400 on every route, before anything else', async () => {
    await start();
    for (const query of ['token=x', 'access_token=', 'a=b&Authorization=Bearer%20x', 'a%63cess_token=x', 'JWT=x'])
      for (const path of ['/look', '/open', '/none'])
        expectEnvelope(await ask(`GET ${path}?${query} HTTP/1.1`, 'host: x', engineer, closing), 400, 'invalid-input');
  });
});

describe('[platform §2.3] x-svc-confirmed', () => {
  test.each([
    [['x-svc-confirmed: true'], 428, 'the body'],
    [['x-svc-confirmed: false'], 428, 'the header'],
    [[], 428, 'the header'],
    [['x-svc-confirmed: TRUE'], 400, 'x-svc-confirmed'],
    [['x-svc-confirmed: 1'], 400, 'x-svc-confirmed'],
    [['x-svc-confirmed:'], 400, 'x-svc-confirmed'],
    [['x-svc-confirmed: true', 'x-svc-confirmed: true'], 400, 'x-svc-confirmed'],
    [['x-svc-confirmed: true', 'x-svc-confirmed: false'], 400, 'x-svc-confirmed'],
    [['x-svc-confirmed: true, true'], 400, 'x-svc-confirmed'],
  ])('%j: %d', async (headers, status, message) => {
    await start();
    const answer = await ask('POST /change HTTP/1.1', 'host: x', engineer, 'content-length: 0', closing, ...headers);
    expect(answer.status).toBe(status);
    expect(answer.error?.message).toContain(message);
    // 400 is not recorded, 428 is.
    expect(gateway.entries.map(({ outcome }) => outcome)).toEqual(status === 428 ? ['denied'] : []);
  });

  test('is checked on queries too', async () => {
    await start();
    const query = ['GET /look HTTP/1.1', 'host: x', engineer, closing];
    expectEnvelope(await ask(...query, 'x-svc-confirmed: yes'), 400, 'invalid-input');
    expect((await ask(...query, 'x-svc-confirmed: false')).status).toBe(200);
  });
});

describe('[platform §2.4] limits of headers and bodies', () => {
  const withHeaders = (bytes: number): Promise<RawAnswer> =>
    ask('GET /open HTTP/1.1', 'host: x', closing, `x-large: ${'x'.repeat(bytes)}`);

  test.each([1024, gatewayLimits.header_bytes, 65_536])('header_bytes %d', async (header_bytes) => {
    await start({ header_bytes });
    // The remaining headers of the request take less than 100 bytes.
    expect((await withHeaders(header_bytes - 100)).status).toBe(200);
    expectEnvelope(await withHeaders(header_bytes), 431, 'headers-too-large');
  });

  test.each<[string, readonly string[]]>([
    ['text/plain', ['content-type: text/plain']],
    ['no type', []],
    ['a type that only begins like it', ['content-type: application/jsonx']],
    ['a JSON dialect', ['content-type: application/problem+json']],
    ['another character set', ['content-type: application/json; charset=latin1']],
    ['two types', ['content-type: application/json', 'content-type: application/json']],
    ['compressed', ['content-type: application/json', 'content-encoding: gzip']],
  ])('%s: 415', async (_what, headers) => {
    await start();
    const request = ['POST /change HTTP/1.1', 'host: x', engineer, 'x-svc-confirmed: true', closing];
    const answer = await ask(...request, ...headers, 'content-length: 18', '', '{"confirmed":true}');
    expectEnvelope(answer, 415, 'unsupported-media-type');
    expect(gateway.entries).toEqual([]);
  });

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('%s is JSON', async (type) => {
    await start();
    const request = ['POST /change HTTP/1.1', 'host: x', engineer, 'x-svc-confirmed: true', closing];
    const answer = await ask(...request, `content-type: ${type}`, 'content-length: 18', '', '{"confirmed":true}');
    expect([answer.status, answer.headers.get('x-svc-audit')]).toEqual([200, 'recorded']);
  });

  test('a failed mutation tells how its record ended, too', async () => {
    const failing = testCapability({ ...change.descriptor, path: '/failing' }, async () => {
      throw new Error('a bug');
    });
    await start({}, [failing]);
    const request = ['POST /failing HTTP/1.1', 'host: x', engineer, 'x-svc-confirmed: true', closing];
    const send = () =>
      ask(...request, 'content-type: application/json', 'content-length: 18', '', '{"confirmed":true}');
    const recorded = await send();
    expectEnvelope(recorded, 500, 'internal-error');
    expect(recorded.headers.get('x-svc-audit')).toBe('recorded');
    gateway.failAudit(({ outcome }) => outcome === 'failed');
    expect((await send()).headers.get('x-svc-audit')).toBe('incomplete');
  });

  test('a body of bytes that are not UTF-8: 400', async () => {
    await start();
    const answer = await fetch(`${gateway.base}/change`, {
      method: 'POST',
      headers: { authorization: 'Bearer engineer', 'x-svc-confirmed': 'true', 'content-type': 'application/json' },
      body: new Uint8Array([0x22, 0xff, 0x22]),
    });
    expect(answer.status).toBe(400);
  });
});

describe('[platform §2.4] limits of connections', () => {
  test('one more than `connections` is closed at once, and taken again when another has gone', async () => {
    await start({ connections: 2 });
    const opened = async () => {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.on('error', () => undefined);
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      await new Promise((resolve) => socket.once('connect', resolve));
      return { socket, closed };
    };
    const first = await opened();
    expect((await ask('GET /open HTTP/1.1', 'host: x', closing)).status).toBe(200);
    const second = await opened();
    const third = await opened();
    await third.closed;
    for (const { socket, closed } of [first, second]) {
      expect(socket.destroyed).toBe(false);
      socket.destroy();
      await closed;
    }
    await expect
      .poll(async () => (await ask('GET /open HTTP/1.1', 'host: x', closing).catch(() => null))?.status)
      .toBe(200);
  });
});

describe('[identity §5] tenant', () => {
  test('only the audit query takes a token of another pair: it is scoped to that pair itself', async () => {
    const foreign = { ...testSubject('foreign', ['automation.read', 'audit.event.read']), tenantId: 'other' };
    const audit = testCapability({ ...look.descriptor, path: '/audit', permission: 'audit.event.read' });
    gateway = await startTestGateway([look, audit], { subjects: { foreign } });
    const as = (path: string) => ask(`GET ${path} HTTP/1.1`, 'host: x', 'authorization: Bearer foreign', closing);
    expectEnvelope(await as('/look'), 403, 'permission-denied');
    expect((await as('/audit')).status).toBe(200);
  });
});

describe('[platform §2.1] the table of faults', () => {
  test('codes are kebab-case, statuses are those of errors', () => {
    for (const [code, { status }] of Object.entries(faultKinds)) {
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
    }
  });
});

describe('[platform §2.4] trusted proxies', () => {
  /** One failed attempt that claims, by proxy header, to come from `forwarded`; the gateway may not trust that proxy. */
  const fail = (forwarded: string) => ask('GET /look HTTP/1.1', 'host: x', `x-forwarded-for: ${forwarded}`, closing);

  test('an untrusted X-Forwarded-For changes nothing: failures count for the connection’s address', async () => {
    await start({ failed_authentications_per_minute: 2 });
    expect((await fail('10.0.0.1')).status).toBe(401);
    expect((await fail('10.0.0.2')).status).toBe(401);
    expect((await fail('10.0.0.3')).status).toBe(429);
  });

  test('a trusted proxy names the client; an address added by the client itself is ignored', async () => {
    await start({ failed_authentications_per_minute: 2, trusted_proxies: ['127.0.0.1'] });
    for (const forwarded of ['10.0.0.1', '10.9.9.9, 10.0.0.1']) expect((await fail(forwarded)).status).toBe(401);
    const limited = await fail('10.8.8.8, 10.0.0.1');
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect((await fail('10.0.0.2')).status).toBe(401);
  });

  test('a connection that says nothing takes no part', async () => {
    await start();
    const silent = connect(gateway.port, '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    expect((await ask('GET /open HTTP/1.1', 'host: x', closing)).status).toBe(200);
    silent.destroy();
  });

  test('[identity §6] a valid token is not refused for the failures of others at its address', async () => {
    await start({ failed_authentications_per_minute: 2 });
    for (const status of [401, 401, 429, 429]) expect((await fail('10.0.0.1')).status).toBe(status);
    expect((await ask('GET /look HTTP/1.1', 'host: x', engineer, closing)).status).toBe(200);
  });
});

describe('[platform §2.4] connections', () => {
  const silent = (): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(gateway.port, '127.0.0.1', () => resolve(socket));
      socket.on('error', () => undefined);
    });
  const closed = (socket: Socket): Promise<void> =>
    socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
  const count = (): Promise<number> =>
    new Promise((resolve, reject) => {
      gateway.server.fastify.server.getConnections((error, open) => (error ? reject(error) : resolve(open)));
    });

  test('at most connections_per_loopback from this machine: one more is closed at once, and another one fits when one ends', async () => {
    await start({ connections_per_loopback: 3 });
    const sockets = await Promise.all([silent(), silent(), silent()]);
    await closed(await silent());
    sockets[0]?.destroy();
    await expect.poll(count).toBe(2);
    expect((await ask('GET /open HTTP/1.1', 'host: x', closing)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  test('a trusted proxy speaks for many clients and is bounded by the total only', async () => {
    await start({ connections_per_loopback: 1, trusted_proxies: ['loopback'] });
    const sockets = await Promise.all([silent(), silent(), silent()]);
    expect((await ask('GET /open HTTP/1.1', 'host: x', closing)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  test.each([
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['what is not HTTP', 'GARBAGE\r\n\r\n'],
    ['an upgrade that is not spoken', 'GET /open HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'],
  ])('a connection that is refused is not left half open, though the client keeps its end: %s', async (_, text) => {
    await start();
    // A client that never closes: after the server's end it only reads.
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    socket.write(text);
    await expect.poll(() => received).toMatch(/^HTTP\/1\.1 \d{3} /);
    await expect.poll(count).toBe(0);
    socket.destroy();
  });

  test('a connection that says nothing is ended after request_timeout_ms', async () => {
    await start({ request_timeout_ms: 100 });
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    await expect.poll(count).toBe(1);
    await expect.poll(count).toBe(0);
    socket.destroy();
  });
});

describe('[platform §4.2] a route that is open to this machine', () => {
  const local = testCapability({
    method: 'GET',
    path: '/local',
    params: none,
    query: none,
    permission: 'automation.read',
    openTo: 'loopback',
  });
  const statusOf = async (...headers: string[]) => (await ask('GET /local HTTP/1.1', ...headers, closing)).status;

  test('needs no token from loopback; a proxy shows by a header, a foreign Host or HTTP/1.0', async () => {
    await start({}, [local]);
    expect(await statusOf('host: 127.0.0.1:8080')).toBe(200);
    expect(await statusOf('host: localhost')).toBe(200);
    for (const header of [
      'x-forwarded-for: 10.0.0.1',
      'via: 1.1 proxy',
      'x-forwarded-proto: https',
      'forwarded: for=x',
    ])
      expect(await statusOf('host: localhost', header)).toBe(401);
    expect(await statusOf('host: plant.example')).toBe(401);
    expect((await ask('GET /local HTTP/1.0', 'host: localhost')).status).toBe(401);
    expect(await statusOf('host: plant.example', engineer)).toBe(200);
  });

  test('where a proxy is configured, loopback says nothing', async () => {
    await start({ trusted_proxies: ['127.0.0.1'] }, [local]);
    expect(await statusOf('host: localhost')).toBe(401);
  });
});
