/**
 * Revoked tokens [identity §7.3]: all that were issued to a subject up to a moment, or a single one. Every process
 * of the site reads the list again within `session_cache_ms`.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { TokenClaims } from '../gateway/identity.ts';
import type { Revocation, SignInStore } from './store/sign-in-store.ts';

/** A token of the second in which its subject was revoked counts as one of before, and so does one without an issue time. */
export function isRevoked(list: readonly Revocation[], { subject, tokenId, issuedAtSeconds }: TokenClaims): boolean {
  return list.some(({ kind, value, revokedMs }) =>
    kind === 'token'
      ? value === tokenId
      : value === subject && (issuedAtSeconds === null || issuedAtSeconds * 1000 <= revokedMs),
  );
}

interface RevocationsParts {
  readonly store: Pick<SignInStore, 'revocations'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: { readonly session_cache_ms: number };
}

export class Revocations {
  readonly #parts: RevocationsParts;
  #read: { readonly atMs: number; readonly list: readonly Revocation[] } | null = null;
  #reading: Promise<readonly Revocation[]> | null = null;
  /** Whether the last read failed. It is logged once per outage. */
  #isAway = false;

  constructor(parts: RevocationsParts) {
    this.#parts = parts;
  }

  /**
   * While the list cannot be read, the last one read applies: the changes of such a caller are refused then in any case, because they
   * cannot be recorded. Rejects when no list was ever read.
   */
  async has(claims: TokenClaims): Promise<boolean> {
    const { clock, limits } = this.#parts;
    const known = this.#read;
    const isFresh = known !== null && clock.monotonicMs() - known.atMs < limits.session_cache_ms;
    return isRevoked(isFresh ? known.list : await this.#readAnew(), claims);
  }

  #readAnew(): Promise<readonly Revocation[]> {
    this.#reading ??= this.#list().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #list(): Promise<readonly Revocation[]> {
    const { store, clock, log } = this.#parts;
    const known = this.#read;
    const atMs = clock.monotonicMs();
    try {
      const list = await store.revocations();
      if (this.#isAway) log.info('the revocation list can be read again');
      this.#isAway = false;
      this.#read = { atMs, list };
      return list;
    } catch (error) {
      if (known === null) throw error;
      if (!this.#isAway)
        log.warn('cannot read the revocation list; using the last known one', { error: String(error) });
      this.#isAway = true;
      // Not read again at once: each caller would wait for an unavailable database.
      this.#read = { atMs: clock.monotonicMs(), list: known.list };
      return known.list;
    }
  }
}
