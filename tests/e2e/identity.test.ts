/** Identity as a process sees it [identity §1]: where keys come from, what stops the start, the link of `npm start`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import WebSocket from 'ws';
import { openDatabase } from '../../src/databases/site-database.ts';
import { issueToken } from '../../src/gateway/identity.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import { afterThisTest, folders, start } from './per-test.ts';
import { programFile, runCommand, serviceEnvironment, type TestFolders, waitFor } from './running-service.ts';

interface Demo {
  readonly process: ChildProcess;
  readonly screen: string;
  readonly base: string;
  output(): string;
}
/** `npm start` with its own data dir, until its screen is complete. */
async function startDemo(of: TestFolders, more: Readonly<Record<string, string>> = {}): Promise<Demo> {
  const { SVC_CONFIG_DIR: _demoSite, ...environment } = serviceEnvironment(of, { SVC_LOG_LEVEL: 'info', ...more });
  const child = spawn(process.execPath, [programFile('start')], { env: environment });
  afterThisTest(() => child.kill('SIGKILL'));
  let output = '';
  let screen = '';
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString();
    // Log lines are JSON; the rest is the screen.
    screen = output
      .split('\n')
      .filter((line) => !line.startsWith('{'))
      .join('\n');
  });
  child.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const base = await waitFor(() => {
    if (child.exitCode !== null) throw new Error(`the demo ended: ${output}`);
    return screen.includes('Ctrl-C ends it') ? /at (http:\/\/\S+)/.exec(screen)?.[1] : undefined;
  }, 20_000);
  return { process: child, screen, base, output: () => output };
}

const rules = '/api/v1/automation/api/rules';
const ask = (base: string, path: string, token: string): Promise<Response> =>
  fetch(`${base}${path}`, { headers: { authorization: `Bearer ${token}` } });
