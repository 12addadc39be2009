/** Identity, [identity §1] sentence by sentence: which identity each credential gives, and that every bad one is refused. */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { silentLog } from '../base/log.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { createIdentity, type Identity, issueToken, tokenLifetimeSecondsMaximum } from './identity.ts';
import { identityConfig } from './identity-config.ts';
import { gatewayLimits } from './limits.ts';
import { localScope, signingKey } from './local-keys.ts';

const site = { tenantId: 'site-tenant', projectId: 'site-project' };
const secret = 'a secret of exactly 32 bytes ...';
const nowSeconds = 1_700_000_000;
const hmacKey = new TextEncoder().encode(secret);

type Claims = Readonly<Record<string, unknown>>;
const good: Claims = { sub: 'ada', role: 'Engineer', exp: nowSeconds + 60 };
const without = (name: string): Claims => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
const hs256 = (claims: Claims): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(hmacKey);
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-identity-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function identityWith(env: Readonly<Record<string, string>>): Identity {
  return createIdentity({
    session: async () => null,
    isRevoked: async () => false,
    config: identityConfig(env),
    key: signingKey(folder),
    site,
    clock: simulatedClock(nowSeconds * 1000),
    log: silentLog,
    limits: gatewayLimits,
  });
}
const withSecret = (more: Readonly<Record<string, string>> = {}): Identity =>
  identityWith({ SVC_JWT_SECRET: secret, ...more });
const accepted = async (identity: Identity, token: string): Promise<boolean> =>
  (await identity.authenticate(`Bearer ${token}`)) !== null;

