/**
 * The keys of an identity provider [identity §1]: its key set, read again when it is old or lacks a key. While the provider is unavailable,
 * the last set remains valid for `provider_grace_ms` beyond its age.
 */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type ExportedJWKSCache,
  errors,
  type FetchImplementation,
  type JWTVerifyOptions,
  jwksCache,
  jwtVerify,
} from 'jose';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { exchange, failureWords } from '../egress/exchange.ts';
import { isLoopbackHost, systemResolve } from '../egress/pinned-address.ts';
import type { GatewayLimits } from './limits.ts';
import type { Verify } from './verified-tokens.ts';

export interface ProviderKeysParts {
  readonly url: URL;
  /** Requirements for a token now. */
  readonly options: () => JWTVerifyOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<
    GatewayLimits,
    'jwks_timeout_ms' | 'jwks_refresh_ms' | 'jwks_max_age_ms' | 'jwks_bytes' | 'provider_grace_ms' | 'provider_retry_ms'
  >;
}

export class ProviderKeys {
  readonly #parts: ProviderKeysParts;
  readonly #keys;
  /** Filled by the library with each new key set. */
  readonly #last: ExportedJWKSCache | Record<string, never> = {};
  #lastAt: number | undefined;
  /** Monotonic: when the last key set was read. */
  #readMs = Number.NEGATIVE_INFINITY;
  /** Monotonic: no request before this time. */
  #awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ProviderKeysParts) {
    const { url, limits } = parts;
    this.#parts = parts;
    this.#keys = createRemoteJWKSet(url, {
      timeoutDuration: limits.jwks_timeout_ms,
      cooldownDuration: limits.jwks_refresh_ms,
      cacheMaxAge: limits.jwks_max_age_ms,
      [jwksCache]: this.#last,
      [customFetch]: this.#fetch,
    });
  }

  /** Rejects with Fault `provider-unavailable` without a valid key set. */
  readonly verify: Verify = async (token) => {
    const { clock, log, limits, options } = this.#parts;
    if (clock.monotonicMs() < this.#awayUntilMs) return this.#withLastKeys(token, undefined);
    const before = this.#last.uat;
    try {
      return (await jwtVerify(token, this.#keys, options())).payload;
    } catch (error) {
      const wasRead = this.#keys.fresh || this.#last.uat !== before;
      if (wasRead || !isSetTrouble(error)) throw error;
      this.#awayUntilMs = clock.monotonicMs() + limits.provider_retry_ms;
      log.warn('cannot read the key set of the identity provider', { err: error });
      return this.#withLastKeys(token, error);
    } finally {
      if (this.#last.uat !== this.#lastAt) this.#readMs = clock.monotonicMs();
      this.#lastAt = this.#last.uat;
    }
  };

  async #withLastKeys(token: string, cause: unknown): ReturnType<Verify> {
    const { clock, limits, options } = this.#parts;
    const { jwks: keys } = this.#last;
    const validUntilMs = this.#readMs + limits.jwks_max_age_ms + limits.provider_grace_ms;
    if (keys === undefined || clock.monotonicMs() >= validUntilMs) throw providerUnavailable(limits, cause);
    return (await jwtVerify(token, createLocalJWKSet(keys), options())).payload;
  }

  /** Up to the limit: the rest of a larger answer is not read. */
  readonly #fetch: FetchImplementation = async (address, { headers, signal }) => {
    const { clock, limits } = this.#parts;
    const url = new URL(address);
    const ended = await exchange(
      {
        url,
        boundary: isLoopbackHost(url.hostname) ? 'local' : 'remote',
        method: 'GET',
        headers: Object.fromEntries(headers),
        body: null,
        connectTimeoutMs: limits.jwks_timeout_ms,
        requestTimeoutMs: limits.jwks_timeout_ms,
        wanted: () => ({ maxBytes: limits.jwks_bytes, longer: 'refused' }),
      },
      { clock, resolve: systemResolve },
      signal,
    );
    if (ended.end !== 'answer') throw new errors.JWKSInvalid(`the key set could not be read: ${failureWords(ended)}`);
    const { status, body, contentType } = ended.answer;
    return new Response(Buffer.from(body), {
      status,
      headers: { 'content-type': contentType ?? 'application/json' },
    });
  };
}

/** The credentials may be valid, but cannot be verified now. */
export function providerUnavailable(limits: Pick<GatewayLimits, 'provider_retry_ms'>, cause?: unknown): Fault {
  return new Fault(
    'provider-unavailable',
    'the identity provider cannot be reached, so the credentials cannot be checked',
    {
      retryAfterMs: limits.provider_retry_ms,
      cause,
    },
  );
}

/** Errors of reading a key set, as opposed to those of a token or of a single key. */
function isSetTrouble(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true;
  return error instanceof errors.JOSEError && error.code === errors.JOSEError.code;
}
