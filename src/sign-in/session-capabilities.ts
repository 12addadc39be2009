/** Sign-in and sign-out over HTTP [identity §2], [identity §7.1]. */
import { type Answer, type CallContext, type HandledCapability, type Subject, success } from '../api/capability.ts';
import { session as descriptors } from '../api/session.ts';
import type { AuditScope } from '../audit/event.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import { timeLabel } from '../base/timestamp.ts';
import { unauthenticated } from '../gateway/envelope.ts';
import { issueToken, subjectOf } from '../gateway/identity.ts';
import type { SigningKey } from '../gateway/local-keys.ts';
import { checkSameOrigin, cookieHeader, cookieOf } from '../gateway/session-cookie.ts';
import type { Accounts } from './accounts.ts';
import { codeFor, secretDigest } from './codes.ts';
import type { SessionFacts, Sessions } from './sessions.ts';
import type { Account, SignInStore } from './store/sign-in-store.ts';

export interface SessionParts {
  /** Null when tokens come from elsewhere: then neither links nor accounts sign in. */
  readonly key: SigningKey | null;
  readonly store: SignInStore;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly site: AuditScope;
  readonly clock: Clock;
  readonly limits: { readonly session_ms: number };
  /** Where the provider ends its own session; null without a provider, or when it has no such address. */
  readonly endSessionUrl: (() => Promise<string | null>) | null;
}

/** Who a link signs in. */
const linkAccount = { name: 'local-admin', role: 'Admin' } as const;

const resource = () => ({ kind: 'identity-token', id: 'identity-token' });

export function sessionCapabilities(parts: SessionParts): HandledCapability[] {
  const { key } = parts;
  return [
    {
      descriptor: descriptors.close,
      resource,
      identify: async (context) => {
        const cookie = cookieOf(context);
        // Sign-out needs no provider.
        const known = cookie === null ? null : await parts.sessions.stored(cookie);
        if (known === null) return null;
        checkChange(context);
        return parts.sessions.subject(known);
      },
      handler: (context) => close(parts, context),
    },
    { descriptor: descriptors.read, resource, handler: (context) => read(parts, context) },
    ...(key === null ? [] : localCapabilities(parts, key)),
  ];
}

/** Links and accounts, on sites that issue their own tokens. */
function localCapabilities(parts: SessionParts, key: SigningKey): HandledCapability[] {
  const opening = new Opening(parts, key);
  const settingPassword = new SettingPassword(parts);
  return [
    {
      descriptor: descriptors.open,
      resource,
      identify: (context) => opening.identify(context),
      handler: (context) => opening.open(context),
    },
    {
      descriptor: descriptors.password,
      resource: () => ({ kind: 'identity-user', id: 'identity-user' }),
      identify: (context) => settingPassword.identify(context),
      handler: (context) => settingPassword.set(context),
    },
  ];
}

/** The pipeline's check of changes made with a session, repeated here because this call ends that session. */
function checkChange(context: CallContext): void {
  checkSameOrigin(context);
  if (context.header('x-svc-confirmed') !== 'true')
    throw new Fault('confirmation-required', 'the header x-svc-confirmed: true is missing');
}

/** A page of another site must not sign a user in or out; programs send neither header. */
function fromOurPages(context: CallContext): void {
  if (context.header('sec-fetch-site') !== undefined || context.header('origin') !== undefined)
    checkSameOrigin(context);
}

/** The record of a new session names the subject of the credential. */
class Opening {
  readonly #parts: SessionParts;
  readonly #key: SigningKey;
  /** The account that `identify` found, or null for a link, for the handler of the same call. */
  readonly #found = new WeakMap<CallContext, Account | null>();

  constructor(parts: SessionParts, key: SigningKey) {
    this.#parts = parts;
    this.#key = key;
  }

  async identify(context: CallContext): Promise<Subject | null> {
    fromOurPages(context);
    const { store, clock, site, accounts } = this.#parts;
    if (isCode(context.body)) {
      const code = await codeFor(store, textOf(context, 'code'), clock.wallMs());
      if (code === undefined || code.name !== null) return null;
      this.#found.set(context, null);
      return { kind: 'system', subjectId: 'sign-in-link', ...site, roles: [], permissions: new Set() };
    }
    const account = await accounts.check(textOf(context, 'name'), textOf(context, 'password'));
    if (account === null) return null;
    this.#found.set(context, account);
    return subjectOf(account.name, account.role, site);
  }

