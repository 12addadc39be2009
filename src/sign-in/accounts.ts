/** Local accounts [identity §7.2], for a site without an identity provider. */
import type { AuditLog } from '../audit/log.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Log } from '../base/log.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { Role } from '../gateway/claims.ts';
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
    const createdMs = clock.wallMs();
    if (!(await store.addAccount({ name, role, disabled: false, password: null, createdMs })))
      throw new Fault('invalid-value', `the account ${name} exists; reset it to give it a new password`);
    return issueCode(store, name, createdMs);
  }

  /** Removes the password, ends every session, revokes every token, and enables the account; returns the code that sets a password. */
  async reset(name: string): Promise<string> {
    const { store, clock } = this.#parts;
    await this.#change(name, { disabled: false, password: null }, clock.wallMs());
    await store.clearFailures(name);
    return issueCode(store, name, clock.wallMs());
  }

  /** Disables the account: it cannot sign in, its sessions end, and its tokens are revoked. */
  async disable(name: string): Promise<void> {
    await this.#change(name, { disabled: true }, this.#parts.clock.wallMs());
  }

  /** Changes the role; returns the former one. If it differs, sessions end and tokens are revoked: they have the former role. */
  async changeRole(name: string, role: Role): Promise<Role> {
    const { store, clock } = this.#parts;
    const former = (await store.account(name))?.role ?? null;
    if (former !== role) await this.#change(name, { role }, clock.wallMs());
    return former ?? role;
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
    await this.#change(name, { password: stored }, null);
    await store.clearFailures(name);
    return true;
  }

  /** By its owner, whose other sessions end; false when the account was disabled, reset or changed since its password was checked. */
  async replacePassword(account: Account, password: string, cookie: string | null): Promise<boolean> {
    const kept = cookie === null ? null : secretDigest(cookie);
    return this.#parts.store.replacePassword(account, await storedPassword(password), kept);
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

  async #change(...change: Parameters<SignInStore['changeAccount']>): Promise<void> {
    if ((await this.#parts.store.changeAccount(...change)) === null)
      throw new Fault('not-found', `unknown account ${change[0]}`);
  }
}
