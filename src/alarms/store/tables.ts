/** Tables of alarms [alarms §5] in the site database. */

declare module '../../storage/database.ts' {
  interface SiteTables {
    /** Every alarm that has ever been raised or shelved; `state` is JSON. */
    alarm: { id: string; state: string };
    /** Changes in the order of `sequence`, which has no gaps and follows the order of the commits. */
    alarm_history: {
      sequence: number;
      id: string;
      state: string;
      at_ms: number;
      /** JSON. */
      actor: string | null;
      reason: string | null;
    };
    /** At most one row: the last sequence, and whether a leader has not shut down cleanly. */
    alarm_account: { one: number; last: number; controlling: number };
    /** The last change that each receiver of notifications has accepted. */
    alarm_receiver: { receiver: string; sequence: number };
  }
}

export const alarmsInFile = `
  CREATE TABLE alarm (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL
  ) STRICT;
  CREATE TABLE alarm_history (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    state TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    actor TEXT,
    reason TEXT
  ) STRICT;
  CREATE INDEX alarm_history_time ON alarm_history (at_ms);
  CREATE TABLE alarm_account (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL,
    controlling INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE alarm_receiver (
    receiver TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL
  ) STRICT;
`;

export const alarmsOnServer = `
  CREATE TABLE alarm (
    id text COLLATE "C" PRIMARY KEY,
    state text NOT NULL
  );
  CREATE TABLE alarm_history (
    sequence bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    state text NOT NULL,
    at_ms bigint NOT NULL,
    actor text,
    reason text
  );
  CREATE INDEX alarm_history_time ON alarm_history (at_ms);
  CREATE TABLE alarm_account (
    one smallint PRIMARY KEY CHECK (one = 1),
    last bigint NOT NULL,
    controlling smallint NOT NULL
  );
  CREATE TABLE alarm_receiver (
    receiver text COLLATE "C" PRIMARY KEY,
    sequence bigint NOT NULL
  );
`;