  async open(context: CallContext): Promise<Answer> {
    const { clock, limits } = this.#parts;
    const account = this.#found.get(context);
    if (account === undefined) throw unauthenticated();
    const issuedAtSeconds = Math.floor(clock.wallMs() / 1000);
    const lifetimeSeconds = Math.floor(limits.session_ms / 1000);
    const expiresMs = (issuedAtSeconds + lifetimeSeconds) * 1000;
    const cookie = await this.#cookieFor(account, context, expiresMs);
    if (cookie === null) throw unauthenticated();
    const kind = account === null ? 'link' : 'account';
    const { role, name: subject } = account ?? linkAccount;
    // Accounts get a session only: a token would still be valid after the account is disabled. Browsers need none.
    const isForProgram = account === null && context.header('sec-fetch-site') === undefined;
    const tokenId = newId();
    const token = isForProgram
      ? { token: await issueToken(this.#key, { subject, role, issuedAtSeconds, lifetimeSeconds, tokenId }) }
      : {};
    return {
      ...success({ ...token, role, subject, expires_at: timeLabel(expiresMs) }),
      headers: { 'set-cookie': cookieHeader(context, cookie, lifetimeSeconds) },
      auditDetails: {
        role,
        subject,
        ttl_seconds: lifetimeSeconds,
        by: kind,
        ...(isForProgram ? { token_id: tokenId, issued_at: timeLabel(issuedAtSeconds * 1000) } : {}),
      },
    };
  }

  /** Null if the link was used, or the account changed, since the call was identified. */
  async #cookieFor(account: Account | null, context: CallContext, expiresMs: number): Promise<string | null> {
    const { store, sessions } = this.#parts;
    if (account !== null) return sessions.openFor(account, expiresMs);
    // Two calls with one code may both have come this far. Only one of them takes it.
    if (!(await store.takeCode(secretDigest(textOf(context, 'code'))))) return null;
    const { role, name: subject } = linkAccount;
    return sessions.open({ kind: 'link', subject, role, expiresMs }, null);
  }
}

/** With the code of a link, or with the current password. */
class SettingPassword {
  readonly #parts: SessionParts;
  /** The account whose current password `identify` has checked, for the handler of the same call. */
  readonly #found = new WeakMap<CallContext, Account>();

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  async identify(context: CallContext): Promise<Subject | null> {
    fromOurPages(context);
    const { accounts, site } = this.#parts;
    if (isCode(context.body)) {
      const name = await accounts.ofCode(textOf(context, 'code'));
      return name === null ? null : nobody(site, name);
    }
    const account = await accounts.check(textOf(context, 'name'), textOf(context, 'current'));
    if (account === null) return null;
    this.#found.set(context, account);
    return subjectOf(account.name, account.role, site);
  }

  async set(context: CallContext): Promise<Answer> {
    const { accounts } = this.#parts;
    const account = this.#found.get(context);
    const code = textOf(context, 'code');
    const name = account?.name ?? (await accounts.ofCode(code));
    const password = textOf(context, 'password');
    const isSet =
      account === undefined
        ? await accounts.setPassword(code, password)
        : await accounts.replacePassword(account, password, cookieOf(context));
    if (name === null || !isSet) throw unauthenticated();
    return { ...success({ name }), auditDetails: { name, by: account === undefined ? 'link' : 'password' } };
  }
}

async function close({ sessions, endSessionUrl }: SessionParts, context: CallContext): Promise<Answer> {
  const cookie = cookieOf(context);
  if (cookie === null) throw unauthenticated();
  const facts = await sessions.stored(cookie);
  await sessions.close(cookie);
  const url = facts?.kind === 'provider' && endSessionUrl !== null ? await endSessionUrl() : null;
  return {
    ...success({ end_session_url: url }),
    headers: { 'set-cookie': cookieHeader(context, '', 0) },
    auditDetails: { subject: facts?.subject ?? null },
  };
}

async function read({ sessions, accounts, key, endSessionUrl }: SessionParts, context: CallContext): Promise<Answer> {
  const cookie = cookieOf(context);
  const facts = cookie === null ? null : await factsOf(sessions, cookie);
  const usable = key === null ? [] : (await accounts.list()).filter(({ disabled }) => !disabled);
  const session =
    facts === null
      ? null
      : { role: facts.role, subject: facts.subject, expires_at: timeLabel(facts.expiresMs), kind: facts.kind };
  return success({ session, methods: { password: usable.length > 0, provider: endSessionUrl !== null } });
}

/** A suspended session is shown as stored: it continues when its provider answers. */
async function factsOf(sessions: Sessions, cookie: string): Promise<SessionFacts | null> {
  try {
    return await sessions.facts(cookie);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'provider-unavailable') throw error;
    return sessions.stored(cookie);
  }
}

function nobody(site: AuditScope, subjectId: string): Subject {
  return { kind: 'user', subjectId, ...site, roles: [], permissions: new Set() };
}

function isCode(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'code' in body;
}

/** A member of a body that fits its schema. */
function textOf({ body }: CallContext, member: string): string {
  const value: unknown = Reflect.get(Object(body), member);
  return typeof value === 'string' ? value : '';
}
