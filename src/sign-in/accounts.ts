/** Local accounts [identity §7.2], for a site without an identity provider. */
import type { AuditLog } from '../audit/log.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Log } from '../base/log.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { Role } from '../gateway/roles.ts';
import { type BackOffLimits, failedOnce, waitMs } from './back-off.ts';
import { codeFor, issueCode, secretDigest } from './codes.ts';
import { isPassword, storedPassword } from './password.ts';
import type { Account, Failures, SignInStore } from './store/sign-in-store.ts';

export interface AccountsParts {
  readonly store: SignInStore;
  readonly clock: Clock;
  readonly limits: BackOffLimits & { readonly sign_in_names_max: number; readonly sign_in_waiting_max: number };
  readonly audit: Pick<AuditLog, 'append'>;
  readonly log: Log;
}

export class Accounts {
  readonly #parts: AccountsParts;
  /** Attempts run one after the other: simultaneous ones would get past the wait. */
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(parts: AccountsParts) {
    this.#parts = parts;
  }

  list(): Promise<Account[]> {
    return this.#parts.store.accounts();
  }

  /** Creates an account without a password; returns the code that sets one. */
  async add(name: string, role: Role): Promise<string> {
    const { store, clock } = this.#parts;
    if ((await store.account(name)) !== null)
      throw new Fault('invalid-value', `the account ${name} exists; reset it to give it a new password`);
    const createdMs = clock.wallMs();
    await store.putAccount({ name, role, disabled: false, password: null, createdMs });
    return issueCode(store, name, createdMs);
  }

  /** Removes the password, ends every session, revokes every token, and enables the account; returns the code that sets a password. */
  async reset(name: string): Promise<string> {
    const { store, clock } = this.#parts;
    await store.putAccount({ ...(await this.#known(name)), disabled: false, password: null });
    await this.#revokeAll(name);
    await store.clearFailures(name);
    return issueCode(store, name, clock.wallMs());
  }

  /** Disables the account: it cannot sign in, its sessions end, and its tokens are revoked. */
  async disable(name: string): Promise<void> {
    await this.#parts.store.putAccount({ ...(await this.#known(name)), disabled: true });
    await this.#revokeAll(name);
  }

  /** Ends the sessions of the account and revokes the tokens issued in its name. */
  #revokeAll(name: string): Promise<void> {
    const { store, clock } = this.#parts;
    return store.revoke({ kind: 'subject', value: name, revokedMs: clock.wallMs() });
  }

  /** The account whose password a code sets; null for an invalid code. */
  async ofCode(code: string): Promise<string | null> {
    const { store, clock } = this.#parts;
    return (await codeFor(store, code, clock.wallMs()))?.name ?? null;
  }

  /** False when the code is invalid or has been used meanwhile. */
  async setPassword(code: string, password: string): Promise<boolean> {
    const { store } = this.#parts;
    const name = await this.ofCode(code);
    const stored = await storedPassword(password);
    if (name === null || !(await store.takeCode(secretDigest(code)))) return false;
    const account = await this.#known(name);
    await store.putAccount({ ...account, password: stored });
    await store.removeSessionsOf(name);
    await store.clearFailures(name);
    return true;
  }

  /** The account with this name and password, or null. Refuses with `rate-limited` while the name must wait. */
  check(name: string, password: string): Promise<Account | null> {
    if (this.#waiting >= this.#parts.limits.sign_in_waiting_max)
      throw new Fault('rate-limited', 'too many sign-ins at once; try again', { retryAfterMs: 1000 });
    this.#waiting++;
    const turn = this.#turn.then(() => this.#tried(name, password)).finally(() => this.#waiting--);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #tried(name: string, password: string): Promise<Account | null> {
    const { store, clock, limits } = this.#parts;
    const before = await store.failures(name);
    const leftMs = waitMs(before, clock.wallMs(), limits);
    if (leftMs > 0)
      throw new Fault('rate-limited', 'too many failed sign-ins for this name; wait', { retryAfterMs: leftMs });
    const account = await store.account(name);
    const fits = await isPassword(password, account?.password ?? null);
    if (fits && account?.disabled === false) {
      if (before.failures > 0) await store.clearFailures(name);
      return account;
    }
    const after = failedOnce(before, clock.wallMs(), limits);
    await store.putFailures(name, after, limits.sign_in_names_max);
    // Only for accounts: a name as typed may contain anything. Not awaited, so that the response time reveals no account.
    if (after.untilMs > 0 && account !== null) void this.#recordLock(account, after);
    return null;
  }

  async #recordLock({ name }: Account, { failures, untilMs }: Failures): Promise<void> {
    const { audit, log } = this.#parts;
    log.warn('too many failed sign-ins: the account is locked for a while', { failures });
    try {
      await audit.append({
        subject: { kind: 'system', subjectId: 'setpoint' },
        action: 'identity.user.lock',
        resource: { kind: 'identity-user', resourceId: `identity-user:${name}` },
        outcome: 'succeeded',
        risk: 'high',
        confirmation: 'not-required',
        correlationId: newId(),
        details: { name, failures, until: timeLabel(untilMs) },
      });
    } catch (error) {
      log.error('cannot record a locked account', { error: String(error) });
    }
  }

  async #known(name: string): Promise<Account> {
    const account = await this.#parts.store.account(name);
    if (account === null) throw new Fault('not-found', `unknown account ${name}`);
    return account;
  }
}
