/**
 * Identity [identity §4], [identity §1]: authenticates a bearer credential. A JWT is verified against exactly
 * one key with explicitly named algorithms; anything else can only be the configured opaque token. All failures look
 * the same from outside.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Permission, Subject } from '../api/capability.ts';
import type { AuditScope } from '../audit/event.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Log } from '../base/log.ts';
import { type IdentityClaims, plainClaims, type Role, roleOf, subjectIn } from './claims.ts';
import type { BearerConfig, IdentityConfig } from './identity-config.ts';
import type { GatewayLimits } from './limits.ts';
import type { SigningKey } from './local-keys.ts';
import { ProviderKeys, type ProviderKeysParts } from './provider-keys.ts';
import { rememberVerified, type Verify } from './verified-tokens.ts';

const reads: readonly Permission[] = ['automation.read', 'data_processing.read'];
const engineering: readonly Permission[] = [
  ...reads,
  'automation.rule.manage',
  'automation.rule.execute',
  'automation.point.command',
  'data_processing.run',
];
const rolePermissions: Readonly<Record<Role, readonly Permission[]>> = {
  Viewer: reads,
  Engineer: engineering,
  Admin: [...engineering, 'audit.event.read', 'identity.user.manage'],
};

const toleranceSeconds = 5;
const identifierPattern = /^[A-Za-z0-9._:-]{1,128}$/;
/** Maximum lifetime of a token from `setpoint token`: 30 days. */
export const tokenLifetimeSecondsMaximum = 30 * 86_400;

export interface Identity {
  /**
   * The subject of an `Authorization` header, or null: missing, bad and expired are indistinguishable. Rejects if it cannot be checked:
   * the provider is unavailable, or the revocation list cannot be read.
   */
  authenticate(authorization: string | undefined): Promise<Subject | null>;
  /** As `authenticate`, for a bare token; also returns its expiry in wall milliseconds. */
  authenticateToken(token: string): Promise<Authenticated | null>;
  /** For a session cookie. */
  authenticateSession(cookie: string): Promise<Authenticated | null>;
}

interface Authenticated {
  readonly subject: Subject;
  /** Wall milliseconds. */
  readonly expiresMs: number;
}

/** The claims by which a token is revoked. */
export interface TokenClaims {
  readonly subject: string;
  /** Its `jti`; null for a token without one. */
  readonly tokenId: string | null;
  /** Null if the token has no `iat`. */
  readonly issuedAtSeconds: number | null;
}

export interface IdentityParts {
  readonly config: IdentityConfig;
  readonly key: SigningKey;
  /** The site's own tenant and project. */
  readonly site: AuditScope;
  readonly clock: Clock;
  readonly log: Log;
  /** The owner of a session cookie; null if there is no such session. */
  readonly session: (cookie: string) => Promise<Authenticated | null>;
  /** Whether an otherwise valid token is revoked. */
  readonly isRevoked: (claims: TokenClaims) => Promise<boolean>;
  readonly limits: ProviderKeysParts['limits'] & Pick<GatewayLimits, 'verified_tokens_max' | 'verified_token_ms'>;
}

export function createIdentity(parts: IdentityParts): Identity {
  const { config, site, clock } = parts;
  // A provider may withdraw keys at any time: its tokens are verified every time.
  const verify =
    config.jwt.kind === 'jwks'
      ? verifier(parts)
      : rememberVerified(verifier(parts), { clock, limits: parts.limits, toleranceSeconds });
  // Whose tokens the service issues itself has no say in their claims.
  const names = config.jwt.kind === 'local' ? plainClaims : config.claims;
  /** For as long as their payloads are cached. */
  const subjects = new WeakMap<JWTPayload, Subject | string>();
  const subjectIn = (payload: JWTPayload): Subject | string => {
    const subject = subjects.get(payload) ?? jwtSubject(payload, site, names);
    subjects.set(payload, subject);
    return subject;
  };
  /** The subject of the token, or why it is refused; rejects if verification fails. */
  const verifiedSubject = async (
    token: string,
  ): Promise<(Authenticated & { readonly claims: TokenClaims }) | string> => {
    const payload = await verify(token);
    const subject = subjectIn(payload);
    if (typeof subject === 'string') return subject;
    if (payload.exp === undefined || isFromTheFuture(payload, clock)) return 'issued in the future';
    const { jti: tokenId = null, iat: issuedAtSeconds = null } = payload;
    const claims = { subject: subject.subjectId, tokenId, issuedAtSeconds };
    return { subject, expiresMs: payload.exp * 1000, claims };
  };
  const authenticateToken: Identity['authenticateToken'] = async (token) => {
    if (config.bearer !== null && sameToken(token, config.bearer.token)) {
      return { subject: bearerSubject(config.bearer), expiresMs: Number.POSITIVE_INFINITY };
    }
    // The caller must not learn why a token was refused; the reason is in the log.
    const refused = (reason: string): null => {
      parts.log.info('token refused', { reason });
      return null;
    };
    // A token that cannot be verified now is not refused: its holder would have to sign in again.
    const known = await verifiedSubject(token).catch((error: unknown) => {
      if (error instanceof Fault) throw error;
      return error instanceof errors.JOSEError ? error.code : 'not verified';
    });
    if (typeof known === 'string') return refused(known);
    const { claims, ...authenticated } = known;
    return (await parts.isRevoked(claims)) ? refused('revoked') : authenticated;
  };
  return {
    authenticateToken,
    authenticateSession: parts.session,
    async authenticate(authorization) {
      const match = /^bearer +([^\s]+)$/i.exec(authorization ?? '');
      return match?.[1] === undefined ? null : ((await authenticateToken(match[1]))?.subject ?? null);
    },
  };
}

