/** Signing in to a running service [identity §7] to [identity §9]: links, accounts, and a real OpenID Connect provider. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { sessionCheckMs } from '../../src/automation/live-stream.ts';
import { startTestProvider, type TestProvider, testClient } from '../../src/testing/oidc-provider.ts';
import { ownPort } from '../../src/testing/own-port.ts';
import {
  runCommand,
  startTestService,
  type TestFolders,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';

const rules = '/api/v1/automation/api/rules';
const password = 'correct horse battery staple';
const cookieOf = (headers: Headers, name = 'setpoint-session'): string =>
  headers
    .getSetCookie()
    .map((text) => text.split(';')[0] ?? '')
    .find((pair) => pair.startsWith(`${name}=`)) ?? '';

/** As a page of the service asks. */
function asPage(service: TestService, cookie: string) {
  return (method: string, path: string, body?: unknown) =>
    fetch(`${service.base}${path}`, {
      method,
      headers: {
        cookie,
        origin: service.base,
        'sec-fetch-site': 'same-origin',
        'x-svc-confirmed': 'true',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

/** A live stream with this cookie; resolves with its messages once it is closed. */
function stream(service: TestService, cookie: string, origin: string) {
  const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`, { headers: { cookie, origin } });
  const said: string[] = [];
  const closed = new Promise<number>((done) => socket.on('close', done));
  socket.on('open', () => socket.send(JSON.stringify({ type: 'authenticate' })));
  socket.on('message', (data: Buffer) => said.push(data.toString('utf8')));
  return { said, closed, close: () => socket.close() };
}

describe('[identity §7] links and accounts', () => {
  let folders: TestFolders;
  let service: TestService;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    folders = testFolders(virtualSite);
    service = await startTestService(folders);
    env = { ...process.env, SVC_DATA_DIR: folders.data, SVC_CONFIG_DIR: folders.config, SVC_BASE_URL: service.base };
  });
  afterAll(async () => {
    await service.stop();
    folders.remove();
  });

  test('a link of the running service is made beside it, without a restart', async () => {
    const made = runCommand('setpoint', ['sign-in-link'], env);
    const code = /#code=([A-Za-z0-9_-]{43})/.exec(made.stdout)?.[1];
    expect([made.status, code === undefined]).toEqual([0, false]);
    const opened = await service.request('POST', '/session', { token: null, body: { code } });
    expect(opened.body['data']).toMatchObject({ role: 'Admin', subject: 'local-admin' });
    const ask = asPage(service, cookieOf(opened.headers));
    expect((await ask('GET', rules)).status).toBe(200);
    expect((await service.request('POST', '/session', { token: null, body: { code } })).status).toBe(401);
  });

  test('a link with the address of a wrong SVC_BASE_URL is not made, and changes nothing', () => {
    const wrong = { ...env, SVC_BASE_URL: 'setpoint.example.com' };
    for (const args of [['users', 'add', 'dora', '--role', 'Viewer'], ['sign-in-link']]) {
      const { status, stderr } = runCommand('setpoint', args, wrong);
      expect([status, stderr]).toEqual([2, expect.stringContaining('SVC_BASE_URL must be the address')]);
    }
    expect(runCommand('setpoint', ['users', 'list'], env).stdout).not.toContain('dora');
  });

  test('[platform §7] the commands on accounts and tokens print their results as JSON', () => {
    const result = (...args: string[]): unknown => JSON.parse(runCommand('setpoint', [...args, '--json'], env).stdout);
    const at = expect.stringMatching(/^\d{4}-.+Z$/);
    const link = expect.stringMatching(/#set-password=[A-Za-z0-9_-]{43}$/);
    expect(result('users', 'add', 'carl', '--role', 'Viewer')).toEqual({ name: 'carl', link, expires_at: at });
    const changed = { name: 'carl', role: 'Engineer', former_role: 'Viewer' };
    expect(result('users', 'change-role', 'carl', '--role', 'Engineer')).toEqual(changed);
    expect(result('users', 'reset', 'carl')).toEqual({ name: 'carl', link, expires_at: at });
    expect(result('users', 'disable', 'carl')).toEqual({ name: 'carl', state: 'disabled' });
    const signIn = expect.stringMatching(/#code=[A-Za-z0-9_-]{43}$/);
    expect(result('sign-in-link')).toEqual({ link: signIn, expires_at: at });
    const revoked = { subject: 'carl', token_id: null, revoked_at: at };
    expect(result('token', 'revoke', '--subject', 'carl', '--reason', 'left')).toEqual(revoked);
  });

  test('an account from the command line to its end: invited, password, sign-in, live stream, disabled within 5 s', async () => {
    const added = runCommand('setpoint', ['users', 'add', 'ada', '--role', 'Engineer'], env);
    const code = /#set-password=([A-Za-z0-9_-]{43})/.exec(added.stdout)?.[1];
    expect([added.status, code === undefined]).toEqual([0, false]);
    expect(runCommand('setpoint', ['users', 'add', 'ada', '--role', 'Viewer'], env).stderr).toContain('exists');
    const set = await service.request('POST', '/session/password', { token: null, body: { code, password } });
    expect(set.status).toBe(200);
    const opened = await service.request('POST', '/session', { token: null, body: { name: 'ada', password } });
    const cookie = cookieOf(opened.headers);
    const ask = asPage(service, cookie);
    expect((await ask('POST', rules, { name: 'mine', confirmed: true })).status).toBe(200);
    const foreign = stream(service, cookie, 'https://evil.example');
    expect(await foreign.closed).toBe(4003);
    const own = stream(service, cookie, service.base);
    await waitFor(() => own.said.some((text) => text.includes('authenticated')));
    const engineer = runCommand('setpoint', ['users', 'change-role', 'ada', '--role', 'Engineer'], env);
    expect([engineer.status, engineer.stdout]).toEqual([0, 'ada has the role Engineer already\n']);
    const unknown = runCommand('setpoint', ['users', 'change-role', 'eve', '--role', 'Admin'], env);
    expect([unknown.status, unknown.stderr]).toEqual([1, 'setpoint: unknown account eve\n']);
    expect((await ask('GET', rules)).status).toBe(200);
    expect(runCommand('setpoint', ['users', 'disable', 'ada'], env).status).toBe(0);
    const beganMs = Date.now();
    await waitFor(async () => (await ask('GET', rules)).status === 401);
    expect(Date.now() - beganMs).toBeLessThan(5000);
    expect(await own.closed).toBe(4001);
    expect(sessionCheckMs).toBeLessThan(5000);
    expect(runCommand('setpoint', ['users', 'list'], env).stdout).toMatch(/ada\s+Engineer\s+disabled/);
    const token = await service.token('Admin');
    for (const action of [
      'identity.user.add',
      'identity.user.disable',
      'identity.password.set',
      'identity.token.issue',
    ]) {
      const found = await service.request('GET', `/api/v1/audit/events?action=${action}`, { token });
      expect([action, found.text.includes('succeeded')]).toEqual([action, true]);
    }
    expect(service.logs()).not.toContain(password);
  });

  test('an Admin has the same over HTTP; an Engineer has no access', async () => {
    const users = '/api/v1/identity/users';
    const admin = { token: await service.token('Admin'), headers: { 'x-svc-confirmed': 'true' } };
    expect((await service.request('GET', users)).status).toBe(403);
    const body = { name: 'bob', role: 'Viewer', confirmed: true };
    const added = await service.request('POST', users, { ...admin, body });
    expect(added.body['data']).toMatchObject({ name: 'bob', role: 'Viewer' });
    expect(String(added.body['data']?.['link'])).toMatch(/^\/#set-password=/);
    expect((await service.request('POST', users, { ...admin, body })).status).toBe(422);
    const promoted = { ...admin, body: { role: 'Engineer', confirmed: true } };
    const changed = await service.request('POST', `${users}/bob/role`, promoted);
    expect(changed.body['data']).toEqual({ name: 'bob', role: 'Engineer' });
    expect((await service.request('POST', `${users}/eve/role`, promoted)).status).toBe(404);
    const found = await service.request('GET', '/api/v1/audit/events?action=identity.user.change-role', admin);
    expect(found.text).toContain('identity-user:bob');
    const confirmed = { ...admin, body: { confirmed: true } };
    expect((await service.request('POST', `${users}/bob/disable`, confirmed)).status).toBe(200);
    expect((await service.request('POST', `${users}/bob/reset`, confirmed)).status).toBe(200);
    expect((await service.request('POST', `${users}/eve/reset`, confirmed)).status).toBe(404);
    expect((await service.request('GET', users, admin)).text).toContain('"invited"');
  });
});

describe('[identity §9] an OpenID Connect provider', () => {
  let provider: TestProvider;
  let folders: TestFolders;
  let service: TestService;
  const accessSeconds = 3;
  beforeAll(async () => {
    const port = await ownPort();
    provider = await startTestProvider([`http://127.0.0.1:${port}/session/callback`], accessSeconds);
    folders = testFolders(virtualSite);
    service = await startTestService(folders, {
      SVC_HTTP_PORT: String(port),
      SVC_OIDC_ISSUER: provider.issuer,
      SVC_OIDC_CLIENT_ID: testClient.id,
      SVC_OIDC_CLIENT_SECRET: testClient.secret,
      SVC_JWT_ROLE_CLAIM: 'groups',
      SVC_JWT_ROLE_MAP: 'Engineer=site-engineers,Admin=site-admins,Viewer=everybody',
      SVC_LOG_LEVEL: 'info',
    });
  });
  afterAll(async () => {
    await service.stop();
    await provider.stop();
    folders.remove();
  });

  /** Signs in as a browser does; returns the final address and the session's cookie. */
  async function signIn(): Promise<{ readonly place: string | null; readonly cookie: string }> {
    const begun = await fetch(`${service.base}/session/oidc`, { redirect: 'manual' });
    expect(begun.status).toBe(302);
    const location = new URL(begun.headers.get('location') ?? '');
    expect([location.searchParams.get('code_challenge_method'), location.searchParams.has('nonce')]).toEqual([
      'S256',
      true,
    ]);
    const back = await provider.authorize(location.href);
    const cookie = cookieOf(begun.headers, 'setpoint-sign-in');
    const done = await fetch(back, { redirect: 'manual', headers: { cookie } });
    return { place: done.headers.get('location'), cookie: cookieOf(done.headers) };
  }

  test('while it is away, nobody is refused: the console says that signing in is not possible', async () => {
    const unavailable = async (address: string, cookie: string): Promise<void> => {
      const { status, headers } = await fetch(address, { redirect: 'manual', headers: { cookie } });
      expect([status, headers.get('location'), cookieOf(headers)]).toEqual([302, '/#sign-in-unavailable', '']);
    };
    await provider.stop();
    await unavailable(`${service.base}/session/oidc`, '');
    await provider.start();
    const begun = await fetch(`${service.base}/session/oidc`, { redirect: 'manual' });
    const back = await provider.authorize(begun.headers.get('location') ?? '');
    await provider.stop();
    await unavailable(back, cookieOf(begun.headers, 'setpoint-sign-in'));
    expect(service.logs()).not.toContain('authentication failed');
    await provider.start();
    expect((await signIn()).place).toBe('/');
  });

  test('signs in with the role that the groups give, is refreshed while it lasts, and ends when that is refused', async () => {
    const { place, cookie } = await signIn();
    expect(place).toBe('/');
    const ask = asPage(service, cookie);
    const role = async () => (await ask('GET', '/session')).json();
    expect(await role()).toMatchObject({
      data: { session: { subject: 'ada', role: 'Engineer' }, methods: { provider: true } },
    });
    expect((await ask('POST', rules, { name: 'by provider', confirmed: true })).status).toBe(200);
    // The provider is asked again once its answer has expired; its new answer gives the role.
    provider.person = { name: 'ada', groups: ['everybody'] };
    await waitFor(async () => JSON.stringify(await role()).includes('Viewer'), 15_000);
    await provider.stop();
    // Suspended, not ended: the console must not ask to sign in where nobody can.
    await waitFor(async () => (await ask('GET', rules)).status === 503, 15_000);
    expect(await (await ask('GET', rules)).text()).toContain('"provider-unavailable"');
    await provider.start();
    expect(await waitFor(async () => (await ask('GET', rules)).status === 200, 15_000)).toBe(true);
    await provider.revoke();
    await waitFor(async () => (await ask('GET', rules)).status === 401, 15_000);
    expect(service.logs()).toMatch(/"reason":"invalid_grant"/);
  }, 60_000);

  test('signing out ends the session here and says where the provider ends its own', async () => {
    provider.person = { name: 'grace', groups: ['site-admins'] };
    const { cookie } = await signIn();
    const ask = asPage(service, cookie);
    const out = (await (await ask('DELETE', '/session')).json()) as { data: { end_session_url: string } };
    expect(out.data.end_session_url).toContain(`${provider.issuer}/session/end`);
    expect((await ask('GET', rules)).status).toBe(401);
  });

  test('who has no role here is not signed in, and the log says why', async () => {
    provider.person = { name: 'eve', groups: ['visitors'] };
    const { place, cookie } = await signIn();
    expect([place, cookie]).toEqual(['/#sign-in-failed', '']);
    expect(service.logs()).toContain('the claim groups gives no role');
  });

  test('an unexpected answer, or one for another browser, signs nobody in', async () => {
    provider.person = { name: 'ada', groups: ['site-admins'] };
    const begun = await fetch(`${service.base}/session/oidc`, { redirect: 'manual' });
    const back = await provider.authorize(begun.headers.get('location') ?? '');
    const other = await fetch(`${service.base}/session/oidc`, { redirect: 'manual' });
    const results = [
      await fetch(back, { redirect: 'manual' }),
      await fetch(back, { redirect: 'manual', headers: { cookie: cookieOf(other.headers, 'setpoint-sign-in') } }),
      await fetch(`${service.base}/session/callback?error=access_denied&state=x`, { redirect: 'manual' }),
    ];
    for (const { status, headers } of results)
      expect([status, headers.get('location'), cookieOf(headers)]).toEqual([302, '/#sign-in-failed', '']);
  });
});
