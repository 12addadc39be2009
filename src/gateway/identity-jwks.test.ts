/** Tokens of an identity provider [identity §1], against a real key server on loopback. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Log, LogFields } from '../base/log.ts';
import { silentLog } from '../base/log.ts';
import { type SimulatedClock, simulatedClock } from '../testing/simulated-clock.ts';
import { createIdentity, type Identity } from './identity.ts';
import { identityConfig } from './identity-config.ts';
import { gatewayLimits } from './limits.ts';

const nowSeconds = 1_700_000_000;
const issuer = 'https://id.example';
const audience = 'setpoint';
const good = { sub: 'ada', role: 'Engineer', exp: nowSeconds + 60, iss: issuer, aud: audience };

interface Key {
  readonly alg: 'RS256' | 'ES256' | 'EdDSA';
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}
const rsa = (kid: string, bits = 2048): Key => ({
  alg: 'RS256',
  kid,
  ...generateKeyPairSync('rsa', { modulusLength: bits }),
});
const ec = (kid: string): Key => ({ alg: 'ES256', kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) });
const ed = (kid: string): Key => ({ alg: 'EdDSA', kid, ...generateKeyPairSync('ed25519') });
const jwk = ({ alg, kid, publicKey }: Key) => ({ ...publicKey.export({ format: 'jwk' }), alg, kid, use: 'sig' });
const signed = (key: Key, claims: Readonly<Record<string, unknown>> = good, kid = key.kid): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: key.alg, kid }).sign(key.privateKey);

describe('[identity §1] an identity provider through JWKS', () => {
  let provider: Server;
  let keys: readonly unknown[];
  let asked: number;
  let answer: (response: ServerResponse) => void;
  let warnings: string[];
  let clock: SimulatedClock;

  beforeEach(async () => {
    keys = [];
    asked = 0;
    warnings = [];
    clock = simulatedClock(nowSeconds * 1000);
    answer = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));
    provider = createServer((_request, response) => {
      asked++;
      answer(response);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => provider.once('listening', resolve));
  });
  afterEach(() => {
    provider.closeAllConnections();
    provider.close();
  });

  function identity(limits: Partial<typeof gatewayLimits> = {}): Identity {
    const { port } = provider.address() as AddressInfo;
    const log: Log = { ...silentLog, warn: (message: string, _fields?: LogFields) => void warnings.push(message) };
    return createIdentity({
      session: async () => null,
      isRevoked: async () => false,
      config: identityConfig({
        SVC_JWT_JWKS_URL: `http://127.0.0.1:${port}/keys`,
        SVC_JWT_ISSUER: issuer,
        SVC_JWT_AUDIENCE: audience,
      }),
      key: generateKeyPairSync('ed25519'),
      site: { tenantId: 't', projectId: 'p' },
      clock,
      log,
      limits: { ...gatewayLimits, ...limits },
    });
  }
  const accepted = async (of: Identity, token: string): Promise<boolean> =>
    (await of.authenticate(`Bearer ${token}`)) !== null;

  /** Not accepted, but not refused for good: its holder must not be asked to sign in again. */
  const unchecked = async (of: Identity, token: string): Promise<void> => {
    const unavailable = {
      code: 'provider-unavailable',
      status: 503,
      retryable: true,
      retryAfterMs: expect.any(Number),
    };
    await expect(of.authenticate(`Bearer ${token}`)).rejects.toMatchObject(unavailable);
  };

  test.each([rsa('r'), ec('e'), ed('d')])('$alg is taken, and the key set is read once', async (key) => {
    keys = [jwk(rsa('other')), jwk(key)];
    const of = identity();
    for (let count = 0; count < 3; count++) expect(await accepted(of, await signed(key))).toBe(true);
    expect(asked).toBe(1);
    expect(warnings).toEqual([]);
  });

  test('no other algorithm is: RS512, PS256 and HS256 keyed with the RSA public key', async () => {
    const key = rsa('r');
    keys = [{ ...jwk(key), alg: undefined }];
    const of = identity();
    for (const alg of ['RS512', 'PS256']) {
      const token = await new SignJWT({ ...good }).setProtectedHeader({ alg, kid: 'r' }).sign(key.privateKey);
      expect(await accepted(of, token)).toBe(false);
    }
    const head = [{ alg: 'HS256', kid: 'r' }, good]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    for (const bytes of [
      key.publicKey.export({ type: 'spki', format: 'pem' }),
      key.publicKey.export({ type: 'spki', format: 'der' }),
      JSON.stringify(jwk(key)),
    ]) {
      const confused = `${head}.${createHmac('sha256', bytes).update(head).digest('base64url')}`;
      expect(await accepted(of, confused)).toBe(false);
    }
    expect(await accepted(of, await signed(key))).toBe(true);
  });

  test('a symmetric key in the set verifies nothing', async () => {
    const secret = new TextEncoder().encode('a secret of exactly 32 bytes ...');
    keys = [{ kty: 'oct', k: Buffer.from(secret).toString('base64url'), alg: 'HS256', kid: 'o' }];
    const token = await new SignJWT({ ...good }).setProtectedHeader({ alg: 'HS256', kid: 'o' }).sign(secret);
    expect(await accepted(identity(), token)).toBe(false);
  });

  test('wrong kid, another provider’s key under a known kid, an RSA key of 1024 bits', async () => {
    const key = rsa('r');
    const weak = rsa('weak', 1024);
    keys = [jwk(key), jwk(weak)];
    const of = identity();
    expect(await accepted(of, await signed(key, good, 'unknown'))).toBe(false);
    expect(await accepted(of, await signed(rsa('r')))).toBe(false);
    const head = [{ alg: 'RS256', kid: 'weak' }, good]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const weakly = `${head}.${sign('sha256', Buffer.from(head), weak.privateKey).toString('base64url')}`;
    expect(await accepted(of, weakly)).toBe(false);
    expect(await accepted(of, await signed(key))).toBe(true);
  });

  test('issuer and audience are checked, exp is required', async () => {
    const key = ed('d');
    keys = [jwk(key)];
    const of = identity();
    for (const [name, value] of [
      ['iss', 'https://other.example'],
      ['iss', undefined],
      ['aud', 'other'],
      ['aud', undefined],
      ['exp', undefined],
      ['exp', nowSeconds - 5],
      ['role', 'admin'],
    ] as const)
      expect(await accepted(of, await signed(key, { ...good, [name]: value }))).toBe(false);
  });

  test('rotation: an unknown key is looked for again, but not more often than jwks_refresh_ms', async () => {
    const [first, second] = [ed('first'), ed('second')];
    keys = [jwk(first)];
    const slow = identity();
    const quick = identity({ jwks_refresh_ms: 0 });
    for (const each of [slow, quick]) expect(await accepted(each, await signed(first))).toBe(true);
    expect(asked).toBe(2);
    keys = [jwk(second)];
    expect(await accepted(quick, await signed(second))).toBe(true);
    expect(await accepted(quick, await signed(first))).toBe(false);
    expect(asked).toBe(4);
    for (let count = 0; count < 50; count++) expect(await accepted(slow, await signed(second))).toBe(false);
    expect(asked).toBe(4);
  });

  test('a key that the provider has withdrawn is used no longer than jwks_max_age_ms', async () => {
    const [first, second] = [ed('first'), ed('second')];
    keys = [jwk(first)];
    const remembering = identity();
    const forgetful = identity({ jwks_max_age_ms: 0 });
    for (const each of [remembering, forgetful]) expect(await accepted(each, await signed(first))).toBe(true);
    keys = [jwk(second)];
    expect(await accepted(remembering, await signed(first))).toBe(true);
    expect(await accepted(forgetful, await signed(first))).toBe(false);
  });

  test('calls that arrive together share one reading', async () => {
    const key = ed('d');
    keys = [jwk(key)];
    const of = identity();
    const token = await signed(key);
    expect(await Promise.all(Array.from({ length: 50 }, () => accepted(of, token)))).not.toContain(false);
    expect(asked).toBe(1);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['answers 500', (response) => void response.writeHead(500).end()],
    ['redirects', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['answers no JSON', (response) => void response.end('<html>')],
    ['answers no key set', (response) => void response.end('{"keys":7}')],
    ['hangs up', (response) => void response.destroy()],
  ])('a provider that %s: nobody, and the log says so', async (_what, bad) => {
    const key = ed('d');
    answer = bad;
    const of = identity();
    await unchecked(of, await signed(key));
    expect(warnings).toHaveLength(1);
    // The provider is back: the next call is served.
    clock.advance(gatewayLimits.provider_retry_ms);
    keys = [jwk(key)];
    answer = (response) => response.end(JSON.stringify({ keys }));
    expect(await accepted(of, await signed(key))).toBe(true);
  });

  test('[identity §1] a key set up to jwks_bytes counts, one byte more does not', async () => {
    const key = ed('d');
    keys = [jwk(key)];
    const body = (bytes: number): string => {
      const text = JSON.stringify({ keys, pad: '' });
      return text.replace('"pad":""', `"pad":"${'x'.repeat(bytes - text.length)}"`);
    };
    answer = (response) => response.end(body(4096));
    expect(await accepted(identity({ jwks_bytes: 4096 }), await signed(key))).toBe(true);
    answer = (response) => response.end(body(4097));
    await unchecked(identity({ jwks_bytes: 4096 }), await signed(key));
    expect(warnings).toHaveLength(1);
  });

  test('a provider that never answers: unauthenticated, within jwks_timeout_ms', async () => {
    answer = () => undefined;
    const began = performance.now();
    await unchecked(identity({ jwks_timeout_ms: 100 }), await signed(ed('d')));
    expect(performance.now() - began).toBeLessThan(2000);
    expect(warnings).toHaveLength(1);
  });

  test('an unreachable provider: unauthenticated', async () => {
    const of = identity();
    provider.close();
    await unchecked(of, await signed(ed('d')));
    expect(warnings).toHaveLength(1);
  });

  test('an unreachable provider is not asked again for `provider_retry_ms`, at its edge', async () => {
    const key = ed('d');
    keys = [jwk(key)];
    const of = identity({ provider_retry_ms: 2000 });
    answer = (response) => response.writeHead(502).end();
    await unchecked(of, await signed(key));
    clock.advance(1999);
    await unchecked(of, await signed(key));
    expect([asked, warnings.length]).toEqual([1, 1]);
    clock.advance(1);
    await unchecked(of, await signed(key));
    expect([asked, warnings.length]).toEqual([2, 2]);
  });

  test('while the provider is unreachable, its keys remain valid for `provider_grace_ms` beyond their age, at its edge', async () => {
    const [key, other] = [ed('d'), ed('other')];
    keys = [jwk(key)];
    const withGrace = identity({ jwks_max_age_ms: 0, provider_grace_ms: 60_000, provider_retry_ms: 1000 });
    const without = identity({ jwks_max_age_ms: 0 });
    for (const each of [withGrace, without]) expect(await accepted(each, await signed(key))).toBe(true);
    answer = (response) => response.destroy();
    await unchecked(without, await signed(key));
    clock.advance(1000);
    // A good token counts, a bad one does not.
    for (let again = 0; again < 2; again++) {
      expect(await accepted(withGrace, await signed(key, { ...good, exp: nowSeconds + 600 }))).toBe(true);
      expect(await accepted(withGrace, await signed(other))).toBe(false);
      expect(await accepted(withGrace, await signed(key, { ...good, exp: nowSeconds - 6 }))).toBe(false);
    }
    const late = await signed(key, { ...good, exp: nowSeconds + 600 });
    clock.advance(58_999);
    expect(await accepted(withGrace, late)).toBe(true);
    clock.advance(1);
    await unchecked(withGrace, late);
    // The grace begins again with each set that is read.
    answer = (response) => response.end(JSON.stringify({ keys }));
    clock.advance(1000);
    expect(await accepted(withGrace, late)).toBe(true);
    answer = (response) => response.destroy();
    clock.advance(59_999);
    expect(await accepted(withGrace, late)).toBe(true);
  });

  test('a token whose key cannot be used is not the provider’s trouble: a new key is still looked for', async () => {
    const [weak, later] = [rsa('weak', 1024), ed('later')];
    keys = [jwk(weak)];
    const of = identity({ jwks_refresh_ms: 0 });
    const head = [{ alg: 'RS256', kid: 'weak' }, good]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const weakly = `${head}.${sign('sha256', Buffer.from(head), weak.privateKey).toString('base64url')}`;
    expect(await accepted(of, weakly)).toBe(false);
    keys = [jwk(later)];
    expect(await accepted(of, await signed(later))).toBe(true);
    expect(warnings).toEqual([]);
  });

  test('a bad token is not the provider’s trouble', async () => {
    keys = [jwk(ed('d'))];
    const of = identity();
    for (const token of ['x', 'a.b.c', await signed(rsa('r')), await signed(ed('d'))])
      expect(await accepted(of, token)).toBe(false);
    expect(warnings).toEqual([]);
  });

  test('SVC_JWT_ISSUER and SVC_JWT_AUDIENCE are required, the address is http or https', () => {
    const env = { SVC_JWT_JWKS_URL: 'https://id.example/keys', SVC_JWT_ISSUER: issuer, SVC_JWT_AUDIENCE: audience };
    expect(identityConfig(env).jwt.kind).toBe('jwks');
    expect(() => identityConfig({ ...env, SVC_JWT_ISSUER: '' })).toThrow(/SVC_JWT_ISSUER/);
    expect(() => identityConfig({ ...env, SVC_JWT_AUDIENCE: '' })).toThrow(/SVC_JWT_AUDIENCE/);
    expect(identityConfig(env).warnings).toEqual([]);
    for (const [url, warned] of [
      ['http://id.example/keys', true],
      ['http://127.0.0.1.id.example/keys', true],
      ['http://127.0.0.1:9/keys', false],
      ['http://[::1]/keys', false],
    ] as const)
      expect(identityConfig({ ...env, SVC_JWT_JWKS_URL: url }).warnings).toHaveLength(warned ? 1 : 0);
    for (const url of ['file:///keys', 'id.example', 'javascript:alert(1)', ' '])
      expect(() => identityConfig({ ...env, SVC_JWT_JWKS_URL: url })).toThrow(/SVC_JWT_JWKS_URL/);
  });
});
