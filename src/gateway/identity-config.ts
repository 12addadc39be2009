/** Identity settings from the environment [identity §1]. Errors name the variable, never its value. */

import { type IdentityClaims, plainClaims, plainRoleClaim, type Role, type RoleClaim, roles } from './claims.ts';

export interface BearerConfig {
  readonly token: string;
  readonly tenantId: string;
  readonly projectId: string;
  readonly subjectId: string;
  readonly permissions: readonly string[];
}

export interface IdentityConfig {
  /** The key that verifies JWTs: a shared secret, a provider's key set, or the site's own key. */
  readonly jwt:
    | { readonly kind: 'secret'; readonly secret: Uint8Array; readonly issuer?: string; readonly audience?: string }
    | { readonly kind: 'jwks'; readonly url: URL; readonly issuer: string; readonly audience: string }
    | { readonly kind: 'local' };
  /** Null if any of its variables is missing or empty: every opaque token is then refused. */
  readonly bearer: BearerConfig | null;
  /** The site's tenant and project if configured. */
  readonly scope: { readonly tenantId: string; readonly projectId: string } | null;
  /** Of a provider, and of tokens that the service does not issue. */
  readonly claims: IdentityClaims;
  /** The provider for signing in to the console; null without one. */
  readonly provider: ProviderConfig | null;
  readonly warnings: readonly string[];
}

export interface ProviderConfig {
  readonly issuer: URL;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  readonly scope: string;
}

/** Thrown at start; its message is one line for the operator. */
export class IdentityConfigError extends Error {}

/** `offline_access` requests a refresh token; for a provider that refuses this scope, set others in `SVC_OIDC_SCOPE`. */
const defaultScope = 'openid profile offline_access';
const secretBytesMinimum = 32;
const shortTokenLength = 32;
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const identifierPattern = /^[A-Za-z0-9._:-]{1,128}$/;

export function identityConfig(env: Readonly<Record<string, string | undefined>>): IdentityConfig {
  const warnings: string[] = [];
  const bearer = bearerConfig(env, warnings);
  const jwt = jwtConfig(env);
  if (jwt.kind === 'jwks' && jwt.url.protocol !== 'https:' && !loopback.test(jwt.url.hostname))
    warnings.push('SVC_JWT_JWKS_URL is not https: anyone on the network path can issue tokens');
  const { SVC_JWT_ROLE_CLAIM: role = '', SVC_JWT_ROLE_MAP: map = '', SVC_JWT_SUBJECT_CLAIM: subject = '' } = env;
  const claims = { subject: subject === '' ? plainClaims.subject : pathOf(subject), role: roleClaimOf(role, map) };
  const provider = providerConfig(env);
  if (jwt.kind === 'local' && provider === null && role + subject !== '')
    warnings.push('SVC_JWT_ROLE_CLAIM and SVC_JWT_SUBJECT_CLAIM have no effect: all tokens are those of the service');
  if (jwt.kind === 'local' && `${env.SVC_JWT_ISSUER ?? ''}${env.SVC_JWT_AUDIENCE ?? ''}` !== '')
    warnings.push('SVC_JWT_ISSUER and SVC_JWT_AUDIENCE have no effect without SVC_JWT_JWKS_URL or SVC_JWT_SECRET');
  return { jwt, bearer, scope: scopeConfig(env), claims, provider, warnings };
}

function jwtConfig(env: Readonly<Record<string, string | undefined>>): IdentityConfig['jwt'] {
  const {
    SVC_JWT_SECRET: secret = '',
    SVC_JWT_JWKS_URL: url = '',
    SVC_JWT_ISSUER: issuer = '',
    SVC_JWT_AUDIENCE: audience = '',
  } = env;
  if (secret !== '' && url !== '')
    throw new IdentityConfigError('SVC_JWT_SECRET and SVC_JWT_JWKS_URL are both set; set one');
  if (secret !== '') {
    const bytes = new TextEncoder().encode(secret);
    if (bytes.length < secretBytesMinimum)
      throw new IdentityConfigError(`SVC_JWT_SECRET has fewer than ${secretBytesMinimum} bytes`);
    return {
      kind: 'secret',
      secret: bytes,
      ...(issuer === '' ? {} : { issuer }),
      ...(audience === '' ? {} : { audience }),
    };
  }
  if (url === '') return { kind: 'local' };
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new IdentityConfigError('SVC_JWT_JWKS_URL is not an http or https address');
  if (issuer === '' || audience === '')
    throw new IdentityConfigError('SVC_JWT_ISSUER and SVC_JWT_AUDIENCE are required with SVC_JWT_JWKS_URL');
  return { kind: 'jwks', url: new URL(url), issuer, audience };
}

