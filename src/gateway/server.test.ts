/** The pipeline and the envelope, over real HTTP on loopback [platform §2.1], [platform §3]. */
import { connect } from 'node:net';
import Type from 'typebox';
import { afterEach, describe, expect, test } from 'vitest';
import type { BoundCapability, CallContext, Capability, Permission, Subject } from '../api/capability.ts';
import type { AuditEntry } from '../audit/event.ts';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { type LogFields, silentLog } from '../base/log.ts';
import { type GatewayLimits, gatewayLimits } from './limits.ts';
import { createRateLimits } from './rate-limit.ts';
import { createServer, type Server } from './server.ts';

const site = { tenantId: 't', projectId: 'p' };
const strict = (properties: Type.TProperties) => Type.Object(properties, { additionalProperties: false });

const change: Capability = {
  name: 'test.change',
  summary: 'a command',
  method: 'POST',
  path: '/things/:id',
  kind: 'command',
  risk: 'medium',
  permission: 'automation.rule.manage',
  confirmation: 'always',
  confirmedIn: 'body',
  audit: 'required',
  idempotent: false,
  params: strict({ id: Type.String({ pattern: '^[0-9]+$' }) }),
  query: strict({}),
  body: strict({ confirmed: Type.Literal(true), size: Type.Integer({ minimum: 1, maximum: 9 }) }),
  answer: Type.Object({}),
};
const look: Capability = {
  ...change,
  name: 'test.look',
  method: 'GET',
  kind: 'query',
  permission: 'automation.read',
  confirmation: 'never',
  audit: 'not-required',
  body: null,
  query: strict({ page: Type.Optional(Type.String()) }),
};
const remove: Capability = {
  ...change,
  name: 'test.remove',
  method: 'DELETE',
  confirmedIn: 'body-or-query',
  query: strict({ confirmed: Type.Optional(Type.String()) }),
  body: Type.Union([Type.Undefined(), strict({ confirmed: Type.Literal(true) })]),
};

function subject(permissions: readonly Permission[], tenantId = 't'): Subject {
  return { kind: 'user', subjectId: 'ada', tenantId, projectId: 'p', roles: [], permissions: new Set(permissions) };
}
const subjects: Record<string, Subject> = {
  engineer: subject(['automation.read', 'automation.rule.manage']),
  viewer: subject(['automation.read']),
  stranger: subject(['automation.read', 'automation.rule.manage'], 'other'),
};

