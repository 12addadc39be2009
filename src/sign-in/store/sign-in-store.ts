/** Storage of accounts, sessions, codes of links and failed sign-ins. */
import { isDeepStrictEqual } from 'node:util';
import type { Role } from '../../gateway/claims.ts';
import type { Database, Transaction } from '../../storage/database.ts';

export interface StoredPassword {
  readonly salt: string;
  readonly hash: string;
}

export interface Account {
  readonly name: string;
  readonly role: Role;
  readonly disabled: boolean;
  /** Null until its owner sets one. */
  readonly password: StoredPassword | null;
  readonly createdMs: number;
}

/** How a session began, and how it is renewed. */
export interface StoredSession {
  readonly digest: string;
  readonly kind: 'link' | 'account' | 'provider';
  readonly subject: string;
  readonly role: Role;
  /** Wall milliseconds; the session ends then at the latest. */
  readonly expiresMs: number;
  /** With a provider: when it must be asked again, and the refresh token, sealed with the cookie. */
  readonly refresh: SessionRefresh | null;
}

export interface SessionRefresh {
  readonly dueMs: number;
  readonly sealed: string;
  /** While a process refreshes, in wall milliseconds: until when the others leave it to that process. */
  readonly claimedUntilMs?: number;
}

export interface Failures {
  readonly failures: number;
  readonly untilMs: number;
}

/** All tokens that were issued to a subject by then, or the one with an id. */
export interface Revocation {
  readonly kind: 'subject' | 'token';
  readonly value: string;
  /** Wall milliseconds. */
  readonly revokedMs: number;
}

export interface RefreshClaim {
  /** As it was before the claim. */
  readonly session: StoredSession;
  readonly isOurs: boolean;
}

export interface SignInStore {
  accounts(): Promise<Account[]>;
  account(name: string): Promise<Account | null>;
  /** False if there is an account with this name. */
  addAccount(account: Account): Promise<boolean>;
  /**
   * The account after the change; null if it is unknown. In the same commit its sessions end, if its password changes, and with a time
   * the tokens issued to it by then are revoked.
   */
  changeAccount(
    name: string,
    change: Partial<Pick<Account, 'role' | 'disabled' | 'password'>>,
    revokedMs: number | null,
  ): Promise<Account | null>;
  /**
   * Replaces the password of an account whose former one was checked, and ends its sessions except one; false if the account has changed
   * since.
   */
  replacePassword(account: Account, password: StoredPassword, keptDigest: string | null): Promise<boolean>;
  session(digest: string): Promise<StoredSession | null>;
  /** Stores a new session, and removes expired ones. */
  addSession(session: StoredSession, nowMs: number): Promise<void>;
  /** The same for an account whose password was checked; false if the account has changed since. */
  addSessionOf(account: Account, session: StoredSession, nowMs: number): Promise<boolean>;
  /**
   * The session, and whether this caller may now ask its provider. It may not if the last answer is still valid, or if another process
   * is asking; a claim lasts until `untilMs` at most.
   */
  claimRefresh(digest: string, nowMs: number, untilMs: number): Promise<RefreshClaim | null>;
  /** Stores the provider's answer and releases the claim; false if the session has ended in the meantime. */
  renewSession(session: StoredSession): Promise<boolean>;
  removeSession(digest: string): Promise<void>;
  /** Replaces every other code of the same account, or of sign-in links. */
  putCode(digest: string, name: string | null, expiresMs: number): Promise<void>;
  /** A code that has not been used, even if it has expired. */
  code(digest: string): Promise<{ readonly name: string | null; readonly expiresMs: number } | undefined>;
  /** Marks a code as used; false when it already was. */
  takeCode(digest: string): Promise<boolean>;
  failures(name: string): Promise<Failures>;
  /** Stores the failures of a name; at most `rows` names are kept, those with the longest wait. */
  putFailures(name: string, failures: Failures, rows: number): Promise<void>;
  clearFailures(name: string): Promise<void>;
  revocations(): Promise<Revocation[]>;
  /** Stores a revocation; the later one of a subject or token applies. Ends the sessions of a subject. */
  revoke(revocation: Revocation): Promise<void>;
}

interface AccountState {
  readonly disabled: boolean;
  readonly password: StoredPassword | null;
  readonly createdMs: number;
}

export function createSignInStore(database: Database): SignInStore {
  return {
    ...accountsOf(database),
    ...sessionsOf(database),
    ...codesOf(database),
    ...failuresOf(database),
    ...revocationsOf(database),
  };
}

