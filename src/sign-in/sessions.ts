/**
 * Sessions of the console [identity §7.1]: a cookie whose digest is stored, shared by all processes of the site. A session ended
 * by another process is noticed within `session_cache_ms`.
 */
import type { Subject } from '../api/capability.ts';
import type { AuditScope } from '../audit/event.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { newSecret } from '../base/id.ts';
import type { Role } from '../gateway/claims.ts';
import { subjectOf } from '../gateway/identity.ts';
import type { GatewayLimits } from '../gateway/limits.ts';
import { providerUnavailable } from '../gateway/provider-keys.ts';
import { secretDigest } from './codes.ts';
import type { Account, RefreshClaim, SessionRefresh, SignInStore, StoredSession } from './store/sign-in-store.ts';

export interface SessionFacts {
  readonly kind: StoredSession['kind'];
  readonly subject: string;
  readonly role: Role;
  readonly expiresMs: number;
}

/** The refreshed state of a provider's session. */
export interface Refreshed {
  readonly subject: string;
  readonly role: Role;
  /** When the provider must be asked again. */
  readonly dueMs: number;
  readonly refreshToken: string;
}
/** Asks the provider again: `refused` ends the session, `away` means that it could not be asked. */
export type Refresh = (refreshToken: string) => Promise<Refreshed | 'refused' | 'away'>;

export interface SessionsParts {
  readonly store: SignInStore;
  readonly site: AuditScope;
  readonly clock: Clock;
  readonly limits: Pick<
    GatewayLimits,
    'session_cache_ms' | 'provider_timeout_ms' | 'provider_retry_ms' | 'provider_grace_ms'
  >;
  /** Null without a provider. */
  readonly refresh: Refresh | null;
  readonly seal: (text: string, cookie: string) => string;
  readonly unseal: (sealed: string, cookie: string) => string | null;
}

/** A session whose provider must be asked again. */
type DueSession = StoredSession & { readonly refresh: SessionRefresh };

/** Consecutive requests of one refresh: the provider's metadata, its tokens, and the user's claims. */
const refreshCalls = 3;
const claimMarginMs = 1000;
const claimPollMs = 100;