describe('[platform §3] one pipeline', () => {
  let server: Server;
  let base: string;
  const entries: AuditEntry[] = [];
  const logged: LogFields[] = [];
  const handled: CallContext[] = [];
  let auditFails: (entry: AuditEntry) => boolean;
  let handlerFails: Error | undefined;

  const start = async (limits: Partial<GatewayLimits> = {}): Promise<void> => {
    entries.length = 0;
    logged.length = 0;
    handled.length = 0;
    auditFails = () => false;
    handlerFails = undefined;
    const bind = (descriptor: Capability): BoundCapability => ({
      descriptor,
      resource: (params) => ({ kind: 'thing', id: `thing:${params.id ?? 'new'}` }),
      handler: async (context) => {
        handled.push(context);
        if (handlerFails !== undefined) throw handlerFails;
        return { data: { success: true } };
      },
    });
    const all = { ...gatewayLimits, rule_body_bytes: 1024, ...limits };
    server = createServer({
      capabilities: [bind(change), bind(look), bind(remove)],
      identity: {
        authenticate: async (header) => subjects[header?.replace(/^Bearer /, '') ?? ''] ?? null,
        authenticateSession: async () => null,
        authenticateToken: async () => null,
      },
      audit: {
        async append(entry) {
          if (auditFails(entry)) throw new Fault('audit-unavailable', 'the audit record could not be written');
          entries.push(entry);
          return { eventId: `event-${entries.length}`, sequence: entries.length, hash: 'ab'.repeat(32) };
        },
        appendIn: () => Promise.reject(new Error('not used')),
      },
      site,
      rateLimits: createRateLimits(all),
      log: { ...silentLog, info: (message, fields) => void logged.push({ message, ...fields }) },
      limits: all,
      clock: systemClock,
    });
    const { port } = await server.listen('127.0.0.1', 0);
    base = `http://127.0.0.1:${port}`;
  };
  afterEach(() => server.close());

  interface Sent {
    readonly token?: string;
    readonly confirmed?: string;
    readonly type?: string;
    readonly body?: string;
    readonly path?: string;
    readonly method?: string;
    readonly headers?: Record<string, string>;
  }
  const good: Sent = {
    token: 'engineer',
    confirmed: 'true',
    type: 'application/json',
    body: '{"confirmed":true,"size":3}',
    path: '/things/7',
    method: 'POST',
  };
  const send = async (sent: Sent) => {
    const { token, confirmed, type, body, path, method, headers } = sent;
    const answer = await fetch(base + (path ?? '/things/7'), {
      method: method ?? 'POST',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(confirmed === undefined ? {} : { 'x-svc-confirmed': confirmed }),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: new TextEncoder().encode(body) }),
    });
    return {
      status: answer.status,
      headers: answer.headers,
      body: (await answer.json()) as { error?: { code: string; message: string; correlationId: string } },
    };
  };

  test('a good call is recorded before and after, and answered', async () => {
    await start();
    const answer = await send(good);
    expect([answer.status, answer.body, answer.headers.get('x-svc-audit')]).toEqual([
      200,
      { success: true },
      'recorded',
    ]);
    expect(entries.map(({ action, outcome, acceptedEventId }) => [action, outcome, acceptedEventId])).toEqual([
      ['test.change', 'accepted', undefined],
      ['test.change', 'succeeded', 'event-1'],
    ]);
    expect(handled[0]?.body).toEqual({ confirmed: true, size: 3 });
  });

  // Each row fails every check from its step on: the first check of the order must be the one that answers.
  test.each<[number, string, Sent]>([
    [401, 'unauthenticated', { ...good, token: 'nobody', confirmed: 'no', body: 'x' }],
    [403, 'permission-denied', { ...good, token: 'viewer', confirmed: 'no', body: 'x' }],
    [403, 'permission-denied', { ...good, token: 'stranger', confirmed: 'no', body: 'x' }],
    [400, 'invalid-input', { ...good, confirmed: 'yes', body: 'x'.repeat(2000) }],
    [428, 'confirmation-required', { ...good, confirmed: 'false', body: 'x'.repeat(2000) }],
    [413, 'payload-too-large', { ...good, type: 'text/plain', body: 'x'.repeat(1025) }],
    [415, 'unsupported-media-type', { ...good, type: 'text/plain', body: 'x' }],
    [400, 'invalid-input', { ...good, body: '{"size":1,' }],
    [400, 'invalid-input', { ...good, body: '{"confirmed":true,"size":3,"size":4}' }],
    [400, 'invalid-input', { ...good, body: '{"confirmed":true,"size":3,"__proto__":{}}' }],
    [428, 'confirmation-required', { ...good, body: '{"size":99}' }],
    [400, 'invalid-input', { ...good, body: '{"confirmed":true,"size":10}' }],
    [400, 'invalid-input', { ...good, body: '{"confirmed":true,"size":"3"}' }],
    [400, 'invalid-input', { ...good, body: '{"confirmed":true,"size":3,"more":1}' }],
    [400, 'invalid-input', { ...good, path: '/things/7?x=1' }],
    [400, 'invalid-input', { ...good, path: '/things/7?access_token=secret' }],
    [404, 'not-found', { ...good, path: '/nothing' }],
    [404, 'not-found', { ...good, method: 'PATCH' }],
  ])('%d %s, and nothing is done', async (status, code, sent) => {
    await start();
    const answer = await send(sent);
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(answer.headers.get('x-correlation-id')).toBe(answer.body.error?.correlationId);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    expect(handled).toEqual([]);
    expect(entries.map(({ outcome }) => outcome)).toEqual(status === 403 || status === 428 ? ['denied'] : []);
  });

  test('a refused subject of another tenant is recorded as such: it may have the name of one of ours', async () => {
    await start();
    await send({ ...good, token: 'stranger' });
    await send({ ...good, token: 'viewer' });
    expect(entries.map(({ details }) => details)).toEqual([
      { code: 'permission-denied', tenantId: 'other', projectId: 'p' },
      { code: 'permission-denied' },
    ]);
  });

  test('the edges of the body limit', async () => {
    await start();
    const pad = (bytes: number): string => '{"confirmed":true,"size":3}'.padEnd(bytes);
    expect((await send({ ...good, body: pad(1024) })).status).toBe(200);
    expect((await send({ ...good, body: pad(1025) })).status).toBe(413);
  });

  test('DELETE is confirmed by its query too, when it has no body', async () => {
    await start();
    const bare = { token: 'engineer', confirmed: 'true', method: 'DELETE' };
    expect((await send({ ...bare, path: '/things/7?confirmed=true' })).status).toBe(200);
    expect((await send({ ...bare, path: '/things/7' })).status).toBe(428);
    // A body that says otherwise takes precedence.
    const denying = { ...bare, type: 'application/json', body: '{"confirmed":false}' };
    expect((await send({ ...denying, path: '/things/7?confirmed=true' })).status).toBe(428);
    expect(
      (await send({ ...bare, path: '/things/7', type: 'application/json', body: '{"confirmed":true}' })).status,
    ).toBe(200);
  });

  test('repeated query parameters are refused; 403 comes before 400', async () => {
    await start();
    expect((await send({ token: 'viewer', method: 'GET', path: '/things/7?page=1' })).status).toBe(200);
    expect((await send({ token: 'viewer', method: 'GET', path: '/things/7?page=1&page=1' })).status).toBe(400);
    expect((await send({ token: 'stranger', method: 'GET', path: '/things/7?page=1&page=1' })).status).toBe(403);
  });

  test('no audit, no mutation; and a refusal is final when its record fails', async () => {
    await start();
    auditFails = () => true;
    const answer = await send(good);
    expect([answer.status, answer.body.error?.code, handled.length]).toEqual([503, 'audit-unavailable', 0]);
    expect((await send({ ...good, token: 'viewer' })).status).toBe(403);
  });

  test('a terminal record that fails leaves the answer 2xx and says incomplete', async () => {
    await start();
    auditFails = (entry) => entry.outcome === 'succeeded';
    const answer = await send(good);
    expect([answer.status, answer.headers.get('x-svc-audit')]).toEqual([200, 'incomplete']);
  });

  test('every audited call leaves one log line, with its correlation id, action and outcome', async () => {
    await start();
    const id = 'walk-from-a.b:c_1';
    const headers = { 'x-correlation-id': id };
    const path = '/things/77';
    const line = {
      message: 'audited call',
      correlation_id: id,
      action: 'test.change',
      resource: 'thing:77',
      subject: 'ada',
    };
    const loggedBy = async (sent: Sent): Promise<readonly LogFields[]> => {
      logged.length = 0;
      await send(sent);
      return [...logged];
    };
    expect(await loggedBy({ ...good, path, headers })).toEqual([{ ...line, outcome: 'succeeded' }]);
    handlerFails = new Fault('revision-conflict', 'the rule is at another revision');
    expect(await loggedBy({ ...good, path, headers })).toEqual([
      { ...line, outcome: 'failed', code: 'revision-conflict' },
    ]);
    const denied = { ...line, outcome: 'denied', code: 'permission-denied' };
    expect(await loggedBy({ ...good, path, headers, token: 'viewer' })).toEqual([denied]);
    handlerFails = undefined;
    auditFails = (entry) => entry.outcome === 'succeeded';
    expect(await loggedBy({ ...good, path, headers })).toEqual([{ ...line, outcome: 'succeeded' }]);
    expect(await loggedBy({ token: 'viewer', method: 'GET', path, headers })).toEqual([]);
  });

  test('an unexpected error is recorded as failed and leaks nothing', async () => {
    await start();
    handlerFails = new Error('SELECT secret FROM /var/lib/x');
    const answer = await send(good);
    expect([answer.status, answer.body.error?.code]).toEqual([500, 'internal-error']);
    expect(JSON.stringify(answer.body)).not.toMatch(/SELECT|secret|var/);
    expect(entries.map(({ outcome }) => outcome)).toEqual(['accepted', 'failed']);
  });

  test('correlation ids: a valid one is echoed, any other is replaced', async () => {
    await start();
    const echo = async (id: string) =>
      (await send({ ...good, headers: { 'x-correlation-id': id } })).headers.get('x-correlation-id');
    expect(await echo('walk-from-a.b:c_1')).toBe('walk-from-a.b:c_1');
    expect(entries[0]?.correlationId).toBe('walk-from-a.b:c_1');
    for (const bad of ['short', '-starts-badly', 'has space in it', 'x'.repeat(129)])
      expect(await echo(bad)).toMatch(/^[0-9a-f]{8}-/);
    expect(await echo('x'.repeat(128))).toBe('x'.repeat(128));
  });

  test('mutations and failed authentications are limited, at their edges', async () => {
    await start({ mutations_per_minute: 2, failed_authentications_per_minute: 2 });
    expect([(await send(good)).status, (await send(good)).status]).toEqual([200, 200]);
    const limited = await send(good);
    expect([limited.status, limited.body.error?.code, Number(limited.headers.get('retry-after')) > 0]).toEqual([
      429,
      'rate-limited',
      true,
    ]);
    expect((await send({ token: 'viewer', method: 'GET' })).status).toBe(200);
    const bad = { ...good, token: 'nobody' };
    expect([(await send(bad)).status, (await send(bad)).status, (await send(bad)).status]).toEqual([401, 401, 429]);
  });

  test.each([
    ['not http at all\r\n\r\n', 400, 'invalid-input'],
    [`GET /things/7 HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers-too-large'],
  ])('what is not readable as HTTP gets the envelope too', async (text, status, code) => {
    await start();
    const reply = await raw(Number(new URL(base).port), text);
    expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(reply).toMatch(/x-correlation-id: /);
    expect(reply).toContain(`"code":"${code}"`);
  });
});

function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += data.toString();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}