function revocationsOf(database: Database): Pick<SignInStore, 'revocations' | 'revoke'> {
  return {
    async revocations() {
      const rows = await database.query.selectFrom('token_revocation').selectAll().execute();
      // Only this store writes these rows.
      return rows.map(({ kind, value, revoked_ms }) => ({
        kind: kind as Revocation['kind'],
        value,
        revokedMs: revoked_ms,
      }));
    },
    revoke: (revocation) => database.transaction((transaction) => revoke(transaction, revocation)),
  };
}

async function revoke(transaction: Transaction, { kind, value, revokedMs: revoked_ms }: Revocation): Promise<void> {
  await transaction
    .insertInto('token_revocation')
    .values({ kind, value, revoked_ms })
    .onConflict((on) => on.columns(['kind', 'value']).doUpdateSet({ revoked_ms }))
    .execute();
  if (kind === 'subject') await transaction.deleteFrom('sign_in_session').where('subject', '=', value).execute();
}

interface AccountRow {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

function accountOf({ name, role, state }: AccountRow): Account {
  // Only this store writes these rows.
  return { name, role: role as Role, ...(JSON.parse(state) as AccountState) };
}

function rowOf({ name, role, disabled, password, createdMs }: Account): AccountRow {
  return { name, role, state: JSON.stringify({ disabled, password, createdMs } satisfies AccountState) };
}

function accountRow(query: Pick<Transaction, 'selectFrom'>, name: string): Promise<AccountRow | undefined> {
  return query.selectFrom('account').selectAll().where('name', '=', name).executeTakeFirst();
}

/** Whether an account is as it was when its password was checked. */
async function isUnchanged(transaction: Transaction, account: Account): Promise<boolean> {
  const row = await accountRow(transaction, account.name);
  return row !== undefined && isDeepStrictEqual(accountOf(row), account);
}

async function putAccount(transaction: Transaction, account: Account): Promise<void> {
  const { name, role, state } = rowOf(account);
  await transaction.updateTable('account').set({ role, state }).where('name', '=', name).execute();
}

function accountsOf(
  database: Database,
): Pick<SignInStore, 'accounts' | 'account' | 'addAccount' | 'changeAccount' | 'replacePassword'> {
  return {
    async accounts() {
      return (await database.query.selectFrom('account').selectAll().orderBy('name').execute()).map(accountOf);
    },
    async account(name) {
      const row = await accountRow(database.query, name);
      return row === undefined ? null : accountOf(row);
    },
    addAccount: (account) =>
      database.transaction(async (transaction) => {
        if ((await accountRow(transaction, account.name)) !== undefined) return false;
        await transaction.insertInto('account').values(rowOf(account)).execute();
        return true;
      }),
    changeAccount: (name, change, revokedMs) =>
      database.transaction(async (transaction) => {
        const row = await accountRow(transaction, name);
        if (row === undefined) return null;
        const account = { ...accountOf(row), ...change };
        await putAccount(transaction, account);
        if (change.password !== undefined) await removeSessionsOf(transaction, name, null);
        if (revokedMs !== null) await revoke(transaction, { kind: 'subject', value: name, revokedMs });
        return account;
      }),
    replacePassword: (account, password, keptDigest) =>
      database.transaction(async (transaction) => {
        if (!(await isUnchanged(transaction, account))) return false;
        await putAccount(transaction, { ...account, password });
        await removeSessionsOf(transaction, account.name, keptDigest);
        return true;
      }),
  };
}

function sessionsOf(
  database: Database,
): Pick<SignInStore, 'session' | 'addSession' | 'addSessionOf' | 'claimRefresh' | 'renewSession' | 'removeSession'> {
  return {
    async session(digest) {
      const row = await database.query
        .selectFrom('sign_in_session')
        .select('state')
        .where('digest', '=', digest)
        .executeTakeFirst();
      return row === undefined ? null : (JSON.parse(row.state) as StoredSession);
    },
    addSession: (session, nowMs) => database.transaction((transaction) => addSession(transaction, session, nowMs)),
    addSessionOf: (account, session, nowMs) =>
      database.transaction(async (transaction) => {
        if (!(await isUnchanged(transaction, account))) return false;
        await addSession(transaction, session, nowMs);
        return true;
      }),
    claimRefresh: (digest, nowMs, untilMs) =>
      database.transaction(async (transaction) => {
        const row = await transaction
          .selectFrom('sign_in_session')
          .select('state')
          .where('digest', '=', digest)
          .executeTakeFirst();
        if (row === undefined) return null;
        const session = JSON.parse(row.state) as StoredSession;
        const isOurs = session.refresh !== null && isFree(session.refresh, nowMs, untilMs);
        if (isOurs) {
          const claimed = { ...session, refresh: { ...session.refresh, claimedUntilMs: untilMs } };
          await updateSession(transaction, claimed);
        }
        return { session, isOurs };
      }),
    renewSession: (session) => database.transaction((transaction) => updateSession(transaction, session)),
    removeSession: (digest) =>
      database.transaction(async (transaction) => {
        await transaction.deleteFrom('sign_in_session').where('digest', '=', digest).execute();
      }),
  };
}

/** Those that began with its password. */
async function removeSessionsOf(transaction: Transaction, name: string, keptDigest: string | null): Promise<void> {
  const rows = await transaction.selectFrom('sign_in_session').selectAll().where('subject', '=', name).execute();
  for (const { digest, state } of rows)
    if (digest !== keptDigest && (JSON.parse(state) as StoredSession).kind === 'account')
      await transaction.deleteFrom('sign_in_session').where('digest', '=', digest).execute();
}

async function addSession(transaction: Transaction, session: StoredSession, nowMs: number): Promise<void> {
  const { digest, subject, expiresMs: expires_ms } = session;
  await transaction.deleteFrom('sign_in_session').where('expires_ms', '<=', nowMs).execute();
  await transaction
    .insertInto('sign_in_session')
    .values({ digest, subject, expires_ms, state: JSON.stringify(session) })
    .execute();
}

/** A claim that ends later than one made now comes from a wrong clock, and is ignored. */
function isFree({ dueMs, claimedUntilMs = 0 }: SessionRefresh, nowMs: number, untilMs: number): boolean {
  return dueMs <= nowMs && !(claimedUntilMs > nowMs && claimedUntilMs <= untilMs);
}

/** False if the session no longer exists. */
async function updateSession(transaction: Transaction, session: StoredSession): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('sign_in_session')
    .set({ state: JSON.stringify(session) })
    .where('digest', '=', session.digest)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

function codesOf(database: Database): Pick<SignInStore, 'putCode' | 'code' | 'takeCode'> {
  return {
    putCode: (digest, name, expires_ms) =>
      database.transaction(async (transaction) => {
        await transaction
          .deleteFrom('sign_in_code')
          .where((column) => (name === null ? column('name', 'is', null) : column('name', '=', name)))
          .execute();
        await transaction.insertInto('sign_in_code').values({ digest, name, expires_ms }).execute();
      }),
    async code(digest) {
      const row = await database.query
        .selectFrom('sign_in_code')
        .select(['name', 'expires_ms'])
        .where('digest', '=', digest)
        .executeTakeFirst();
      return row === undefined ? undefined : { name: row.name, expiresMs: row.expires_ms };
    },
    takeCode: (digest) =>
      database.transaction(async (transaction) => {
        const result = await transaction.deleteFrom('sign_in_code').where('digest', '=', digest).executeTakeFirst();
        return result.numDeletedRows > 0n;
      }),
  };
}

function failuresOf(database: Database): Pick<SignInStore, 'failures' | 'putFailures' | 'clearFailures'> {
  return {
    async failures(name) {
      const row = await database.query
        .selectFrom('sign_in_failure')
        .select(['failures', 'until_ms'])
        .where('name', '=', name)
        .executeTakeFirst();
      return { failures: row?.failures ?? 0, untilMs: row?.until_ms ?? 0 };
    },
    putFailures: (name, { failures, untilMs: until_ms }, rows) =>
      database.transaction(async (transaction) => {
        await transaction
          .insertInto('sign_in_failure')
          .values({ name, failures, until_ms })
          .onConflict((on) => on.column('name').doUpdateSet({ failures, until_ms }))
          .execute();
        const excess = await transaction
          .selectFrom('sign_in_failure')
          .select('name')
          .orderBy('until_ms', 'desc')
          .orderBy('name')
          .offset(rows)
          .limit(rows)
          .execute();
        for (const each of excess)
          await transaction.deleteFrom('sign_in_failure').where('name', '=', each.name).execute();
      }),
    clearFailures: (name) =>
      database.transaction(async (transaction) => {
        await transaction.deleteFrom('sign_in_failure').where('name', '=', name).execute();
      }),
  };
}
