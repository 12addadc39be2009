/** Tables of accounts and sessions [identity §7] in the site database. They contain no password, code or cookie: digests only. */

declare module '../../storage/database.ts' {
  interface SiteTables {
    /** Local accounts; `state` is JSON. */
    account: { name: string; role: string; state: string };
    /** Sessions by the digest of their cookie; `state` is JSON. */
    sign_in_session: { digest: string; subject: string; expires_ms: number; state: string };
    /** Unused codes of links, by their digest. `name` is the account of a link that sets a password. */
    sign_in_code: { digest: string; name: string | null; expires_ms: number };
    /** Consecutive failed sign-ins, by the name that was given. */
    sign_in_failure: { name: string; failures: number; until_ms: number };
    /** Revoked tokens; `kind` is subject or token. */
    token_revocation: { kind: string; value: string; revoked_ms: number };
  }
}

export const signInInFile = `
  CREATE TABLE account (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    state TEXT NOT NULL
  ) STRICT;
  CREATE TABLE sign_in_session (
    digest TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX sign_in_session_end ON sign_in_session (expires_ms);
  CREATE TABLE sign_in_code (
    digest TEXT PRIMARY KEY,
    name TEXT,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE sign_in_failure (
    name TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
  ) STRICT;
`;

export const signInOnServer = `
  CREATE TABLE account (
    name text COLLATE "C" PRIMARY KEY,
    role text NOT NULL,
    state text NOT NULL
  );
  CREATE TABLE sign_in_session (
    digest text COLLATE "C" PRIMARY KEY,
    subject text COLLATE "C" NOT NULL,
    expires_ms bigint NOT NULL,
    state text NOT NULL
  );
  CREATE INDEX sign_in_session_end ON sign_in_session (expires_ms);
  CREATE TABLE sign_in_code (
    digest text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C",
    expires_ms bigint NOT NULL
  );
  CREATE TABLE sign_in_failure (
    name text COLLATE "C" PRIMARY KEY,
    failures integer NOT NULL,
    until_ms bigint NOT NULL
  );
`;

export const revocationsInFile = `
  CREATE TABLE token_revocation (
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    revoked_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, value)
  ) STRICT;
`;

export const revocationsOnServer = `
  CREATE TABLE token_revocation (
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    revoked_ms bigint NOT NULL,
    PRIMARY KEY (kind, value)
  );
`;
