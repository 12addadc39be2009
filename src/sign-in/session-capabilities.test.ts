/** Signing in and out [identity §2], [identity §7.1], over real HTTP and a real database. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Type from 'typebox';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HandledCapability } from '../api/capability.ts';
import { passwordLengthMax, passwordLengthMin } from '../api/session.ts';
import type { AuditEntry } from '../audit/event.ts';
import { silentLog } from '../base/log.ts';
import { openDatabase } from '../databases/site-database.ts';
import { createIdentity } from '../gateway/identity.ts';
import { identityConfig } from '../gateway/identity-config.ts';
import { type GatewayLimits, gatewayLimits } from '../gateway/limits.ts';
import { signingKey } from '../gateway/local-keys.ts';
import type { Database } from '../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../testing/engines.ts';
import { type SimulatedClock, simulatedClock } from '../testing/simulated-clock.ts';
import { noCallAudit, startTestGateway, type TestGateway, testCapability, testSite } from '../testing/test-gateway.ts';
import { Accounts } from './accounts.ts';
import { issueCode, passwordCodeMs, signInCodeMs } from './codes.ts';
import { storedPassword } from './password.ts';
import { seal, unseal } from './seal.ts';
import { sessionCapabilities } from './session-capabilities.ts';
import { type Refresh, Sessions } from './sessions.ts';
import { createSignInStore, type SignInStore } from './store/sign-in-store.ts';
import { userCapabilities } from './user-capabilities.ts';

const none = Type.Object({}, { additionalProperties: false });
const wallMs = 1_700_000_000_000;
const password = 'correct horse battery staple';

describe.each(engines)('[identity §2] signing in, stored in %s', (engine) => {
  let folder = '';
  let places: TestPlaces;
  let database: Database;
  let store: SignInStore;
  let accounts: Accounts;
  let sessions: Sessions;
  let clock: SimulatedClock;
  let gateway: TestGateway;
  let open: HandledCapability | undefined;
  const locked: AuditEntry[] = [];

  const newLink = (): Promise<string> => issueCode(store, null, clock.wallMs());
  const start = async (limits: Partial<GatewayLimits> = {}, refresh: Refresh | null = null): Promise<void> => {
    clock = simulatedClock(wallMs);
    const all = { ...gatewayLimits, ...limits };
    const audit = { append: async (entry: AuditEntry) => ({ eventId: '', sequence: locked.push(entry), hash: '' }) };
    accounts = new Accounts({ store, clock, limits: all, audit, log: silentLog });
    sessions = new Sessions({ store, site: testSite, clock, limits: all, refresh, seal, unseal });
    const own = { store, accounts, sessions, site: testSite, clock, limits: all, endSessionUrl: null };
    const capabilities = sessionCapabilities({ ...own, key: signingKey(folder) });
    open = capabilities.find(({ descriptor }) => descriptor.name === 'identity.token.issue');
    const change = testCapability({
      method: 'POST',
      path: '/change',
      params: none,
      query: none,
      body: none,
      kind: 'command',
      confirmation: 'always',
      permission: 'automation.rule.manage',
      audit: 'required',
    });
    const read = testCapability({
      method: 'GET',
      path: '/read',
      params: none,
      query: none,
      permission: 'automation.read',
    });
    gateway = await startTestGateway([...capabilities, ...userCapabilities({ accounts, clock }), change, read], {
      limits,
      session: (cookie) => sessions.authenticate(cookie),
    });
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-sign-in-'));
    places = await testPlaces(engine);
    database = openDatabase(places.site);
    await database.ready();
    store = createSignInStore(database);
    locked.length = 0;
  });
  afterEach(async () => {
    await gateway.server.close();
    await database.close();
    await places.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = async (body: unknown, type = 'application/json') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${gateway.base}/session`, {
      method: 'POST',
      headers: { 'content-type': type, 'x-correlation-id': 'correlation-1' },
      body: new TextEncoder().encode(text),
    });
    const { headers, status } = answer;
    return { status, headers, text: await answer.text() };
  };
  const outcomes = () => gateway.entries.map(({ outcome }) => outcome);

  test('a code is 32 random bytes as base64url', async () => {
    await start();
    const codes = await Promise.all(Array.from({ length: 20 }, newLink));
    expect(new Set(codes).size).toBe(20);
    for (const code of codes) {
      expect(code).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(Buffer.from(code, 'base64url')).toHaveLength(32);
    }
  });

  test('is exchanged for a token of an Admin, for 12 hours, that the site takes', async () => {
    await start();
    const answer = await send({ code: await newLink() });
    expect([answer.status, answer.headers.get('x-svc-audit'), answer.headers.get('cache-control')]).toEqual([
      200,
      'recorded',
      'no-store',
    ]);
    const { success, data } = JSON.parse(answer.text) as { success: boolean; data: Record<string, string> };
    expect([success, Object.keys(data)]).toEqual([true, ['token', 'role', 'subject', 'expires_at']]);
    expect(data).toMatchObject({
      role: 'Admin',
      subject: 'local-admin',
      expires_at: new Date(wallMs + 12 * 3_600_000).toISOString(),
    });
    const identity = createIdentity({
      config: identityConfig({}),
      session: async () => null,
      isRevoked: async () => false,
      key: signingKey(folder),
      site: testSite,
      clock,
      log: silentLog,
      limits: gatewayLimits,
    });
    const known = await identity.authenticateToken(data['token'] ?? '');
    expect(known).toMatchObject({
      subject: { kind: 'user', subjectId: 'local-admin', roles: ['Admin'], ...testSite },
      expiresMs: wallMs + 12 * 3_600_000,
    });
  });

  test('works once; wrong, used and expired codes get one identical 401', async () => {
    await start();
    const code = await newLink();
    expect((await send({ code })).status).toBe(200);
    const used = await send({ code });
    const refusals = [used];
    for (const wrong of ['', 'x', code.slice(0, -1), `${code}=`, 'A'.repeat(43), '\u0000', 'é'.repeat(500)])
      refusals.push(await send({ code: wrong }));
    const expired = await newLink();
    clock.advance(signInCodeMs);
    refusals.push(await send({ code: expired }));
    expect(new Set(refusals.map(({ text }) => text)).size).toBe(1);
    expect(JSON.parse(used.text)).toEqual({
      error: { code: 'unauthenticated', message: expect.any(String) as string, correlationId: 'correlation-1' },
    });
    for (const { status, headers } of refusals)
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    // Strangers do not fill the audit store.
    expect(outcomes()).toEqual(['accepted', 'succeeded']);
  });

  test('a link lives ten minutes; a clock that is set back does not make it live longer', async () => {
    await start();
    const code = await newLink();
    clock.advance(signInCodeMs - 1);
    expect((await send({ code })).status).toBe(200);
    const next = await newLink();
    clock.jumpWall(-24 * 3_600_000);
    expect((await send({ code: next })).status).toBe(401);
  });

  test('a new link ends the one before', async () => {
    await start();
    const first = await newLink();
    const second = await newLink();
    expect((await send({ code: first })).status).toBe(401);
    expect((await send({ code: second })).status).toBe(200);
  });

  test('two exchanges at once: one token', async () => {
    await start();
    const code = await newLink();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send({ code })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(19);
    expect(outcomes().filter((outcome) => outcome === 'succeeded')).toHaveLength(1);
    expect(outcomes().filter((outcome) => outcome === 'accepted').length).toBe(outcomes().length / 2);
  });

  test('two exchanges that were both let in while their records were written: the second one fails, and is counted', async () => {
    await start({ failed_authentications_per_minute: 1 });
    const code = await newLink();
    const capability = open;
    if (capability === undefined) throw new Error('no capability');
    const contextOf = () => ({
      subject: null,
      correlationId: 'c',
      params: {},
      query: {},
      body: { code },
      header: () => undefined,
      ifMatch: undefined,
      requestId: undefined,
      audit: noCallAudit,
    });
    const [one, other] = [contextOf(), contextOf()];
    for (const context of [one, other]) expect(await capability.identify?.(context)).toMatchObject({ kind: 'system' });
    expect((await capability.handler(one)).data).toMatchObject({ success: true });
    await expect(capability.handler(other)).rejects.toMatchObject({ code: 'unauthenticated' });

    // The same by HTTP: the code is used up between the record of a call and its handler.
    await gateway.server.close();
    const late = { ...capability, handler: () => capability.handler(other) };
    gateway = await startTestGateway([late], { limits: { failed_authentications_per_minute: 1 } });
    const next = await newLink();
    expect((await send({ code: next })).status).toBe(401);
    expect(outcomes()).toEqual(['accepted', 'failed']);
    expect((await send({ code: next })).status).toBe(429);
  });

  test('is audited as the token command is, and the code is in no record', async () => {
    await start();
    const code = await newLink();
    await send({ code });
    expect(gateway.entries).toMatchObject([
      { action: 'identity.token.issue', outcome: 'accepted', subject: { kind: 'system', subjectId: 'sign-in-link' } },
      {
        action: 'identity.token.issue',
        resource: { kind: 'identity-token', resourceId: 'identity-token' },
        outcome: 'succeeded',
        risk: 'high',
        correlationId: 'correlation-1',
        acceptedEventId: 'event-1',
        details: { role: 'Admin', subject: 'local-admin', ttl_seconds: 43_200, by: 'link' },
      },
    ]);
    expect(JSON.stringify(gateway.entries)).not.toContain(code);
    expect(JSON.stringify(gateway.entries)).not.toContain('eyJ');
  });

  test('no record, no token: nothing is used up when the first fails, and a token without its end is withheld', async () => {
    await start();
    const code = await newLink();
    gateway.failAudit(() => true);
    expect((await send({ code })).status).toBe(503);
    gateway.failAudit(({ outcome }) => outcome === 'succeeded');
    const withheld = await send({ code });
    expect([withheld.status, withheld.headers.get('x-svc-audit')]).toEqual([503, 'incomplete']);
    expect(withheld.text).not.toContain('eyJ');
    gateway.failAudit(() => false);
    expect((await send({ code })).status).toBe(401);
  });

  test('body limit, media type, syntax and schema are checked before the code, and do not use it up', async () => {
    await start();
    const code = await newLink();
    const padded = (bytes: number): string => JSON.stringify({ code: 'x' }).padEnd(bytes);
    expect((await send(padded(gatewayLimits.session_body_bytes))).status).toBe(401);
    expect((await send(padded(gatewayLimits.session_body_bytes + 1))).status).toBe(413);
    expect((await send({ code }, 'text/plain')).status).toBe(415);
    for (const bad of ['', '{', '[]', '{}', `{"code":"${code}","code":"${code}"}`])
      expect((await send(bad)).status, bad).toBe(400);
    for (const bad of [{ code: 5 }, { code: null }, { code: [code] }, { code, more: 1 }])
      expect((await send(bad)).status).toBe(400);
    const inQuery = await fetch(`${gateway.base}/session?code=${code}`, { method: 'POST' });
    expect(inQuery.status).toBe(400);
    expect((await send({ code })).status).toBe(200);
  });

  test('a failed exchange counts as a failed authentication', async () => {
    await start({ failed_authentications_per_minute: 3 });
    const code = await newLink();
    for (let count = 0; count < 3; count++) expect((await send({ code: 'guess' })).status).toBe(401);
    const limited = await send({ code: 'wrong' });
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    // A holder of the link is not refused for the guesses of others.
    expect((await send({ code })).status).toBe(200);
  });

  const own = (): Record<string, string> => ({ 'sec-fetch-site': 'same-origin', origin: gateway.base });
  const cookieIn = (headers: Headers): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const ask = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    fetch(`${gateway.base}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const signedIn = async (): Promise<string> => cookieIn((await send({ code: await newLink() })).headers);

  test('[identity §7.1] the cookie: HttpOnly, SameSite=Strict, for 12 hours; on loopback not Secure', async () => {
    await start();
    const { headers } = await send({ code: await newLink() });
    expect(headers.get('set-cookie')).toMatch(
      /^setpoint-session=[A-Za-z0-9_-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const elsewhere = await ask('POST', '/session', { host: 'plant.example' }, { code: await newLink() });
    expect(elsewhere.status).toBe(200);
  });

  test('[identity §7.1] a browser gets no token, only its cookie', async () => {
    await start();
    const answer = await ask('POST', '/session', own(), { code: await newLink() });
    expect([answer.status, (await answer.text()).includes('token')]).toEqual([200, false]);
    expect(cookieIn(answer.headers)).toMatch(/^setpoint-session=./);
  });

  test('[identity §7.1] changes with a cookie: confirmed, and from our own pages; a bearer token needs neither', async () => {
    await start();
    const cookie = await signedIn();
    const confirmed = { 'x-svc-confirmed': 'true' };
    const outcomesOf: [string, Record<string, string>, number][] = [
      ['as our page asks', { ...own(), ...confirmed }, 200],
      ['an older browser', { origin: gateway.base, ...confirmed }, 200],
      ['not confirmed', own(), 428],
      ['a sister site', { ...own(), 'sec-fetch-site': 'same-site', ...confirmed }, 403],
      ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', ...confirmed }, 403],
      ['another port', { origin: 'http://127.0.0.1:1', ...confirmed }, 403],
      ['typed into the address bar', { 'sec-fetch-site': 'none', ...confirmed }, 403],
      ['nothing said', confirmed, 403],
    ];
    for (const [name, headers, status] of outcomesOf)
      expect([name, (await ask('POST', '/change', { cookie, ...headers }, {})).status]).toEqual([name, status]);
    expect((await ask('GET', '/read', { cookie })).status).toBe(200);
    for (const bad of ['setpoint-session=', 'setpoint-session=x', `${cookie}x`, 'other=1'])
      expect((await ask('GET', '/read', { cookie: bad })).status).toBe(401);
    // A header counts before the cookie, also one that is no good.
    expect((await ask('GET', '/read', { cookie, authorization: 'Bearer x' })).status).toBe(401);
  });

  test('[identity §7.1] signing out ends the session on the service, here at once and elsewhere within `session_cache_ms`', async () => {
    await start();
    const cookie = await signedIn();
    const limits = gatewayLimits;
    const other = new Sessions({ store, site: testSite, clock, limits, refresh: null, seal, unseal });
    const value = cookie.split('=')[1] ?? '';
    expect(await other.authenticate(value)).not.toBeNull();
    expect((await ask('DELETE', '/session', { cookie, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await ask('DELETE', '/session', { cookie, ...own() })).status).toBe(428);
    const out = await ask('DELETE', '/session', { cookie, ...own(), 'x-svc-confirmed': 'true' });
    expect([out.status, out.headers.get('set-cookie')]).toEqual([
      200,
      expect.stringMatching(/^setpoint-session=; Max-Age=0;/),
    ]);
    expect((await ask('GET', '/read', { cookie })).status).toBe(401);
    clock.advance(limits.session_cache_ms - 1);
    expect(await other.authenticate(value)).not.toBeNull();
    clock.advance(1);
    expect(await other.authenticate(value)).toBeNull();
    expect(gateway.entries.at(-1)).toMatchObject({ action: 'identity.session.close', outcome: 'succeeded' });
  });

  test('[identity §7.1] `session_ms`, at its edge: a session ends whatever happens', async () => {
    await start({ session_ms: 60_000, session_cache_ms: 0 });
    const cookie = await signedIn();
    clock.advance(59_999);
    expect((await ask('GET', '/read', { cookie })).status).toBe(200);
    clock.advance(1);
    expect((await ask('GET', '/read', { cookie })).status).toBe(401);
    const session = await (await ask('GET', '/session', { cookie })).text();
    expect(session).toContain('"session":null');
  });

  test('[identity §9] while the provider is unreachable, its session continues for `provider_grace_ms` and is then suspended, at the edge', async () => {
    const answers: ('away' | 'refused' | number)[] = [];
    let asked = 0;
    const refresh: Refresh = async () => {
      asked++;
      const answer = answers.shift() ?? 'away';
      return typeof answer === 'string'
        ? answer
        : { subject: 'ada', role: 'Viewer', dueMs: answer, refreshToken: 'the next' };
    };
    await start({ session_cache_ms: 0, provider_grace_ms: 60_000, provider_retry_ms: 5000 }, refresh);
    const facts = { kind: 'provider', subject: 'ada', role: 'Admin', expiresMs: wallMs + 3_600_000 } as const;
    const value = await sessions.open(facts, { dueMs: wallMs + 1000, refreshToken: 'the first' });
    const cookie = `setpoint-session=${value}`;
    const reads = async () => (await ask('GET', '/read', { cookie })).status;
    clock.advance(999);
    expect([await reads(), asked]).toEqual([200, 0]);
    clock.advance(1);
    // Away: asked once, and again after `provider_retry_ms`.
    expect([await reads(), await reads(), asked]).toEqual([200, 200, 1]);
    clock.advance(4999);
    expect([await reads(), asked]).toEqual([200, 1]);
    clock.advance(1);
    expect([await reads(), asked]).toEqual([200, 2]);
    clock.advance(54_999);
    expect([await reads(), asked]).toEqual([200, 3]);
    clock.advance(1);
    const suspended = await ask('GET', '/read', { cookie });
    expect([suspended.status, suspended.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await suspended.text()).toContain('"provider-unavailable"');
    // The page learns whose session it is, and can end it.
    expect(await (await ask('GET', '/session', { cookie })).json()).toMatchObject({
      data: { session: { subject: 'ada', role: 'Admin' } },
    });
    // It continues when the provider answers, with the role that it has then.
    clock.advance(5000);
    answers.push(wallMs + 200_000);
    expect([await reads(), asked]).toEqual([200, 4]);
    expect(await (await ask('GET', '/session', { cookie })).json()).toMatchObject({
      data: { session: { role: 'Viewer' } },
    });
    clock.advance(200_000);
    answers.push('away');
    expect(await reads()).toBe(503);
    const out = await ask('DELETE', '/session', { cookie, ...own(), 'x-svc-confirmed': 'true' });
    expect([out.status, await reads()]).toEqual([200, 401]);
  });

  test('[identity §7.2] an account: invited by a link, signed in by name and password, with its role and no more', async () => {
    await start();
    const code = await accounts.add('ada', 'Viewer');
    expect((await send({ name: 'ada', password })).status).toBe(401);
    for (const length of [passwordLengthMin - 1, passwordLengthMax + 1])
      expect((await ask('POST', '/session/password', {}, { code, password: 'x'.repeat(length) })).status).toBe(400);
    expect((await ask('POST', '/session/password', {}, { code, password })).status).toBe(200);
    expect((await ask('POST', '/session/password', {}, { code, password })).status).toBe(401);
    const answer = await send({ name: 'ada', password });
    // A token would outlive the account.
    expect([answer.status, answer.text.includes('token')]).toEqual([200, false]);
    const cookie = cookieIn(answer.headers);
    expect((await ask('GET', '/read', { cookie })).status).toBe(200);
    expect((await ask('POST', '/change', { cookie, ...own(), 'x-svc-confirmed': 'true' }, {})).status).toBe(403);
    expect(await (await ask('GET', '/session', { cookie })).json()).toMatchObject({
      data: { session: { subject: 'ada', role: 'Viewer' }, methods: { password: true, provider: false } },
    });
    expect(
      JSON.stringify([gateway.entries, await database.query.selectFrom('account').selectAll().execute()]),
    ).not.toMatch(new RegExp(`${password}|${code}`));
    // The code that signs in does not set a password, nor the other way round.
    expect((await send({ code: await accounts.reset('ada') })).status).toBe(401);
    expect((await ask('POST', '/session/password', {}, { code: await newLink(), password })).status).toBe(401);
  });

  test('[identity §7.2] the shortest and the longest password are taken', async () => {
    await start();
    for (const length of [passwordLengthMin, passwordLengthMax])
      expect((await storedPassword('x'.repeat(length))).hash).toMatch(/./);
  });

  test('[identity §7.2] a link that sets a password lives a day', async () => {
    await start();
    const code = await accounts.add('ada', 'Viewer');
    clock.advance(passwordCodeMs);
    expect((await ask('POST', '/session/password', {}, { code, password })).status).toBe(401);
    const next = await accounts.reset('ada');
    clock.advance(passwordCodeMs - 1);
    expect((await ask('POST', '/session/password', {}, { code: next, password })).status).toBe(200);
  });

  test('[identity §7.3] with the tokens of a subject its sessions end, also one that its provider is just refreshing', async () => {
    let answer: (refreshed: Awaited<ReturnType<Refresh>>) => void = () => undefined;
    let asked = 0;
    const refresh: Refresh = () => {
      asked++;
      return new Promise((resolve) => void (answer = resolve));
    };
    await start({ session_cache_ms: 0 }, refresh);
    const facts = { kind: 'provider', role: 'Admin', expiresMs: wallMs + 3_600_000 } as const;
    const open = (subject: string, dueMs: number): Promise<string> =>
      sessions.open({ ...facts, subject }, { dueMs, refreshToken: 'the first' });
    const [idle, busy, other] = [
      await open('ada', wallMs + 60_000),
      await open('ada', wallMs),
      await open('grace', wallMs + 60_000),
    ];
    const reads = async (cookie: string) =>
      (await ask('GET', '/read', { cookie: `setpoint-session=${cookie}` })).status;
    expect([await reads(idle), await reads(other)]).toEqual([200, 200]);
    const refreshed = reads(busy);
    await expect.poll(() => asked).toBe(1);
    await store.revoke({ kind: 'subject', value: 'ada', revokedMs: wallMs });
    answer({ subject: 'ada', role: 'Admin', dueMs: wallMs + 60_000, refreshToken: 'the next' });
    expect(await refreshed).toBe(401);
    expect([await reads(idle), await reads(busy), await reads(other)]).toEqual([401, 401, 200]);
  });

  test('[identity §9] a session that the provider fails on holds up no other', async () => {
    const refresh: Refresh = async (token) =>
      token === 'fails' ? 'away' : { subject: 'ada', role: 'Viewer', dueMs: wallMs + 60_000, refreshToken: 'the next' };
    await start({}, refresh);
    const facts = { kind: 'provider', subject: 'ada', role: 'Admin', expiresMs: wallMs + 3_600_000 } as const;
    const [failing, good] = [
      await sessions.open(facts, { dueMs: wallMs, refreshToken: 'fails' }),
      await sessions.open(facts, { dueMs: wallMs, refreshToken: 'works' }),
    ];
    await expect(sessions.authenticate(failing)).rejects.toMatchObject({ code: 'provider-unavailable' });
    expect((await sessions.authenticate(good))?.subject.roles).toEqual(['Viewer']);
  });

  describe('[identity §9] of several processes', () => {
    const facts = { kind: 'provider', subject: 'ada', role: 'Admin', expiresMs: wallMs + 3_600_000 } as const;
    const claimMs = 3 * gatewayLimits.provider_timeout_ms + 1000;
    const processOf = (refresh: Refresh): Sessions =>
      new Sessions({ store, site: testSite, clock, limits: gatewayLimits, refresh, seal, unseal });
    const isWaiting = () => expect.poll(() => clock.pendingCount()).toBe(1);

    test('one asks the provider with a token that it takes once, and the others wait for its answer', async () => {
      await start();
      const used: string[] = [];
      let answer: () => void = () => undefined;
      const refresh: Refresh = async (token) => {
        used.push(token);
        await new Promise<void>((resolve) => (answer = resolve));
        return { subject: 'ada', role: 'Viewer', dueMs: wallMs + 60_000, refreshToken: 'the next' };
      };
      const [first, second] = [processOf(refresh), processOf(refresh)];
      const cookie = await first.open(facts, { dueMs: wallMs, refreshToken: 'the first' });
      const asked = first.authenticate(cookie);
      await expect.poll(() => used).toEqual(['the first']);
      const waits = second.authenticate(cookie);
      // It looks again and again, and does not ask itself.
      await isWaiting();
      clock.advance(100);
      await isWaiting();
      answer();
      expect((await asked)?.subject.roles).toEqual(['Viewer']);
      clock.advance(100);
      expect((await waits)?.subject.roles).toEqual(['Viewer']);
      expect(used).toEqual(['the first']);
    });

    test('one that ended while it asked is waited for no longer than its calls may take', async () => {
      await start();
      let asked = 0;
      const refreshed = { subject: 'ada', role: 'Admin', dueMs: wallMs + 600_000, refreshToken: 'the next' } as const;
      const ended = processOf(() => new Promise(() => asked++));
      const other = processOf(async () => refreshed);
      const cookie = await ended.open(facts, { dueMs: wallMs, refreshToken: 'the first' });
      void ended.authenticate(cookie);
      await expect.poll(() => asked).toBe(1);
      let known: unknown = 'nothing yet';
      void other.authenticate(cookie).then((subject) => (known = subject));
      await isWaiting();
      clock.advance(claimMs - 1);
      await isWaiting();
      expect(known).toBe('nothing yet');
      clock.advance(100);
      await expect.poll(() => known).toMatchObject({ subject: { subjectId: 'ada' } });
    });
  });

  test('[identity §7.2] disabled or reset: no sign-in, and the sessions end', async () => {
    await start({ session_cache_ms: 0 });
    await accounts.setPassword(await accounts.add('ada', 'Engineer'), password);
    const first = cookieIn((await send({ name: 'ada', password })).headers);
    await accounts.disable('ada');
    expect((await ask('GET', '/read', { cookie: first })).status).toBe(401);
    expect((await send({ name: 'ada', password })).status).toBe(401);
    await accounts.setPassword(await accounts.reset('ada'), password);
    const second = cookieIn((await send({ name: 'ada', password })).headers);
    expect((await ask('GET', '/read', { cookie: second })).status).toBe(200);
    await accounts.reset('ada');
    expect((await ask('GET', '/read', { cookie: second })).status).toBe(401);
    await expect(accounts.disable('bob')).rejects.toMatchObject({ code: 'not-found' });
    await expect(accounts.add('ada', 'Admin')).rejects.toMatchObject({ code: 'invalid-value' });
  });

  test('[identity §7.2] another role: the sessions end and the tokens are revoked; the same role changes nothing', async () => {
    await start({ session_cache_ms: 0 });
    await accounts.setPassword(await accounts.add('ada', 'Engineer'), password);
    const engineer = cookieIn((await send({ name: 'ada', password })).headers);
    expect(await accounts.changeRole('ada', 'Engineer')).toBe('Engineer');
    expect((await ask('GET', '/read', { cookie: engineer })).status).toBe(200);
    expect(await store.revocations()).toEqual([]);
    expect(await accounts.changeRole('ada', 'Viewer')).toBe('Engineer');
    expect((await ask('GET', '/read', { cookie: engineer })).status).toBe(401);
    expect(await store.revocations()).toEqual([{ kind: 'subject', value: 'ada', revokedMs: wallMs }]);
    const viewer = cookieIn((await send({ name: 'ada', password })).headers);
    const changing = { cookie: viewer, ...own(), 'x-svc-confirmed': 'true' };
    expect((await ask('POST', '/change', changing, {})).status).toBe(403);
    // A disabled account stays disabled.
    await accounts.disable('ada');
    await accounts.changeRole('ada', 'Admin');
    expect((await send({ name: 'ada', password })).status).toBe(401);
    await expect(accounts.changeRole('bob', 'Admin')).rejects.toMatchObject({ code: 'not-found' });
  });

  test('[identity §7.2] the owner of an account changes its password with the current one; its other sessions end', async () => {
    await start({ session_cache_ms: 0, sign_in_free_failures: 2 });
    await accounts.setPassword(await accounts.add('ada', 'Engineer'), password);
    const [former, here] = [
      cookieIn((await send({ name: 'ada', password })).headers),
      cookieIn((await send({ name: 'ada', password })).headers),
    ];
    const next = 'another horse, another battery';
    const change = (current: string, to = next) =>
      ask('POST', '/session/password', { ...own(), cookie: here }, { name: 'ada', current, password: to });
    expect((await change('wrong')).status).toBe(401);
    expect((await change(password, 'x'.repeat(passwordLengthMin - 1))).status).toBe(400);
    expect((await ask('GET', '/read', { cookie: former })).status).toBe(200);
    const answer = await change(password);
    expect([answer.status, answer.headers.get('x-svc-audit')]).toEqual([200, 'recorded']);
    expect((await ask('GET', '/read', { cookie: former })).status).toBe(401);
    expect((await ask('GET', '/read', { cookie: here })).status).toBe(200);
    expect((await send({ name: 'ada', password })).status).toBe(401);
    expect((await send({ name: 'ada', password: next })).status).toBe(200);
    const recorded = gateway.entries.filter(({ action }) => action === 'identity.password.set');
    expect(recorded.at(-1)).toMatchObject({ outcome: 'succeeded', details: { name: 'ada', by: 'password' } });
    expect(JSON.stringify(gateway.entries)).not.toMatch(new RegExp(`${password}|${next}`));
    // A page of another site cannot, and whoever guesses waits as at a sign-in.
    const body = { name: 'ada', current: next, password };
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    expect((await ask('POST', '/session/password', foreign, body)).status).toBe(403);
    for (let count = 0; count < 3; count++) expect((await change('wrong')).status).toBe(401);
    expect((await change(next)).status).toBe(429);
    clock.advance(1000);
    await accounts.disable('ada');
    expect((await change(next)).status).toBe(401);
  });

  test('[identity §7.2] a password is not changed if the account is reset after the current one was checked', async () => {
    await start();
    await accounts.setPassword(await accounts.add('ada', 'Engineer'), password);
    const account = await accounts.check('ada', password);
    if (account === null) throw new Error('no account');
    await accounts.reset('ada');
    expect(await accounts.replacePassword(account, password, null)).toBe(false);
    expect((await store.account('ada'))?.password).toBeNull();
  });

  test.each([
    ['disabled', async () => accounts.disable('ada')],
    ['reset', async () => accounts.reset('ada')],
    ['given another role', async () => accounts.changeRole('ada', 'Viewer')],
  ] as const)('[identity §7.2] an account that is %s while it signs in gets no session', async (_, change) => {
    await start();
    await accounts.setPassword(await accounts.add('ada', 'Engineer'), password);
    const context = {
      subject: null,
      correlationId: 'c',
      params: {},
      query: {},
      body: { name: 'ada', password },
      header: () => undefined,
      ifMatch: undefined,
      requestId: undefined,
      audit: noCallAudit,
    };
    // Its password was checked; the record of the sign-in is written meanwhile.
    expect(await open?.identify?.(context)).toMatchObject({ subjectId: 'ada' });
    await change();
    await expect(open?.handler(context)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await database.query.selectFrom('sign_in_session').selectAll().execute()).toEqual([]);
  });

  test('[identity §7.2] changes of one account at once are all kept, and one of two new accounts with one name is refused', async () => {
    await start();
    const added = await Promise.allSettled([accounts.add('ada', 'Viewer'), accounts.add('ada', 'Admin')]);
    expect(added.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await accounts.reset('ada');
    const stored = await storedPassword(password);
    await Promise.all([
      accounts.disable('ada'),
      accounts.changeRole('ada', 'Engineer'),
      store.changeAccount('ada', { password: stored }, null),
    ]);
    expect(await store.account('ada')).toMatchObject({ disabled: true, role: 'Engineer', password: stored });
  });

  test('[identity §7.2] wrong passwords: free ones, then waits that double up to the longest, for names that there are not too', async () => {
    await start({ sign_in_free_failures: 2, sign_in_wait_ms: 1000, sign_in_wait_max_ms: 3000 });
    await accounts.setPassword(await accounts.add('ada', 'Viewer'), password);
    for (const name of ['ada', 'nobody']) {
      const tryOnce = async () => send({ name, password: 'wrong' });
      for (let count = 0; count < 3; count++) expect((await tryOnce()).status).toBe(401);
      const waiting = await send({ name, password });
      expect([waiting.status, waiting.headers.get('retry-after')]).toEqual([429, '1']);
      clock.advance(999);
      expect((await tryOnce()).status).toBe(429);
      clock.advance(1);
      expect((await tryOnce()).status).toBe(401);
      clock.advance(2000);
      expect((await tryOnce()).status).toBe(401);
      clock.advance(2999);
      expect((await tryOnce()).status).toBe(429);
      clock.advance(1);
    }
    expect((await send({ name: 'ada', password })).status).toBe(200);
    expect((await send({ name: 'ada', password: 'wrong' })).status).toBe(401);
    expect(new Set(locked.map(({ action, resource }) => `${action} ${resource.resourceId}`))).toEqual(
      new Set(['identity.user.lock identity-user:ada']),
    );
  });

  test('[identity §7.2] `sign_in_waiting_max`: a crowd of guesses waits in line, and is refused beyond it', async () => {
    await start({ sign_in_free_failures: 1, sign_in_waiting_max: 3 });
    const answers = await Promise.all(Array.from({ length: 4 }, () => send({ name: 'ada', password: 'guess' })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([401, 401, 429, 429]);
  });

  test('[identity §7.2] `sign_in_names_max`: the names that wait longest are remembered', async () => {
    await start();
    for (const [name, untilMs] of [
      ['a', 1],
      ['b', 3],
      ['c', 2],
    ] as const)
      await store.putFailures(name, { failures: 9, untilMs }, 2);
    const kept = await Promise.all(['a', 'b', 'c'].map(async (name) => (await store.failures(name)).failures));
    expect(kept).toEqual([0, 9, 9]);
  });
});
