/** The one-time sign-in link and `POST /session` [identity §2], over real HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { type SimulatedClock, simulatedClock } from '../testing/simulated-clock.ts';
import { noCallAudit, startTestGateway, type TestGateway, testSite } from '../testing/test-gateway.ts';
import { createIdentity } from './identity.ts';
import { type GatewayLimits, gatewayLimits } from './limits.ts';
import { signingKey } from './local-keys.ts';
import { createSignIn, type SignIn, signInCodeMs } from './sign-in.ts';

const wallMs = 1_700_000_000_000;

describe('[identity §2] the sign-in link', () => {
  let folder = '';
  let clock: SimulatedClock;
  let signIn: SignIn;
  let gateway: TestGateway;

  const start = async (limits: Partial<GatewayLimits> = {}): Promise<void> => {
    clock = simulatedClock(wallMs);
    signIn = createSignIn({ key: signingKey(folder), site: testSite, clock });
    gateway = await startTestGateway([signIn.capability], { limits });
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-sign-in-'));
  });
  afterEach(async () => {
    await gateway.server.close();
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
    const codes = Array.from({ length: 100 }, () => signIn.issueCode());
    expect(new Set(codes).size).toBe(100);
    for (const code of codes) {
      expect(code).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(Buffer.from(code, 'base64url')).toHaveLength(32);
    }
  });

  test('is exchanged for a token of an Admin, for 12 hours, that the site takes', async () => {
    await start();
    const answer = await send({ code: signIn.issueCode() });
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
      config: { jwt: { kind: 'local' }, bearer: null, scope: null, warnings: [] },
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
    const code = signIn.issueCode();
    expect((await send({ code })).status).toBe(200);
    const used = await send({ code });
    const refusals = [used];
    for (const wrong of ['', 'x', code.slice(0, -1), `${code}=`, 'A'.repeat(43), '\u0000', 'é'.repeat(500)])
      refusals.push(await send({ code: wrong }));
    const expired = signIn.issueCode();
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

  test('lives ten minutes, on a clock that does not jump', async () => {
    await start();
    const code = signIn.issueCode();
    clock.jumpWall(24 * 3_600_000);
    clock.advance(599_999);
    expect((await send({ code })).status).toBe(200);
    const next = signIn.issueCode();
    clock.jumpWall(-24 * 3_600_000);
    clock.advance(600_000);
    expect((await send({ code: next })).status).toBe(401);
  });

  test('a new link ends the one before', async () => {
    await start();
    const first = signIn.issueCode();
    const second = signIn.issueCode();
    expect((await send({ code: first })).status).toBe(401);
    expect((await send({ code: second })).status).toBe(200);
  });

  test('two exchanges at once: one token', async () => {
    await start();
    const code = signIn.issueCode();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send({ code })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(19);
    expect(outcomes().filter((outcome) => outcome === 'succeeded')).toHaveLength(1);
    expect(outcomes().filter((outcome) => outcome === 'accepted').length).toBe(outcomes().length / 2);
  });

  test('two exchanges that were both let in while their records were written: the second one fails, and is counted', async () => {
    await start({ failed_authentications_per_minute: 1 });
    const code = signIn.issueCode();
    const { capability } = signIn;
    const context = {
      subject: null,
      correlationId: 'c',
      params: {},
      query: {},
      body: { code },
      ifMatch: undefined,
      requestId: undefined,
      audit: noCallAudit,
    };
    expect([capability.identify?.(context), capability.identify?.(context)]).toMatchObject([
      { kind: 'system' },
      { kind: 'system' },
    ]);
    expect((await capability.handler(context)).data).toMatchObject({ success: true });
    await expect(capability.handler(context)).rejects.toMatchObject({ code: 'unauthenticated' });

    // The same by HTTP: the code is used up between the record of a call and its handler.
    await gateway.server.close();
    const late = { ...capability, handler: () => capability.handler(context) };
    gateway = await startTestGateway([late], { limits: { failed_authentications_per_minute: 1 } });
    const next = signIn.issueCode();
    expect((await send({ code: next })).status).toBe(401);
    expect(outcomes()).toEqual(['accepted', 'failed']);
    expect((await send({ code: next })).status).toBe(429);
  });

  test('is audited as the token command is, and the code is in no record', async () => {
    await start();
    const code = signIn.issueCode();
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
        details: { role: 'Admin', subject: 'local-admin', ttl_seconds: 43_200 },
      },
    ]);
    expect(JSON.stringify(gateway.entries)).not.toContain(code);
    expect(JSON.stringify(gateway.entries)).not.toContain('eyJ');
  });

  test('no record, no token: nothing is used up when the first fails, and a token without its end is withheld', async () => {
    await start();
    const code = signIn.issueCode();
    gateway.failAudit(() => true);
    expect((await send({ code })).status).toBe(503);
    gateway.failAudit(({ outcome }) => outcome === 'succeeded');
    const withheld = await send({ code });
    expect([withheld.status, withheld.headers.get('x-svc-audit')]).toEqual([503, 'incomplete']);
    expect(withheld.text).not.toContain('eyJ');
    gateway.failAudit(() => false);
    expect((await send({ code })).status).toBe(401);
  });

  test('body limit, media type, syntax and schema come before the code, and use nothing up', async () => {
    await start();
    const code = signIn.issueCode();
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
    expect((await fetch(`${gateway.base}/session`)).status).toBe(404);
    expect((await send({ code })).status).toBe(200);
  });

  test('a failed exchange counts as a failed authentication', async () => {
    await start({ failed_authentications_per_minute: 3 });
    const code = signIn.issueCode();
    for (let count = 0; count < 3; count++) expect((await send({ code: 'guess' })).status).toBe(401);
    const limited = await send({ code: 'wrong' });
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    // Whoever has the link is not refused for the guesses of others.
    expect((await send({ code })).status).toBe(200);
  });
});
