/**
 * Sign-in with an OpenID Connect provider [identity §9]: authorization code with PKCE, by a library. The state of a
 * sign-in is in a cookie of the browser, so that any process of the site can complete it.
 */
import * as openid from 'openid-client';
import { type Clock, withTimeout } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { type IdentityClaims, type Role, roleOf, subjectIn } from '../gateway/claims.ts';
import type { ProviderConfig } from '../gateway/identity-config.ts';
import type { Refresh } from './sessions.ts';

export interface ProviderParts {
  readonly config: ProviderConfig;
  readonly claims: IdentityClaims;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: { readonly provider_timeout_ms: number };
}

/** The address to redirect the browser to, and the secret that it must bring back. */
export interface Begun {
  readonly location: string;
  readonly secret: string;
}

export interface SignedIn {
  readonly subject: string;
  readonly role: Role;
  readonly dueMs: number;
  /** Empty when the provider gives none: then the session ends at `dueMs`. */
  readonly refreshToken: string;
}

type Tokens = openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers;

/** The redirect address. */
const callbackPath = '/session/callback';

export class Provider {
  readonly #parts: ProviderParts;
  #discovered: Promise<openid.Configuration> | undefined;

  constructor(parts: ProviderParts) {
    this.#parts = parts;
  }

  /** `base` is the address of the console. */
  async begin(base: string): Promise<Begun> {
    const configuration = await this.#discover();
    const [verifier, state, nonce] = [openid.randomPKCECodeVerifier(), openid.randomState(), openid.randomNonce()];
    const location = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: `${base}${callbackPath}`,
      scope: this.#parts.config.scope,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    return { location: location.href, secret: [verifier, state, nonce].join('.') };
  }

  /**
   * `address` is the one that the browser was redirected to. Null when the sign-in is refused; the log has the reason. Throws Fault
   * `provider-unavailable`.
   */
  async finish(address: URL, secret: string): Promise<SignedIn | null> {
    const [pkceCodeVerifier = '', expectedState = '', expectedNonce = ''] = secret.split('.');
    try {
      const configuration = await this.#discover();
      const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
      const tokens = await this.#inTime(openid.authorizationCodeGrant(configuration, address, checks));
      return await this.#signedIn(configuration, tokens, null);
    } catch (error) {
      if (!isAway(error)) return this.#refused(reasonOf(error));
      throw this.#unreachable(error);
    }
  }

  readonly refresh: Refresh = async (refreshToken) => {
    try {
      const configuration = await this.#discover();
      const tokens = await this.#inTime(openid.refreshTokenGrant(configuration, refreshToken));
      return (await this.#signedIn(configuration, tokens, refreshToken)) ?? 'refused';
    } catch (error) {
      const isAnswer = error instanceof openid.ResponseBodyError || error instanceof openid.ClientError;
      if (isAnswer && !isAway(error)) return this.#refused(reasonOf(error)) ?? 'refused';
      this.#unreachable(error);
      return 'away';
    }
  };

  /** Where the provider ends its own session; null when it has no such address or cannot be reached. */
  async endSessionUrl(): Promise<string | null> {
    try {
      const configuration = await this.#discover();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      return openid.buildEndSessionUrl(configuration, { client_id: this.#parts.config.clientId }).href;
    } catch {
      return null;
    }
  }

  async #signedIn(
    configuration: openid.Configuration,
    tokens: Tokens,
    usedToken: string | null,
  ): Promise<SignedIn | null> {
    const { clock, claims: names } = this.#parts;
    const idToken = tokens.claims();
    const seconds =
      tokens.expiresIn() ?? (idToken === undefined ? null : idToken.exp - Math.floor(clock.wallMs() / 1000));
    if (seconds === null) return this.#refused('neither an ID token nor expires_in');
    let subject = subjectIn(idToken ?? {}, names.subject);
    let role = roleOf(idToken ?? {}, names.role);
    if (subject === null || role === null) {
      const facts = await this.#userInfo(configuration, tokens);
      subject ??= subjectIn(facts, names.subject);
      role ??= roleOf(facts, names.role);
    }
    if (subject === null) return this.#refused(`the claim ${names.subject.join('/')} gives no subject`);
    if (role === null) return this.#refused(`the claim ${names.role.path.join('/')} gives no role`);
    const dueMs = clock.wallMs() + seconds * 1000;
    return { subject, role, dueMs, refreshToken: tokens.refresh_token ?? usedToken ?? '' };
  }

  /** Some providers put only the subject into the ID token, and some refresh without one. */
  async #userInfo(configuration: openid.Configuration, tokens: Tokens): Promise<Readonly<Record<string, unknown>>> {
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return {};
    // Without an ID token, the session tells whether it is the same person.
    const subject = tokens.claims()?.sub ?? openid.skipSubjectCheck;
    return await this.#inTime(openid.fetchUserInfo(configuration, tokens.access_token, subject));
  }

  /** Logged here, and only here. */
  #unreachable(error: unknown): Fault {
    if (error instanceof Fault) return error;
    this.#parts.log.warn('cannot reach the identity provider', { error: reasonOf(error) });
    return new Fault('provider-unavailable', 'the identity provider cannot be reached; try again', { cause: error });
  }

  #refused(reason: string): null {
    this.#parts.log.info('sign-in with the provider refused', { reason });
    return null;
  }

  async #discover(): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = this.#parts.config;
    const { provider_timeout_ms: timeoutMs } = this.#parts.limits;
    const auth = clientSecret === null ? openid.None() : openid.ClientSecretPost(clientSecret);
    this.#discovered ??= openid.discovery(issuer, clientId, undefined, auth, {
      timeout: timeoutMs / 1000,
      // Plain HTTP is allowed on loopback only: the address has been checked.
      execute: issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : [],
    });
    try {
      return await this.#discovered;
    } catch (error) {
      this.#discovered = undefined;
      throw this.#unreachable(error);
    }
  }

  async #inTime<T extends object>(work: Promise<T>): Promise<T> {
    const answer = await withTimeout(this.#parts.clock, this.#parts.limits.provider_timeout_ms, work);
    if (answer === undefined) throw this.#unreachable(new Error('no answer in time'));
    return answer;
  }
}

/** The library's codes for a timeout, for an answer from something else (a proxy's error page), and for an incomplete one. */
const awayCodes: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

/** Errors that are no refusal: the provider could not be asked. */
function isAway(error: unknown): boolean {
  if (error instanceof Fault) return true;
  // A failed connection is a TypeError of `fetch` with a cause. The library's own TypeErrors have a code: they mean a wrong argument.
  if (error instanceof TypeError && !('code' in error)) return error.cause !== undefined;
  if (error instanceof openid.ResponseBodyError) return error.status >= 500;
  return error instanceof openid.ClientError && awayCodes.has(error.code ?? '');
}

/** The provider's error code; never anything that was sent. */
function reasonOf(error: unknown): string {
  if (error instanceof openid.ResponseBodyError || error instanceof openid.AuthorizationResponseError)
    return error.error;
  if (error instanceof openid.ClientError && error.code !== undefined) return error.code;
  return error instanceof Error ? error.message : String(error);
}
