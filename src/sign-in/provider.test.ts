/** A provider that is away or silent [identity §9]; a real one is in the e2e tests. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { plainRoleClaim } from '../gateway/roles.ts';
import { Provider } from './provider.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function providerAt(answer: RequestListener): Promise<Provider> {
  const listening = createServer(answer);
  server = listening;
  await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done));
  const issuer = new URL(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`);
  return new Provider({
    config: { issuer, clientId: 'setpoint', clientSecret: null, scope: 'openid' },
    claim: plainRoleClaim,
    clock: systemClock,
    log: silentLog,
    limits: { provider_timeout_ms: 150 },
  });
}

describe('[identity §9] a provider in trouble', () => {
  test('`provider_timeout_ms`: one that does not answer is away, for a sign-in and for a refresh', async () => {
    const provider = await providerAt(() => undefined);
    await expect(provider.begin('http://127.0.0.1')).rejects.toMatchObject({ code: 'provider-unavailable' });
    expect(await provider.refresh('token')).toBe('away');
    expect(await provider.endSessionUrl()).toBeNull();
    expect(await provider.finish(new URL('http://127.0.0.1/session/callback?code=x&state=y'), 'a.b.c')).toBeNull();
  });

  test('it is asked again: one that was away is found when it is back', async () => {
    let isBack = false;
    const provider = await providerAt((request, response) => {
      if (!isBack) {
        response.writeHead(503).end();
        return;
      }
      const issuer = `http://${request.headers.host}`;
      const metadata = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
      if (request.url?.includes('openid-configuration') === true)
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      else response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
    });
    await expect(provider.begin('http://127.0.0.1')).rejects.toMatchObject({ code: 'provider-unavailable' });
    isBack = true;
    const { location, secret } = await provider.begin('http://127.0.0.1:8080');
    expect(new URL(location).searchParams.get('redirect_uri')).toBe('http://127.0.0.1:8080/session/callback');
    expect(secret.split('.')).toHaveLength(3);
    expect(await provider.refresh('token')).toBe('refused');
  });
});
