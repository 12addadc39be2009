/**
 * Sessions of the console [identity §7.1]: a cookie whose digest is stored, shared by all processes of the site. A session ended
 * by another process is noticed within `session_cache_ms`.
 */
import type { Subject } from '../api/capability.ts';
import type { AuditScope } from '../audit/event.ts';
import type { Clock } from '../base/clock.ts';
import { newSecret } from '../base/id.ts';
import { subjectOf } from '../gateway/identity.ts';
import type { Role } from '../gateway/roles.ts';
import { secretDigest } from './codes.ts';
import type { SignInStore, StoredSession } from './store/sign-in-store.ts';

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
  /** Until when the provider's answer holds. */
  readonly dueMs: number;
  readonly refreshToken: string;
}
/** Asks the provider again: `refused` ends the session, `away` leaves it for a later try. */
export type Refresh = (refreshToken: string) => Promise<Refreshed | 'refused' | 'away'>;

export interface SessionsParts {
  readonly store: SignInStore;
  readonly site: AuditScope;
  readonly clock: Clock;
  readonly limits: { readonly session_cache_ms: number };
  /** Null without a provider. */
  readonly refresh: Refresh | null;
  readonly seal: (text: string, cookie: string) => string;
  readonly unseal: (sealed: string, cookie: string) => string | null;
}

/** Sessions that are remembered between two reads. */
const rememberedMax = 10_000;

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #known = new Map<string, { readonly readMs: number; readonly session: Promise<StoredSession | null> }>();
  /** One question to the provider for each session. */
  readonly #refreshing = new Map<string, Promise<StoredSession | null>>();

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  /** Stores a session before its cookie is given out. */
  async open(facts: SessionFacts, provider: Pick<Refreshed, 'dueMs' | 'refreshToken'> | null): Promise<string> {
    const { store, clock, seal } = this.#parts;
    const cookie = newSecret();
    const refresh = provider === null ? null : { dueMs: provider.dueMs, sealed: seal(provider.refreshToken, cookie) };
    await store.putSession({ digest: secretDigest(cookie), ...facts, refresh }, clock.wallMs());
    return cookie;
  }

  async facts(cookie: string): Promise<SessionFacts | null> {
    const { clock } = this.#parts;
    const session = await this.#read(secretDigest(cookie));
    if (session === null || session.expiresMs <= clock.wallMs()) return null;
    if (session.refresh === null || clock.wallMs() < session.refresh.dueMs) return session;
    return this.#refreshed(session, cookie);
  }

  async authenticate(cookie: string): Promise<{ readonly subject: Subject; readonly expiresMs: number } | null> {
    const facts = await this.facts(cookie);
    if (facts === null) return null;
    return { subject: subjectOf(facts.subject, facts.role, this.#parts.site), expiresMs: facts.expiresMs };
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
    const { store, clock, refresh, seal, unseal } = this.#parts;
    // Another process may have asked already: a provider takes each token once.
    const session = await store.session(known.digest);
    if (session === null) return null;
    if (session.refresh === null || clock.wallMs() < session.refresh.dueMs) return this.#remember(session);
    const token = unseal(session.refresh.sealed, cookie);
    const answer = refresh === null || token === null || token === '' ? 'refused' : await refresh(token);
    if (answer === 'away') return null;
    if (answer === 'refused' || answer.subject !== session.subject) {
      await this.close(cookie);
      return null;
    }
    const { role, dueMs, refreshToken } = answer;
    const next = { ...session, role, refresh: { dueMs, sealed: seal(refreshToken, cookie) } };
    await store.putSession(next, clock.wallMs());
    return this.#remember(next);
  }

  #remember(session: StoredSession): StoredSession {
    this.#known.set(session.digest, {
      readMs: this.#parts.clock.monotonicMs(),
      session: Promise.resolve(session),
    });
    return session;
  }
}