/** Sessions kept in memory between two reads. */
const rememberedMax = 10_000;

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #known = new Map<string, { readonly readMs: number; readonly session: Promise<StoredSession | null> }>();
  /** One request to the provider per session. */
  readonly #refreshing = new Map<string, Promise<StoredSession | null>>();
  /** By digest, monotonic: when the provider of a session was unreachable, it is not asked again before. */
  readonly #awayUntilMs = new Map<string, number>();

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  /** Stores a session before its cookie is given out. */
  async open(facts: SessionFacts, provider: Pick<Refreshed, 'dueMs' | 'refreshToken'> | null): Promise<string> {
    const { store, clock, seal } = this.#parts;
    const cookie = newSecret();
    const refresh = provider === null ? null : { dueMs: provider.dueMs, sealed: seal(provider.refreshToken, cookie) };
    await store.addSession({ digest: secretDigest(cookie), ...facts, refresh }, clock.wallMs());
    return cookie;
  }

  /** The same for an account whose password was checked; null if it was disabled, reset or changed since. */
  async openFor(account: Account, expiresMs: number): Promise<string | null> {
    const { store, clock } = this.#parts;
    const cookie = newSecret();
    const facts = { kind: 'account', subject: account.name, role: account.role, expiresMs } as const;
    const session = { digest: secretDigest(cookie), ...facts, refresh: null };
    return (await store.addSessionOf(account, session, clock.wallMs())) ? cookie : null;
  }

  /** The stored session, unless it has expired; the provider is not asked. */
  async stored(cookie: string): Promise<StoredSession | null> {
    const session = await this.#read(secretDigest(cookie));
    return session === null || session.expiresMs <= this.#parts.clock.wallMs() ? null : session;
  }

  /** Rejects with Fault `provider-unavailable` while the session is suspended because its provider is unreachable. */
  async facts(cookie: string): Promise<SessionFacts | null> {
    const session = await this.stored(cookie);
    return session === null || !this.#isDue(session) ? session : this.#refreshed(session, cookie);
  }

  async authenticate(cookie: string): Promise<{ readonly subject: Subject; readonly expiresMs: number } | null> {
    const facts = await this.facts(cookie);
    return facts === null ? null : { subject: this.subject(facts), expiresMs: facts.expiresMs };
  }

  subject({ subject, role }: SessionFacts): Subject {
    return subjectOf(subject, role, this.#parts.site);
  }

  async close(cookie: string): Promise<void> {
    const digest = secretDigest(cookie);
    await this.#parts.store.removeSession(digest);
    this.#known.delete(digest);
  }

  #read(digest: string): Promise<StoredSession | null> {
    const { store, clock, limits } = this.#parts;
    const nowMs = clock.monotonicMs();
    const known = this.#known.get(digest);
    if (known !== undefined && nowMs - known.readMs < limits.session_cache_ms) return known.session;
    if (this.#known.size >= rememberedMax) this.#known.clear();
    const session = store.session(digest);
    this.#known.set(digest, { readMs: nowMs, session });
    session.catch(() => this.#known.delete(digest));
    return session;
  }

  #refreshed(session: StoredSession, cookie: string): Promise<StoredSession | null> {
    const { digest } = session;
    const running = this.#refreshing.get(digest);
    if (running !== undefined) return running;
    const asking = this.#askProvider(session, cookie).finally(() => this.#refreshing.delete(digest));
    this.#refreshing.set(digest, asking);
    return asking;
  }

  async #askProvider(known: StoredSession, cookie: string): Promise<StoredSession | null> {
    const { store, seal } = this.#parts;
    const claim = await this.#claimed(known.digest);
    if (claim === null) return this.#ended(known.digest);
    const { session, isOurs } = claim;
    if (!this.#isDue(session)) return this.#remember(session);
    if (!isOurs) return this.#whileAway(session);
    const answer = await this.#answerFor(session, cookie);
    if (answer === 'away') {
      await store.renewSession(session);
      return this.#whileAway(session);
    }
    if (answer === 'refused' || answer.subject !== session.subject) {
      await this.close(cookie);
      return null;
    }
    const { role, dueMs, refreshToken } = answer;
    const next = { ...session, role, refresh: { dueMs, sealed: seal(refreshToken, cookie) } };
    return (await store.renewSession(next)) ? this.#remember(next) : this.#ended(next.digest);
  }

  /**
   * A provider accepts each refresh token once: while another process uses it, this one waits for the result. A provider that was
   * unreachable a moment ago is not asked.
   */
  async #claimed(digest: string): Promise<RefreshClaim | null> {
    const { store, clock, limits } = this.#parts;
    const claimMs = refreshCalls * limits.provider_timeout_ms + claimMarginMs;
    const untilMs = clock.monotonicMs() + claimMs;
    if (clock.monotonicMs() < (this.#awayUntilMs.get(digest) ?? 0)) {
      const session = await store.session(digest);
      return session === null ? null : { session, isOurs: false };
    }
    for (;;) {
      const claim = await store.claimRefresh(digest, clock.wallMs(), clock.wallMs() + claimMs);
      if (claim === null || claim.isOurs || !this.#isDue(claim.session) || clock.monotonicMs() >= untilMs) return claim;
      await sleep(clock, claimPollMs);
    }
  }

  #ended(digest: string): null {
    this.#known.delete(digest);
    return null;
  }

  #isDue(session: StoredSession): session is DueSession {
    return session.refresh !== null && this.#parts.clock.wallMs() >= session.refresh.dueMs;
  }

  async #answerFor(session: DueSession, cookie: string): ReturnType<Refresh> {
    const { clock, limits, refresh, unseal } = this.#parts;
    const token = unseal(session.refresh.sealed, cookie);
    if (refresh === null || token === null || token === '') return 'refused';
    const answer = await refresh(token);
    if (this.#awayUntilMs.size >= rememberedMax) this.#awayUntilMs.clear();
    if (answer === 'away') this.#awayUntilMs.set(session.digest, clock.monotonicMs() + limits.provider_retry_ms);
    else this.#awayUntilMs.delete(session.digest);
    return answer;
  }

  #whileAway(session: DueSession): StoredSession {
    const { clock, limits } = this.#parts;
    if (clock.wallMs() < session.refresh.dueMs + limits.provider_grace_ms) return session;
    throw providerUnavailable(limits);
  }

  #remember(session: StoredSession): StoredSession {
    this.#known.set(session.digest, {
      readMs: this.#parts.clock.monotonicMs(),
      session: Promise.resolve(session),
    });
    return session;
  }
}
