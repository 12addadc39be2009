/**
 * The first version of the audit tables on the embedded engine; `migration.ts` adds the chain to them. Never edit a
 * released step: add one.
 */
export const auditInFile = `
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
`;
