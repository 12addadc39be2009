/** A provider that is away or silent [identity §9]; a real one is in the e2e tests. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { type IdentityClaims, plainClaims } from '../gateway/claims.ts';
import { startTestProvider, testClient } from '../testing/oidc-provider.ts';
import { Provider } from './provider.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

function providerOf(
  issuer: URL,
  claims: IdentityClaims,
  client: { readonly id: string; readonly secret: string | null },
  timeoutMs: number,
) {
  return new Provider({
    config: { issuer, clientId: client.id, clientSecret: client.secret, scope: 'openid profile offline_access' },
    claims,
    clock: systemClock,
    log: silentLog,
    limits: { provider_timeout_ms: timeoutMs },
  });
}

async function providerAt(answer: RequestListener, claims = plainClaims): Promise<Provider> {
  const listening = createServer(answer);
  server = listening;
  await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done));
  const issuer = new URL(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`);
  return providerOf(issuer, claims, { id: 'setpoint', secret: null }, 150);
}

const cameBack = new URL('http://127.0.0.1/session/callback?code=x&state=y');

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers a request for the provider's metadata; false for any other. */
function answeredDiscovery(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.url?.includes('openid-configuration') !== true) return false;
  const issuer = `http://${request.headers.host}`;
  json(response, 200, { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` });
  return true;
}

describe('[identity §9] a provider in trouble', () => {
  test('`provider_timeout_ms`: one that does not answer is away, for a sign-in and for a refresh', async () => {
    const provider = await providerAt(() => undefined);
    await expect(provider.begin('http://127.0.0.1')).rejects.toMatchObject({ code: 'provider-unavailable' });
    expect(await provider.refresh('token')).toBe('away');
    expect(await provider.endSessionUrl()).toBeNull();
    await expect(provider.finish(cameBack, 'a.b.c')).rejects.toMatchObject({ code: 'provider-unavailable' });
  });

  test('a sign-in that fails: unavailable if it may work later, refused if it never will', async () => {
    let code: (response: ServerResponse) => void = () => undefined;
    const provider = await providerAt((request, response) => {
      if (!answeredDiscovery(request, response)) code(response);
    });
    const outcomes: Record<string, unknown> = {};
    const finished = async (name: string, secret: string, answer: typeof code): Promise<void> => {
      code = answer;
      outcomes[name] = await provider.finish(cameBack, secret).catch((error: unknown) => error);
    };
    const away = expect.objectContaining({ code: 'provider-unavailable' });
    await finished('503', 'a.y.c', (response) => response.writeHead(503).end('{}'));
    await finished('a page of a proxy', 'a.y.c', (response) => response.writeHead(200).end('<html>'));
    const half = (response: ServerResponse) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"acc');
    await finished('half a body', 'a.y.c', half);
    await finished('cut', 'a.y.c', (response) => response.destroy());
    await finished('refused', 'a.y.c', (response) => json(response, 400, { error: 'invalid_grant' }));
    await finished('the cookie of another sign-in', 'a.z.c', (response) => json(response, 200, {}));
    expect(outcomes).toEqual({
      '503': away,
      'a page of a proxy': away,
      'half a body': away,
      cut: away,
      refused: null,
      'the cookie of another sign-in': null,
    });
  });

  test('it is asked again after an outage', async () => {
    let isBack = false;
    const provider = await providerAt((request, response) => {
      if (!isBack) {
        response.writeHead(503).end();
        return;
      }
      if (!answeredDiscovery(request, response)) json(response, 400, { error: 'invalid_grant' });
    });
    await expect(provider.begin('http://127.0.0.1')).rejects.toMatchObject({ code: 'provider-unavailable' });
    isBack = true;
    const { location, secret } = await provider.begin('http://127.0.0.1:8080');
    expect(new URL(location).searchParams.get('redirect_uri')).toBe('http://127.0.0.1:8080/session/callback');
    expect(secret.split('.')).toHaveLength(3);
    expect(await provider.refresh('token')).toBe('refused');
  });
});

describe('[identity §8], [identity §9] who signed in', () => {
  const named = { subject: ['preferred_username'], role: plainClaims.role };
  const person = { sub: 'f81d4fae', preferred_username: 'ada', role: 'Engineer' };

  /** Refreshes without an ID token, as the standard allows; has `person` as its user information. */
  const withoutIdToken =
    (expiry: { readonly expires_in?: number }): RequestListener =>
    (request, response) => {
      const issuer = `http://${request.headers.host}`;
      const endpoints = { token_endpoint: `${issuer}/token`, userinfo_endpoint: `${issuer}/me` };
      if (request.url === '/token') json(response, 200, { access_token: 'a', token_type: 'bearer', ...expiry });
      else if (request.url === '/me') json(response, 200, person);
      else json(response, 200, { issuer, ...endpoints });
    };

  test('a refresh without an ID token: the user information says who it is', async () => {
    const provider = await providerAt(withoutIdToken({ expires_in: 60 }));
    expect(await provider.refresh('token')).toMatchObject({
      subject: 'f81d4fae',
      role: 'Engineer',
      refreshToken: 'token',
    });
    const byName = await providerAt(withoutIdToken({ expires_in: 60 }), named);
    expect(await byName.refresh('token')).toMatchObject({ subject: 'ada', role: 'Engineer' });
  });

  test('one that says neither who nor for how long ends the session', async () => {
    const provider = await providerAt(withoutIdToken({}));
    expect(await provider.refresh('token')).toBe('refused');
  });

  test('a claim of the user information that has no subject signs nobody in', async () => {
    const provider = await providerAt(withoutIdToken({ expires_in: 60 }), { ...named, subject: ['email'] });
    expect(await provider.refresh('token')).toBe('refused');
  });

  test('a real provider that has the name in its user information only: sign-in and refresh under that name', async () => {
    const base = 'http://127.0.0.1:8080';
    const real = await startTestProvider([`${base}/session/callback`]);
    try {
      real.person = { name: 'ada', groups: ['Engineer'] };
      const claims = { subject: ['preferred_username'], role: { path: ['groups'], map: null } };
      const provider = providerOf(new URL(real.issuer), claims, testClient, 5000);
      const { location, secret } = await provider.begin(base);
      const signedIn = await provider.finish(new URL(await real.authorize(location)), secret);
      expect(signedIn).toMatchObject({ subject: 'ada (by name)', role: 'Engineer' });
      expect(await provider.refresh(signedIn?.refreshToken ?? '')).toMatchObject({ subject: 'ada (by name)' });
    } finally {
      await real.stop();
    }
  });
});