const exchange = (base: string, code: string): Promise<Response> =>
  fetch(`${base}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });

describe('[identity §2] the sign-in link of npm start', () => {
  test('its code, from the fragment, is an Admin’s token once; it is audited, and in no log', async () => {
    const of = folders();
    const demo = await startDemo(of);
    expect(demo.screen.trim().split('\n').length).toBeLessThan(25);
    const [, address, code = ''] = /(http:\/\/\S+)\/#code=([A-Za-z0-9_-]{43})\n/.exec(demo.screen) ?? [];
    expect(address).toBe(demo.base);

    const answer = await exchange(demo.base, code);
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: { token: string; role: string; expires_at: string } };
    expect(data.role).toBe('Admin');
    expect(Math.abs(Date.parse(data.expires_at) - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
    expect((await ask(demo.base, rules, data.token)).status).toBe(200);
    const again = await exchange(demo.base, code);
    expect([again.status, again.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);

    await waitFor(() => demo.output().includes('authentication failed') || undefined);
    const logs = demo
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n');
    for (const secret of [code, data.token]) expect(logs).not.toContain(secret);
    const ended = new Promise((resolve) => demo.process.once('exit', resolve));
    demo.process.kill('SIGTERM');
    expect(await ended).toBe(0);
    const database = openDatabase(join(of.data, 'site.sqlite'));
    const events = await database.query
      .selectFrom('audit_event')
      .select(['outcome', 'risk', 'subject_id'])
      .where('action', '=', 'identity.token.issue')
      .orderBy('sequence')
      .execute();
    await database.close();
    expect(events).toEqual([
      { outcome: 'accepted', risk: 'high', subject_id: 'sign-in-link' },
      { outcome: 'succeeded', risk: 'high', subject_id: 'sign-in-link' },
    ]);
  });

  test('with an external source of tokens there is no link, no route and no token command', async () => {
    const of = folders();
    const secret = { SVC_JWT_SECRET: 'a secret of the operator, 32 bytes or more' };
    const demo = await startDemo(of, secret);
    expect(demo.screen).not.toContain('code=');
    const answer = await exchange(demo.base, 'A'.repeat(43));
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'not-found' } });
    for (const args of [['--role', 'Admin', '--subject', 'x', '--ttl', '1h'], ['list']]) {
      const command = runCommand('setpoint', ['token', ...args], serviceEnvironment(of, secret));
      expect([command.status, command.stdout, command.stderr]).toEqual([
        1,
        '',
        expect.stringContaining('the identity provider issues them'),
      ]);
    }
  });
});

describe('[identity §1] keys of a running service', () => {
  test('a provider’s key set: its tokens open the site, the site’s own do not; without the provider nobody gets in', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] };
    let isUp = true;
    const provider = createServer((_request, response) => {
      if (isUp) response.setHeader('content-type', 'application/json').end(JSON.stringify(keys));
      else response.destroy();
    });
    await new Promise<void>((resolve) => void provider.listen(0, '127.0.0.1', resolve));
    afterThisTest(() => provider.close());
    const { port } = provider.address() as AddressInfo;
    const settings = {
      SVC_JWT_JWKS_URL: `http://127.0.0.1:${port}/keys`,
      SVC_JWT_ISSUER: 'https://id.example',
      SVC_JWT_AUDIENCE: 'setpoint',
    };
    const token = (issuer = 'https://id.example'): Promise<string> =>
      new SignJWT({ role: 'Viewer' })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setSubject('ada')
        .setIssuer(issuer)
        .setAudience('setpoint')
        .setExpirationTime('1h')
        .sign(privateKey);

    const service = await start(folders(), settings);
    expect((await ask(service.base, rules, await token())).status).toBe(200);
    expect((await ask(service.base, rules, await token('https://other.example'))).status).toBe(401);
    expect((await ask(service.base, rules, await service.token('Admin'))).status).toBe(401);

    isUp = false;
    const without = await start(folders(), settings);
    // Not 401: the token may be valid, and its holder must not discard it.
    expect((await ask(without.base, rules, await token())).status).toBe(503);
    expect(without.logs()).toContain('cannot read the key set of the identity provider');
    expect((await fetch(`${without.base}/health`)).status).toBe(200);
    isUp = true;
    // The provider is back: nobody needs to restart the service.
    await waitFor(
      async () => ((await ask(without.base, rules, await token())).status === 200 ? true : undefined),
      40_000,
    );
  });

  test('the configured bearer opens neither rules nor anything else of area A, and a short one is warned of', async () => {
    const bearer = {
      SVC_CLOUD_API_BEARER_TOKEN: 'opaque',
      SVC_CLOUD_API_TENANT_ID: 'acme',
      SVC_CLOUD_API_PROJECT_ID: 'plant-1',
      SVC_CLOUD_API_SUBJECT_ID: 'auditor',
      SVC_CLOUD_API_PERMISSIONS: 'automation.read,automation.rule.manage, audit.event.read',
    };
    const service = await start(folders(), bearer);
    expect((await ask(service.base, rules, 'opaque')).status).toBe(403);
    expect(
      (await service.request('POST', rules, { token: 'opaque', headers: { 'x-svc-confirmed': 'true' } })).status,
    ).toBe(403);
    expect((await ask(service.base, rules, 'opaque2')).status).toBe(401);
    // JWTs are unaffected.
    expect((await service.read('/rules')).status).toBe(200);
    expect(service.logs()).toContain('SVC_CLOUD_API_BEARER_TOKEN has fewer than 32 characters');
    expect(service.logs()).not.toContain('"opaque"');

    const { SVC_CLOUD_API_PERMISSIONS: _none, ...incomplete } = bearer;
    const denied = await start(folders(), incomplete);
    expect((await ask(denied.base, rules, 'opaque')).status).toBe(401);
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['SVC_JWT_SECRET', { SVC_JWT_SECRET: 'x'.repeat(31) }],
    ['SVC_JWT_SECRET', { SVC_JWT_SECRET: 'x'.repeat(32), SVC_JWT_JWKS_URL: 'https://id.example/keys' }],
    ['SVC_JWT_JWKS_URL', { SVC_JWT_JWKS_URL: 'file:///etc/keys', SVC_JWT_ISSUER: 'i', SVC_JWT_AUDIENCE: 'a' }],
    ['SVC_JWT_ISSUER', { SVC_JWT_JWKS_URL: 'https://id.example/keys', SVC_JWT_AUDIENCE: 'a' }],
    ['SVC_JWT_AUDIENCE', { SVC_JWT_JWKS_URL: 'https://id.example/keys', SVC_JWT_ISSUER: 'i' }],
    ['SVC_CLOUD_API_TENANT_ID', { SVC_CLOUD_API_TENANT_ID: 'a b' }],
    ['SVC_CLOUD_API_PROJECT_ID', { SVC_CLOUD_API_PROJECT_ID: 'x'.repeat(129) }],
    ['SVC_CLOUD_API_SUBJECT_ID', { SVC_CLOUD_API_SUBJECT_ID: 'é' }],
  ])('%s stops the start when it is bad, with one line that does not show it: %j', (name, environment) => {
    const result = runCommand('serve', [], serviceEnvironment(folders(), environment));
    expect([result.status, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toMatch(new RegExp(`^setpoint: .*${name}.*\\n$`));
    for (const value of Object.values(environment).filter((text) => text.length > 1))
      expect(result.stderr).not.toContain(value);
  });
});