/** `SVC_JWT_ROLE_CLAIM` and `SVC_JWT_ROLE_MAP`. */
export function roleClaimOf(claim: string, map: string): RoleClaim {
  if (claim === '' && map !== '') throw new IdentityConfigError('SVC_JWT_ROLE_MAP is set without SVC_JWT_ROLE_CLAIM');
  if (claim === '') return plainRoleClaim;
  return { path: pathOf(claim), map: map === '' ? null : mapOf(map) };
}

/** A name, or a JSON pointer. */
function pathOf(claim: string): string[] {
  if (!claim.startsWith('/')) return [claim];
  return claim
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function mapOf(text: string): Map<string, Role> {
  const map = new Map<string, Role>();
  for (const entry of text.split(',')) {
    const [name = '', ...rest] = entry.split('=');
    const value = rest.join('=').trim();
    const role = roles.find((each) => each === name.trim());
    if (role === undefined || value === '')
      throw new IdentityConfigError(
        'SVC_JWT_ROLE_MAP must be such as Engineer=site-engineers,Admin=site-admins, with the roles Admin, Engineer and Viewer',
      );
    const known = map.get(value);
    if (known === undefined || roles.indexOf(role) > roles.indexOf(known)) map.set(value, role);
  }
  return map;
}

function providerConfig(env: Readonly<Record<string, string | undefined>>): ProviderConfig | null {
  const { SVC_OIDC_ISSUER: issuer = '', SVC_OIDC_CLIENT_ID: clientId = '', SVC_OIDC_CLIENT_SECRET: secret = '' } = env;
  if (issuer === '' && clientId === '' && secret === '') return null;
  if (issuer === '' || clientId === '')
    throw new IdentityConfigError('SVC_OIDC_ISSUER and SVC_OIDC_CLIENT_ID go together');
  const url = URL.parse(issuer);
  if (url === null || (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback.test(url.hostname))))
    throw new IdentityConfigError('SVC_OIDC_ISSUER must be an https address, or a loopback one');
  return {
    issuer: url,
    clientId,
    clientSecret: secret === '' ? null : secret,
    scope: env.SVC_OIDC_SCOPE ?? defaultScope,
  };
}

function bearerConfig(env: Readonly<Record<string, string | undefined>>, warnings: string[]): BearerConfig | null {
  const token = env.SVC_CLOUD_API_BEARER_TOKEN ?? '';
  const tenantId = identifier(env, 'SVC_CLOUD_API_TENANT_ID');
  const projectId = identifier(env, 'SVC_CLOUD_API_PROJECT_ID');
  const subjectId = identifier(env, 'SVC_CLOUD_API_SUBJECT_ID');
  const permissions = (env.SVC_CLOUD_API_PERMISSIONS ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const missing = Object.entries({
    SVC_CLOUD_API_BEARER_TOKEN: token,
    SVC_CLOUD_API_TENANT_ID: tenantId,
    SVC_CLOUD_API_PROJECT_ID: projectId,
    SVC_CLOUD_API_SUBJECT_ID: subjectId,
    SVC_CLOUD_API_PERMISSIONS: permissions.join(),
  }).flatMap(([name, value]) => (value === '' ? [name] : []));
  if (missing.length > 0) {
    // Without a token, tenant and project alone are those of the site.
    if (token !== '')
      warnings.push(`every request with SVC_CLOUD_API_BEARER_TOKEN is denied without ${missing.join(' and ')}`);
    return null;
  }
  if (token.length < shortTokenLength)
    warnings.push(`SVC_CLOUD_API_BEARER_TOKEN has fewer than ${shortTokenLength} characters`);
  return { token, tenantId, projectId, subjectId, permissions };
}

function scopeConfig(env: Readonly<Record<string, string | undefined>>): IdentityConfig['scope'] {
  const tenantId = identifier(env, 'SVC_CLOUD_API_TENANT_ID');
  const projectId = identifier(env, 'SVC_CLOUD_API_PROJECT_ID');
  return tenantId === '' || projectId === '' ? null : { tenantId, projectId };
}

function identifier(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name] ?? '';
  if (value !== '' && !identifierPattern.test(value))
    throw new IdentityConfigError(`${name} must be 1 to 128 of A-Z a-z 0-9 . _ : -`);
  return value;
}
