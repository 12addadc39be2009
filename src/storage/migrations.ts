/**
 * Forward migrations, one list per database. The number of applied steps is the format's version; a database with more
 * steps than this program knows was written by a newer one and is refused. Never edit a step that was released.
 */
import { chainOlderEvents } from './audit-migration.ts';
import type { MigrationStep } from './sqlite.ts';

const siteSteps: readonly MigrationStep[] = [
  `
  CREATE TABLE rules (
    -- AUTOINCREMENT: an id is never given again, not even after the newest rule was deleted.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    description TEXT,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    priority INTEGER NOT NULL,
    cooldown_ms INTEGER NOT NULL,
    trigger_config TEXT,
    flow_json TEXT,
    nodes_json TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX rules_order ON rules (priority DESC, id);

  CREATE TABLE audit_event (
    tenant_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    event_id TEXT NOT NULL UNIQUE,
    occurred_at TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    action TEXT NOT NULL,
    resource_kind TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    risk TEXT NOT NULL,
    confirmation TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    trace_id TEXT,
    details_digest TEXT,
    accepted_event_id TEXT,
    PRIMARY KEY (tenant_id, project_id, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX audit_event_closes ON audit_event (accepted_event_id) WHERE accepted_event_id IS NOT NULL;
  CREATE INDEX audit_event_accepted ON audit_event (event_id) WHERE outcome = 'accepted';

  CREATE TABLE audit_details (
    tenant_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, sequence)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE audit_head (
    tenant_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TRIGGER audit_event_no_update BEFORE UPDATE ON audit_event
    BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END;
  CREATE TRIGGER audit_event_no_delete BEFORE DELETE ON audit_event
    BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END;
  CREATE TRIGGER audit_details_no_update BEFORE UPDATE ON audit_details
    BEGIN SELECT RAISE(ABORT, 'audit details are append-only'); END;
  CREATE TRIGGER audit_details_no_delete BEFORE DELETE ON audit_details
    BEGIN SELECT RAISE(ABORT, 'audit details are append-only'); END;
  `,
  chainOlderEvents,
  // What a reload compares, without the large texts that lie between.
  'CREATE INDEX rules_heads ON rules (id, revision, enabled, priority)',
];

const runtimeSteps: readonly MigrationStep[] = [
  `
  CREATE TABLE execution (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    execution_id TEXT NOT NULL UNIQUE,
    rule_id INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    outcome TEXT NOT NULL,
    unchanged INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX execution_of_rule ON execution (rule_id, seq);
  CREATE INDEX execution_retention ON execution (rule_id, unchanged, seq);
  CREATE INDEX execution_age ON execution (started_at);

  CREATE TABLE rule_state (
    rule_id INTEGER PRIMARY KEY,
    state TEXT NOT NULL
  ) STRICT;
  `,
  // A page of a rule's history begins at an id, whether or not that run is still there.
  `
  DROP INDEX execution_of_rule;
  CREATE INDEX execution_of_rule ON execution (rule_id, execution_id);
  `,
  // Priority holds and write budgets outlive a restart.
  `
  CREATE TABLE point_claim (
    point TEXT PRIMARY KEY,
    state TEXT NOT NULL
  ) STRICT;
  `,
  // Runs of a rule are stored together: a row for each wrote fifty times what it held.
  `
  CREATE TABLE execution_block (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    rule_id INTEGER NOT NULL,
    unchanged INTEGER NOT NULL,
    first_id TEXT NOT NULL,
    last_id TEXT NOT NULL,
    runs INTEGER NOT NULL,
    packing INTEGER NOT NULL,
    records BLOB NOT NULL
  ) STRICT;
  CREATE INDEX execution_block_of_rule ON execution_block (rule_id, unchanged, last_id, runs);
  CREATE INDEX execution_block_age ON execution_block (last_id);
  INSERT INTO execution_block (rule_id, unchanged, first_id, last_id, runs, packing, records)
    SELECT rule_id, unchanged, min(execution_id), max(execution_id), count(*), 0,
      CAST(group_concat(execution_id || ' ' || record, char(10) ORDER BY execution_id) AS BLOB)
    FROM execution GROUP BY rule_id, unchanged, substr(execution_id, 1, 8) ORDER BY 4;
  DROP TABLE execution;
  `,
];

const historySteps: readonly string[] = [
  `
  CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'measurement'),
    point INTEGER NOT NULL,
    UNIQUE (instance, kind, point)
  ) STRICT;

  -- Ordered by series and time on disk, because that is how it is read.
  CREATE TABLE sample (
    series INTEGER NOT NULL,
    event_ms INTEGER NOT NULL,
    -- 0 for the first row of an instant, 1 for the next one that arrived.
    ordinal INTEGER NOT NULL,
    ingested_ms INTEGER NOT NULL,
    value REAL,
    quality INTEGER NOT NULL CHECK (quality BETWEEN 0 AND 3),
    PRIMARY KEY (series, event_ms, ordinal)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE rollup (
    series INTEGER NOT NULL,
    width_ms INTEGER NOT NULL,
    end_ms INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    value_count INTEGER NOT NULL,
    sum REAL,
    sum_low REAL,
    min REAL,
    max REAL,
    last_value REAL,
    last_ms INTEGER,
    flags INTEGER NOT NULL,
    lead_ms INTEGER NOT NULL,
    ingested_ms INTEGER NOT NULL,
    PRIMARY KEY (series, width_ms, end_ms)
  ) STRICT, WITHOUT ROWID;
  `,
];

export const migrations = { site: siteSteps, runtime: runtimeSteps, history: historySteps } as const;