describe('[platform §1.1] a data dir whose files are damaged', () => {
  test.each(['signing-key.pem', 'scope.json', 'site.sqlite', 'runtime.sqlite'])(
    '%s: one clear line that names it',
    async (name) => {
      const of = folders();
      const first = await start(of);
      expect(await first.stop()).toBe(0);
      writeFileSync(join(of.data, name), 'damaged '.repeat(1000));
      const result = runCommand('serve', [], serviceEnvironment(of));
      expect([result.status, result.stdout]).toEqual([1, '']);
      expect(result.stderr).toMatch(new RegExp(`^setpoint: ${name.replace('.', '\\.')} .*\\n$`));
    },
  );
});

describe('[platform §2.4] limits: failed authentications of the live stream', () => {
  test('[identity §6] count like those of the routes, and refuse no valid token', async () => {
    const of = folders();
    of.write('service.yaml', 'http:\n  failed_authentications_per_minute: 3\n');
    const service = await start(of);
    const good = await service.token('Viewer');
    /** The outcome of one attempt: the answer, or the close code. */
    const attempt = (token: string): Promise<number | string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
        socket.on('open', () => socket.send(JSON.stringify({ type: 'authenticate', token })));
        socket.on('message', (data: Buffer) => {
          resolve((JSON.parse(data.toString()) as { type: string }).type);
          socket.close();
        });
        socket.on('close', (code) => resolve(code));
        socket.on('error', () => undefined);
      });
    expect(await attempt(good)).toBe('authenticated');
    for (let count = 0; count < 3; count++) expect(await attempt('guess')).toBe(4001);
    await waitFor(() => service.logs().match(/authentication failed/g)?.length === 3 || undefined);
    const limited = await ask(service.base, rules, 'guess');
    expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(await attempt(good)).toBe('authenticated');
    expect((await ask(service.base, rules, good)).status).toBe(200);
  });

  test('a valid token that expires on an open stream is refused', async () => {
    const service = await start(folders());
    const issuedAtSeconds = Math.floor(Date.now() / 1000);
    const claims = { subject: 'short', role: 'Viewer', issuedAtSeconds, lifetimeSeconds: 2 } as const;
    const token = await issueToken(signingKey(service.folders.data), claims);
    const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
    socket.on('open', () => socket.send(JSON.stringify({ type: 'authenticate', token })));
    const closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve([code, reason.toString()]));
    });
    expect(await closed).toEqual([4001, 'token expired']);
    expect(service.logs()).not.toContain('authentication failed');
  });
});