function verifier({ config: { jwt }, key, clock, log, limits }: IdentityParts): Verify {
  const common = () => ({
    clockTolerance: toleranceSeconds,
    currentDate: new Date(clock.wallMs()),
    requiredClaims: ['exp', 'sub'],
  });
  switch (jwt.kind) {
    case 'secret': {
      const options = {
        algorithms: ['HS256'],
        ...(jwt.issuer === undefined ? {} : { issuer: jwt.issuer }),
        ...(jwt.audience === undefined ? {} : { audience: jwt.audience }),
      };
      return async (token) => (await jwtVerify(token, jwt.secret, { ...common(), ...options })).payload;
    }
    case 'jwks': {
      const { url, issuer, audience } = jwt;
      const options = () => ({ ...common(), algorithms: ['RS256', 'ES256', 'EdDSA'], issuer, audience });
      return new ProviderKeys({ url, options, clock, log, limits }).verify;
    }
    case 'local':
      return async (token) => (await jwtVerify(token, key.publicKey, { ...common(), algorithms: ['EdDSA'] })).payload;
  }
}

/** A subject with a role at this site. */
export function subjectOf(subjectId: string, role: Role, site: AuditScope): Subject {
  return { kind: 'user', subjectId, roles: [role], permissions: new Set(rolePermissions[role]), ...site };
}

/** A token issued in the future, beyond the tolerated clock skew. */
function isFromTheFuture({ iat }: JWTPayload, clock: Clock): boolean {
  return iat !== undefined && !(iat <= Math.floor(clock.wallMs() / 1000) + toleranceSeconds);
}

/** Both sides are hashed first, so that the time reveals neither length nor content. */
function sameToken(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** The opaque token opens area B only: of its permissions only `audit.event.read` has an effect. */
function bearerSubject(bearer: BearerConfig): Subject {
  const permissions = new Set<Permission>(bearer.permissions.includes('audit.event.read') ? ['audit.event.read'] : []);
  return {
    kind: 'service-account',
    subjectId: bearer.subjectId,
    tenantId: bearer.tenantId,
    projectId: bearer.projectId,
    roles: [],
    permissions,
  };
}

/** The reason if the claims do not identify a subject. */
function jwtSubject(payload: JWTPayload, site: AuditScope, names: IdentityClaims): Subject | string {
  const { tenant_id: tenantId, project_id: projectId } = payload;
  const sub = subjectIn(payload, names.subject);
  if (sub === null) return `the claim ${names.subject.join('/')} must have 1 to 128 characters`;
  const role = roleOf(payload, names.role);
  if (role === null) return `the claim ${names.role.path.join('/')} gives no role`;
  // Both or neither: half a scope is invalid.
  if (tenantId === undefined && projectId === undefined) return subjectOf(sub, role, site);
  if (!isIdentifier(tenantId) || !isIdentifier(projectId)) return 'tenant_id and project_id go together';
  return subjectOf(sub, role, { tenantId, projectId });
}

function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && identifierPattern.test(value);
}

/** Signs a token with the site's own key (`setpoint token`). Times in seconds. */
export function issueToken(
  key: SigningKey,
  claims: {
    readonly subject: string;
    readonly role: Role;
    readonly issuedAtSeconds: number;
    readonly lifetimeSeconds: number;
    /** Its `jti`, by which it is revoked; a fresh one when absent. */
    readonly tokenId?: string;
  },
): Promise<string> {
  if (!(claims.lifetimeSeconds >= 1 && claims.lifetimeSeconds <= tokenLifetimeSecondsMaximum)) {
    throw new RangeError(`a token lives 1 second to ${tokenLifetimeSecondsMaximum / 86_400} days`);
  }
  return new SignJWT({ role: claims.role })
    .setProtectedHeader({ alg: 'EdDSA' })
    .setJti(claims.tokenId ?? newId())
    .setSubject(claims.subject)
    .setIssuedAt(claims.issuedAtSeconds)
    .setExpirationTime(claims.issuedAtSeconds + claims.lifetimeSeconds)
    .sign(key.privateKey);
}