describe('[identity §1] a token signed with SVC_JWT_SECRET', () => {
  test('becomes its subject, for the site when it names no tenant', async () => {
    expect(await withSecret().authenticate(`Bearer ${await hs256(good)}`)).toMatchObject({
      kind: 'user',
      subjectId: 'ada',
      ...site,
      roles: ['Engineer'],
    });
  });

  test('[identity §8] has its subject in another claim if configured', async () => {
    const identity = withSecret({ SVC_JWT_SUBJECT_CLAIM: 'email' });
    const token = await hs256({ ...good, email: 'ada@example.org' });
    expect(await identity.authenticate(`Bearer ${token}`)).toMatchObject({ subjectId: 'ada@example.org' });
    expect(await accepted(identity, await hs256(good))).toBe(false);
  });

  test('the secret has at least 32 bytes, counted as bytes', () => {
    expect(() => identityConfig({ SVC_JWT_SECRET: 'x'.repeat(31) })).toThrow(/SVC_JWT_SECRET.*32 bytes/);
    expect(identityConfig({ SVC_JWT_SECRET: 'x'.repeat(32) }).jwt.kind).toBe('secret');
    expect(identityConfig({ SVC_JWT_SECRET: 'é'.repeat(16) }).jwt.kind).toBe('secret');
    expect(() => identityConfig({ SVC_JWT_SECRET: 'é'.repeat(15) })).toThrow();
  });

  test('the refusal of a secret does not show it', () => {
    expect(() => identityConfig({ SVC_JWT_SECRET: 'hunter2' })).toThrow(/^((?!hunter2).)*$/);
  });

  test.each([
    ['sub of 1', { ...good, sub: 'a' }, true],
    ['sub of 128', { ...good, sub: 'a'.repeat(128) }, true],
    ['sub of 0', { ...good, sub: '' }, false],
    ['sub of 129', { ...good, sub: 'a'.repeat(129) }, false],
    ['sub missing', without('sub'), false],
    ['sub of any characters', { ...good, sub: 'auth0|ada@example.org é😀' }, true],
    ['sub that no audit event can hold', { ...good, sub: 'a\0b' }, false],
    ['sub a number', { ...good, sub: 7 }, false],
    ['role missing', without('role'), false],
    ['role in lower case', { ...good, role: 'engineer' }, false],
    ['role in upper case', { ...good, role: 'ADMIN' }, false],
    ['role as an array', { ...good, role: ['Admin'] }, false],
    ['role unknown', { ...good, role: 'Root' }, false],
    ['role of a prototype', { ...good, role: 'constructor' }, false],
    ['role with a blank', { ...good, role: 'Admin ' }, false],
    ['exp missing', without('exp'), false],
    ['exp null', { ...good, exp: null }, false],
    ['exp a text', { ...good, exp: String(nowSeconds + 60) }, false],
    // A clock may be off by 5 s, and no more.
    ['expired 4 s ago', { ...good, exp: nowSeconds - 4 }, true],
    ['expired 5 s ago', { ...good, exp: nowSeconds - 5 }, false],
    ['valid in 5 s', { ...good, nbf: nowSeconds + 5 }, true],
    ['valid in 6 s', { ...good, nbf: nowSeconds + 6 }, false],
    ['issued in 5 s', { ...good, iat: nowSeconds + 5 }, true],
    ['issued in 6 s', { ...good, iat: nowSeconds + 6 }, false],
    ['tenant and project', { ...good, tenant_id: 't', project_id: 'p' }, true],
    ['tenant without project', { ...good, tenant_id: 't' }, false],
    ['project without tenant', { ...good, project_id: 'p' }, false],
    ['tenant null', { ...good, tenant_id: null, project_id: 'p' }, false],
    ['both null', { ...good, tenant_id: null, project_id: null }, false],
    ['tenant not an identifier', { ...good, tenant_id: 'a b', project_id: 'p' }, false],
    ['tenant of 128', { ...good, tenant_id: 't'.repeat(128), project_id: 'p' }, true],
    ['tenant of 129', { ...good, tenant_id: 't'.repeat(129), project_id: 'p' }, false],
  ])('%s', async (_what, claims, expected) => {
    expect(await accepted(withSecret(), await hs256(claims))).toBe(expected);
  });

  test('the 5 s are counted to the second: until just before exp + 5 s', async () => {
    const clock = simulatedClock(nowSeconds * 1000);
    const parts = { config: identityConfig({ SVC_JWT_SECRET: secret }), key: signingKey(folder), site, clock };
    const identity = createIdentity({
      session: async () => null,
      isRevoked: async () => false,
      ...parts,
      log: silentLog,
      limits: gatewayLimits,
    });
    const token = await hs256({ ...good, exp: nowSeconds });
    clock.advance(4999);
    expect(await accepted(identity, token)).toBe(true);
    clock.advance(1);
    expect(await accepted(identity, token)).toBe(false);
  });

  test('iss and aud are checked when they are configured', async () => {
    const identity = withSecret({ SVC_JWT_ISSUER: 'https://id.example', SVC_JWT_AUDIENCE: 'setpoint' });
    const matching = { ...good, iss: 'https://id.example', aud: ['other', 'setpoint'] };
    expect(await accepted(identity, await hs256(matching))).toBe(true);
    expect(await accepted(identity, await hs256({ ...matching, iss: 'https://id.example/' }))).toBe(false);
    expect(await accepted(identity, await hs256({ ...matching, aud: 'Setpoint' }))).toBe(false);
    expect(await accepted(identity, await hs256(good))).toBe(false);
    // Not configured: refused, whatever the token contains.
    expect(await accepted(withSecret(), await hs256({ ...good, iss: 'x', aud: 'y' }))).toBe(true);
  });

  test('a secret and a key set at once stop the start', () => {
    expect(() => identityConfig({ SVC_JWT_SECRET: secret, SVC_JWT_JWKS_URL: 'https://id.example/keys' })).toThrow(
      /SVC_JWT_SECRET and SVC_JWT_JWKS_URL/,
    );
  });
});

describe('[identity §1] alg none and algorithm confusion are refused', () => {
  test('none, in every spelling, with and without a signature', async () => {
    const identity = withSecret();
    for (const alg of ['none', 'None', 'NONE', 'nOnE']) {
      const unsigned = `${encoded({ alg, typ: 'JWT' })}.${encoded(good)}`;
      expect(await accepted(identity, `${unsigned}.`)).toBe(false);
      expect(await accepted(identity, unsigned)).toBe(false);
      expect(await accepted(identity, `${unsigned}.${(await hs256(good)).split('.')[2]}`)).toBe(false);
    }
  });

  test('with a secret only HS256: HS384 and HS512 with the right secret are refused', async () => {
    for (const alg of ['HS384', 'HS512']) {
      const head = `${encoded({ alg })}.${encoded(good)}`;
      const signature = createHmac(alg === 'HS384' ? 'sha384' : 'sha512', hmacKey)
        .update(head)
        .digest('base64url');
      expect(await accepted(withSecret(), `${head}.${signature}`)).toBe(false);
    }
  });

  test('HS256 keyed with the public key of the site is refused', async () => {
    const { publicKey } = signingKey(folder);
    const identity = identityWith({});
    const head = `${encoded({ alg: 'HS256' })}.${encoded(good)}`;
    for (const bytes of [
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'der' }),
    ])
      expect(await accepted(identity, `${head}.${createHmac('sha256', bytes).update(head).digest('base64url')}`)).toBe(
        false,
      );
  });

  test('a key that the token brings along is not used', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const jwk = publicKey.export({ format: 'jwk' });
    const token = await new SignJWT({ ...good }).setProtectedHeader({ alg: 'EdDSA', jwk }).sign(privateKey);
    expect(await accepted(identityWith({}), token)).toBe(false);
  });

  test('a critical extension that is not understood is refused', async () => {
    const head = `${encoded({ alg: 'HS256', crit: ['exp'], exp: 1 })}.${encoded(good)}`;
    const signature = createHmac('sha256', hmacKey).update(head).digest('base64url');
    expect(await accepted(withSecret(), `${head}.${signature}`)).toBe(false);
  });
});