describe('[identity §7.3] tokens that are revoked', () => {
  test('token list names those that were issued, and revoke takes an id from it', async () => {
    const service = await start(folders());
    const env = serviceEnvironment(service.folders);
    const issued = ['ada', 'eve'].map((subject) => {
      const { stdout } = runCommand('setpoint', ['token', '--role', 'Viewer', '--subject', subject, '--json'], env);
      return JSON.parse(stdout) as { token: string; token_id: string; expires_at: string };
    });
    const list = () =>
      runCommand('setpoint', ['token', 'list'], env)
        .stdout.trimEnd()
        .split('\n')
        .map((line) => line.split('\t'));
    const named = () => list().map(([id, subject, role, , expires, state]) => [id, subject, role, expires, state]);
    const [ada, eve] = issued;
    expect(named()).toEqual([
      [eve?.token_id, 'eve', 'Viewer', eve?.expires_at, 'valid'],
      [ada?.token_id, 'ada', 'Viewer', ada?.expires_at, 'valid'],
    ]);
    const revoke = ['token', 'revoke', '--id', eve?.token_id ?? '', '--reason', 'left in a train'];
    expect(runCommand('setpoint', revoke, env).status).toBe(0);
    expect(named().map((line) => line.at(-1))).toEqual(['revoked', 'valid']);
    const statuses = () => Promise.all(issued.map(async ({ token }) => (await ask(service.base, rules, token)).status));
    await waitFor(async () => (await statuses())[1] === 401 || undefined, 5000);
    expect(await statuses()).toEqual([200, 401]);
    const path = '/api/v1/identity/tokens';
    const read = await service.request('GET', path, { token: await service.token('Admin') });
    const states = (read.body['data'] as unknown as { list: { token_id: string; state: string }[] }).list;
    expect(states.map(({ token_id: id, state }) => [id, state])).toEqual([
      [eve?.token_id, 'revoked'],
      [ada?.token_id, 'valid'],
    ]);
    expect((await service.request('GET', path, { token: await service.token('Engineer') })).status).toBe(403);
  });

  test('by id over HTTP, by subject on the command line: refused here, and their live streams end', async () => {
    const service = await start(folders());
    const admin = await service.token('Admin');
    const key = signingKey(service.folders.data);
    const tokenOf = (subject: string, tokenId: string): Promise<string> => {
      const issuedAtSeconds = Math.floor(Date.now() / 1000) - 10;
      return issueToken(key, { subject, role: 'Viewer', issuedAtSeconds, lifetimeSeconds: 600, tokenId });
    };
    const [lost, kept, others] = [
      await tokenOf('ada', 'lost'),
      await tokenOf('ada', 'kept'),
      await tokenOf('grace', 'g'),
    ];
    const statuses = async (): Promise<number[]> => {
      const answers = await Promise.all([lost, kept, others].map((token) => ask(service.base, rules, token)));
      return answers.map(({ status }) => status);
    };
    expect(await statuses()).toEqual([200, 200, 200]);
    const socket = new WebSocket(`${service.base.replace('http', 'ws')}/ws`);
    socket.on('open', () => socket.send(JSON.stringify({ type: 'authenticate', token: lost })));
    const closed = new Promise((resolve) => void socket.on('close', resolve));
    const revoke = (body: object) =>
      service.request('POST', '/api/v1/identity/tokens/revoke', {
        token: admin,
        headers: { 'x-svc-confirmed': 'true' },
        body: { ...body, confirmed: true },
      });
    expect((await revoke({ token_id: 'lost', reason: 'left in a train' })).status).toBe(200);
    await waitFor(async () => (await statuses())[0] === 401 || undefined, 5000);
    expect(await statuses()).toEqual([401, 200, 200]);
    expect(await closed).toBe(4001);
    const env = serviceEnvironment(service.folders);
    const done = runCommand('setpoint', ['token', 'revoke', '--subject', 'ada', '--reason', 'has left'], env);
    expect([done.status, done.stdout]).toEqual([0, 'revoked: all tokens and sessions of ada until now\n']);
    await waitFor(async () => (await statuses())[1] === 401 || undefined, 5000);
    expect(await statuses()).toEqual([401, 401, 200]);
    // Neither or both are refused; a Viewer may not revoke.
    expect((await revoke({ reason: 'nobody' })).status).toBe(400);
    expect((await revoke({ subject: 'ada', token_id: 'kept', reason: 'both' })).status).toBe(400);
    const path = '/api/v1/identity/tokens/revoke';
    const body = { subject: 'ada', reason: 'not mine', confirmed: true };
    expect((await service.request('POST', path, { token: others, body })).status).toBe(403);
    expect(runCommand('setpoint', ['token', 'revoke', '--reason', 'nobody'], env).status).not.toBe(0);
    await service.stop();
    const database = openDatabase(join(service.folders.data, 'site.sqlite'));
    const events = await database.query
      .selectFrom('audit_event as event')
      .leftJoin('audit_details as details', (on) =>
        on.onRef('details.chain_id', '=', 'event.chain_id').onRef('details.sequence', '=', 'event.sequence'),
      )
      .select(['outcome', 'details'])
      .where('action', '=', 'identity.token.revoke')
      .execute();
    await database.close();
    const succeeded = events.flatMap(({ outcome, details }) => (outcome === 'succeeded' ? (details ?? '') : []));
    expect(succeeded).toEqual([expect.stringContaining('left in a train'), expect.anything()]);
    expect(events.filter(({ outcome }) => outcome === 'denied')).toHaveLength(1);
    const told = events.map(({ details }) => details).join(' ');
    for (const text of ['"token_id":"lost"', '"subject":"ada"', 'has left']) expect(told).toContain(text);
  });
});
