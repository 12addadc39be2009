/**
 * Acts that last longer than any request, such as the import of a file by a command: their process renews
 * its claim regularly, so that no other process closes its accepted records as `unknown` [platform §3].
 */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../storage/database.ts';

declare module '../../storage/database.ts' {
  interface SiteTables {
    /** Acts in progress, by the correlation id of their records. */
    audit_in_progress: { correlation_id: string; until_ms: number };
  }
}

export const inProgressInFile = `
  CREATE TABLE audit_in_progress (
    correlation_id TEXT PRIMARY KEY,
    -- Its records count as left open from then on.
    until_ms INTEGER NOT NULL
  ) STRICT;
`;

export const inProgressOnServer = `
  CREATE TABLE audit_in_progress (
    correlation_id text COLLATE "C" PRIMARY KEY,
    -- Its records count as left open from then on.
    until_ms bigint NOT NULL
  );
`;

/** Lifetime of a claim. The clocks of two machines may differ. */
export const inProgressForMs = 60_000;
/** Renewal interval. */
export const inProgressEveryMs = 10_000;

export class InProgress {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #correlationId: string;

  constructor(database: Database, clock: Clock, correlationId: string) {
    this.#database = database;
    this.#clock = clock;
    this.#correlationId = correlationId;
  }

  /** Claims the act for `inProgressForMs` from now. */
  async renew(): Promise<void> {
    const until = { until_ms: this.#clock.wallMs() + inProgressForMs };
    await this.#database.transaction((transaction) =>
      transaction
        .insertInto('audit_in_progress')
        .values({ correlation_id: this.#correlationId, ...until })
        .onConflict((conflict) => conflict.column('correlation_id').doUpdateSet(until))
        .execute(),
    );
  }

  async end(): Promise<void> {
    await this.#database.transaction((transaction) =>
      transaction.deleteFrom('audit_in_progress').where('correlation_id', '=', this.#correlationId).execute(),
    );
  }
}