describe('[identity §1] Authorization: Bearer', () => {
  test('the scheme in any case, then one token', async () => {
    const identity = withSecret();
    const token = await hs256(good);
    for (const header of [`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`])
      expect(await identity.authenticate(header)).not.toBeNull();
    for (const header of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      token,
      `Basic ${token}`,
      `Bearer${token}`,
      `Bearer ${token} ${token}`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${token},`,
      ` Bearer ${token}`,
      `Bearer\t${token}`,
      `Basic ${Buffer.from('ada:secret').toString('base64')}`,
    ])
      expect(await identity.authenticate(header)).toBeNull();
  });

  test('malformed tokens are unauthenticated', async () => {
    const identity = withSecret();
    const [head = '', body = '', signature = ''] = (await hs256(good)).split('.');
    for (const token of [
      `${head}.${body}`,
      `${head}.${body}.${signature}.`,
      `${head}.${body}.`,
      `.${body}.${signature}`,
      `${head}..${signature}`,
      `${head}.${body}.!!!!`,
      `%%%.${body}.${signature}`,
      `${head}.${body}=.${signature}`,
      `${head}.${body}.${signature.slice(0, -2)}`,
      `${Buffer.from('{').toString('base64url')}.${body}.${signature}`,
      `${head}.${encoded({ ...good, role: 'Admin' })}.${signature}`,
      `${head}.${encoded([good])}.${signature}`,
      '..',
      'x'.repeat(1_000_000),
    ])
      expect(await accepted(identity, token)).toBe(false);
  });

  test('for any header the result is a subject or null, never an exception', async () => {
    const identity = withSecret({
      SVC_CLOUD_API_BEARER_TOKEN: 'an opaque token of more than 32 characters',
      SVC_CLOUD_API_TENANT_ID: 't',
      SVC_CLOUD_API_PROJECT_ID: 'p',
      SVC_CLOUD_API_SUBJECT_ID: 's',
      SVC_CLOUD_API_PERMISSIONS: 'audit.event.read',
    });
    const valid = await hs256(good);
    await fc.assert(
      fc.asyncProperty(fc.nat(valid.length - 1), fc.string({ minLength: 1, maxLength: 1 }), async (at, letter) => {
        fc.pre(letter !== valid[at]);
        const changed = valid.slice(0, at) + letter + valid.slice(at + 1);
        const subject = await identity.authenticate(`Bearer ${changed}`);
        // The last letter of a signature has bits that decode to nothing.
        if (at < valid.length - 1) expect(subject).toBeNull();
      }),
      { numRuns: 300 },
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 200 }), async (text) => {
        expect(await identity.authenticate(text)).toBeNull();
        expect(await identity.authenticateToken(text)).toBeNull();
      }),
    );
  });
});

describe('[identity §1] the local key', () => {
  const claims = { subject: 'ada', role: 'Viewer', issuedAtSeconds: nowSeconds, lifetimeSeconds: 60 } as const;

  test('is made at first start, readable by its owner only, and used again at the second', async () => {
    const first = signingKey(folder);
    expect(statSync(join(folder, 'signing-key.pem')).mode & 0o777).toBe(0o600);
    const token = await issueToken(first, claims);
    expect(await accepted(identityWith({}), token)).toBe(true);
    expect(signingKey(folder).publicKey.equals(first.publicKey)).toBe(true);
    const other = mkdtempSync(join(tmpdir(), 'setpoint-identity-'));
    expect(await accepted(identityWith({}), await issueToken(signingKey(other), claims))).toBe(false);
    rmSync(other, { recursive: true });
  });

  test('[identity §8] signs tokens with `sub` and `role`, whatever claims a provider uses', async () => {
    const provider = { SVC_OIDC_ISSUER: 'https://id.example', SVC_OIDC_CLIENT_ID: 'setpoint' };
    const names = { SVC_JWT_ROLE_CLAIM: 'groups', SVC_JWT_ROLE_MAP: 'Viewer=all', SVC_JWT_SUBJECT_CLAIM: 'email' };
    const token = await issueToken(signingKey(folder), claims);
    expect(await identityWith({ ...provider, ...names }).authenticate(`Bearer ${token}`)).toMatchObject({
      subjectId: 'ada',
      roles: ['Viewer'],
    });
  });

  test('is not asked when a secret is configured', async () => {
    expect(await accepted(withSecret(), await issueToken(signingKey(folder), claims))).toBe(false);
    expect(await accepted(identityWith({}), await hs256(good))).toBe(false);
  });

  test('signs for at most 30 days', async () => {
    const key = signingKey(folder);
    const maximum = await issueToken(key, { ...claims, lifetimeSeconds: tokenLifetimeSecondsMaximum });
    expect((await identityWith({}).authenticateToken(maximum))?.expiresMs).toBe((nowSeconds + 30 * 86_400) * 1000);
    expect(() => issueToken(key, { ...claims, lifetimeSeconds: 30 * 86_400 + 1 })).toThrow(RangeError);
    expect(() => issueToken(key, { ...claims, lifetimeSeconds: 0 })).toThrow(RangeError);
  });

  test('the local tenant and project are made once', () => {
    const first = localScope(folder);
    expect(localScope(folder)).toEqual(first);
    expect(first.tenantId).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
    expect(statSync(join(folder, 'scope.json')).mode & 0o777).toBe(0o600);
  });
});

describe('[identity §4] one subject: permissions of a role', () => {
  const table = {
    'automation.rule.manage': ['Admin', 'Engineer'],
    'automation.rule.execute': ['Admin', 'Engineer'],
    'automation.point.command': ['Admin', 'Engineer'],
    'identity.user.manage': ['Admin'],
    'automation.read': ['Admin', 'Engineer', 'Viewer'],
    'data_processing.read': ['Admin', 'Engineer', 'Viewer'],
    'data_processing.run': ['Admin', 'Engineer'],
    'audit.event.read': ['Admin'],
  };
  test.each(['Admin', 'Engineer', 'Viewer'])('%s', async (role) => {
    const subject = await withSecret().authenticate(`Bearer ${await hs256({ ...good, role })}`);
    const expected = Object.entries(table).flatMap(([name, roles]) => (roles.includes(role) ? [name] : []));
    expect([...(subject?.permissions ?? [])].toSorted()).toEqual(expected.toSorted());
  });
});

describe('[identity §3] the configured bearer', () => {
  const opaque = 'opaque-token-of-at-least-32-chars';
  const env = {
    SVC_CLOUD_API_BEARER_TOKEN: opaque,
    SVC_CLOUD_API_TENANT_ID: 'site-tenant',
    SVC_CLOUD_API_PROJECT_ID: 'site-project',
    SVC_CLOUD_API_SUBJECT_ID: 'fleet',
    SVC_CLOUD_API_PERMISSIONS: 'audit.event.read, automation.rule.manage ,nonsense',
  };

  test('is a service account; of its permissions just audit.event.read has an effect', async () => {
    const subject = await withSecret(env).authenticate(`Bearer ${opaque}`);
    expect(subject).toEqual({
      kind: 'service-account',
      subjectId: 'fleet',
      ...site,
      roles: [],
      permissions: new Set(['audit.event.read']),
    });
    const powerless = { ...env, SVC_CLOUD_API_PERMISSIONS: 'automation.read,data_processing.run' };
    expect((await withSecret(powerless).authenticate(`Bearer ${opaque}`))?.permissions).toEqual(new Set());
  });

  test('only exactly the token', async () => {
    for (const wrong of [opaque.slice(0, -1), `${opaque}x`, opaque.toUpperCase(), '', 'x'])
      expect(await accepted(withSecret(env), wrong)).toBe(false);
  });

  test.each(Object.keys(env))('%s missing or empty: the token is nobody, JWTs are unaffected', async (name) => {
    const rest = Object.fromEntries(Object.entries(env).filter(([key]) => key !== name));
    for (const incomplete of [rest, { ...env, [name]: '' }]) {
      expect(await accepted(withSecret(incomplete), opaque)).toBe(false);
      expect(await accepted(withSecret(incomplete), await hs256(good))).toBe(true);
    }
  });

  test.each(['SVC_CLOUD_API_TENANT_ID', 'SVC_CLOUD_API_PROJECT_ID', 'SVC_CLOUD_API_SUBJECT_ID'])(
    '%s is an identifier of 1 to 128; anything else stops the start and names it',
    (name) => {
      for (const bad of ['a b', 'a/b', 'é', 'a'.repeat(129), ' a', 'a\n'])
        expect(() => identityConfig({ ...env, [name]: bad })).toThrow(name);
      for (const fine of ['a', 'A-z.0_9:x', 'a'.repeat(128)])
        expect(identityConfig({ ...env, [name]: fine }).bearer).not.toBeNull();
    },
  );

  test('warns of an incomplete one, whose requests are all denied', () => {
    const { SVC_CLOUD_API_SUBJECT_ID: _, ...without } = env;
    expect(identityConfig({ ...without, SVC_CLOUD_API_PERMISSIONS: ' , ' }).warnings).toEqual([
      'every request with SVC_CLOUD_API_BEARER_TOKEN is denied without SVC_CLOUD_API_SUBJECT_ID and SVC_CLOUD_API_PERMISSIONS',
    ]);
    expect(identityConfig(env).warnings).toEqual([]);
    // Of the site, without such a token.
    expect(identityConfig({ ...without, SVC_CLOUD_API_BEARER_TOKEN: '' }).warnings).toEqual([]);
  });

  test('warns of an issuer without the keys of a provider or a secret: the service then accepts only its own tokens', () => {
    const issuer = { SVC_JWT_ISSUER: 'https://id.example', SVC_JWT_AUDIENCE: 'setpoint' };
    expect(identityConfig(issuer).warnings).toEqual([expect.stringContaining('have no effect without')]);
    expect(identityConfig({ ...issuer, SVC_JWT_SECRET: secret }).warnings).toEqual([]);
  });

  test('under 32 characters it is accepted with a warning that does not show it', async () => {
    const short = { ...env, SVC_CLOUD_API_BEARER_TOKEN: 'x'.repeat(31) };
    expect(identityConfig(short).warnings).toEqual([expect.stringContaining('SVC_CLOUD_API_BEARER_TOKEN')]);
    expect(identityConfig(short).warnings.join()).not.toContain('xxx');
    expect(await accepted(withSecret(short), 'x'.repeat(31))).toBe(true);
    expect(identityConfig({ ...short, SVC_CLOUD_API_BEARER_TOKEN: 'x'.repeat(32) }).warnings).toEqual([]);
  });

  test('its tenant and project are the site’s', () => {
    expect(identityConfig(env).scope).toEqual(site);
    expect(identityConfig({}).scope).toBeNull();
  });
});

describe('[identity §7.3] a token that counts no more', () => {
  const questioned = async () => {
    const asked: unknown[] = [];
    const key = signingKey(folder);
    const make = (answer: () => Promise<boolean>): Identity =>
      createIdentity({
        session: async () => null,
        isRevoked(claims) {
          asked.push(claims);
          return answer();
        },
        config: identityConfig({}),
        key,
        site,
        clock: simulatedClock(nowSeconds * 1000),
        log: silentLog,
        limits: gatewayLimits,
      });
    const claims = { subject: 'ada', role: 'Viewer', issuedAtSeconds: nowSeconds, lifetimeSeconds: 60 } as const;
    return { asked, make, token: await issueToken(key, { ...claims, tokenId: 'id-1' }) };
  };

  test('is refused, whichever it is; the question has its subject, its id and when it was issued', async () => {
    const { asked, make, token } = await questioned();
    expect(
      await accepted(
        make(async () => false),
        token,
      ),
    ).toBe(true);
    expect(
      await accepted(
        make(async () => true),
        token,
      ),
    ).toBe(false);
    expect(asked[0]).toEqual({ subject: 'ada', tokenId: 'id-1', issuedAtSeconds: nowSeconds });
  });

  test('if that cannot be checked, a valid token is neither accepted nor refused; a bad one is still refused', async () => {
    const away = new Fault('storage-unavailable', 'the database is away');
    const { token, make } = await questioned();
    const identity = make(() => Promise.reject(away));
    await expect(identity.authenticate(`Bearer ${token}`)).rejects.toBe(away);
    expect(await accepted(identity, `${token}x`)).toBe(false);
  });
});
