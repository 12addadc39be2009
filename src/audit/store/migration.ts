/**
 * The second format of the audit tables [audit §6]: chains with a hash per event, retention marks, and
 * triggers that allow only two operations: append after the last event, and removal of the oldest, at or below a mark. Events of the
 * first format are chained as they are: from then on changes are detected.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type ChainedEvent, type ChainOwner, chainHash, chainStart } from './chain.ts';

export function chainOlderEvents(database: DatabaseSync): void {
  database.exec(tables);
  copyEvents(database);
  database.exec(indexesAndTriggers);
}

const tables = `
  DROP TRIGGER audit_event_no_update;
  DROP TRIGGER audit_event_no_delete;
  DROP TRIGGER audit_details_no_update;
  DROP TRIGGER audit_details_no_delete;
  DROP INDEX audit_event_closes;
  DROP INDEX audit_event_accepted;
  ALTER TABLE audit_event RENAME TO audit_event_1;
  ALTER TABLE audit_details RENAME TO audit_details_1;

  CREATE TABLE audit_chain (
    chain_id INTEGER PRIMARY KEY,
    log TEXT NOT NULL CHECK (log IN ('events', 'access')),
    tenant_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    -- The last event; kept by the insert trigger.
    sequence INTEGER NOT NULL,
    hash TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    era INTEGER NOT NULL,
    -- Accepted events up to here were closed at some start.
    closed_through INTEGER NOT NULL,
    UNIQUE (log, tenant_id, project_id)
  ) STRICT;

  CREATE TABLE audit_event (
    chain_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    event_id TEXT NOT NULL UNIQUE,
    occurred_at TEXT NOT NULL,
    -- How often the wall clock had gone backwards before this event: within one era, times never fall.
    era INTEGER NOT NULL,
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
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (chain_id, sequence)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE audit_details (
    chain_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (chain_id, sequence)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE audit_mark (
    chain_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    hash TEXT NOT NULL,
    -- The event that records the mark.
    audited_by INTEGER NOT NULL,
    mark TEXT NOT NULL,
    PRIMARY KEY (chain_id, sequence)
  ) STRICT, WITHOUT ROWID;
`;

const indexesAndTriggers = `
  DROP TABLE audit_details_1;
  DROP TABLE audit_event_1;
  DROP TABLE audit_head;

  -- Each filter of the search has its keyset in sequence order; times have theirs per era.
  CREATE INDEX audit_event_action ON audit_event (chain_id, action, sequence);
  CREATE INDEX audit_event_subject ON audit_event (chain_id, subject_id, sequence);
  CREATE INDEX audit_event_resource ON audit_event (chain_id, resource_id, sequence);
  CREATE INDEX audit_event_resource_kind ON audit_event (chain_id, resource_kind, sequence);
  CREATE INDEX audit_event_time ON audit_event (chain_id, era, occurred_at, sequence);
  CREATE INDEX audit_event_closes ON audit_event (accepted_event_id) WHERE accepted_event_id IS NOT NULL;

  -- INSERT OR REPLACE deletes without firing delete triggers, so each insert trigger also refuses what exists.
  CREATE TRIGGER audit_chain_insert BEFORE INSERT ON audit_chain
    WHEN NEW.sequence <> 0 OR NEW.hash <> '${chainStart}' OR NEW.era <> 0 OR NEW.closed_through <> 0 OR EXISTS (
      SELECT 1 FROM audit_chain WHERE chain_id = NEW.chain_id
        OR (log = NEW.log AND tenant_id = NEW.tenant_id AND project_id = NEW.project_id))
    BEGIN SELECT RAISE(ABORT, 'an audit chain begins once, at 0'); END;
  CREATE TRIGGER audit_chain_update BEFORE UPDATE ON audit_chain
    WHEN NEW.chain_id <> OLD.chain_id OR NEW.log <> OLD.log OR NEW.tenant_id <> OLD.tenant_id
      OR NEW.project_id <> OLD.project_id OR NEW.closed_through < OLD.closed_through
      OR (NEW.sequence <> OLD.sequence OR NEW.hash <> OLD.hash OR NEW.occurred_at <> OLD.occurred_at OR NEW.era <> OLD.era)
        AND NOT (NEW.sequence = OLD.sequence + 1 AND EXISTS (
          SELECT 1 FROM audit_event WHERE chain_id = NEW.chain_id AND sequence = NEW.sequence AND hash = NEW.hash))
    BEGIN SELECT RAISE(ABORT, 'an audit chain only grows'); END;
  CREATE TRIGGER audit_chain_delete BEFORE DELETE ON audit_chain
    BEGIN SELECT RAISE(ABORT, 'an audit chain is never removed'); END;

  CREATE TRIGGER audit_event_insert BEFORE INSERT ON audit_event
    WHEN NOT EXISTS (SELECT 1 FROM audit_chain WHERE chain_id = NEW.chain_id
        AND sequence = NEW.sequence - 1 AND hash = NEW.previous_hash)
      OR EXISTS (SELECT 1 FROM audit_event WHERE event_id = NEW.event_id)
    BEGIN SELECT RAISE(ABORT, 'audit events are appended behind the last one'); END;
  CREATE TRIGGER audit_event_appended AFTER INSERT ON audit_event
    BEGIN
      UPDATE audit_chain SET sequence = NEW.sequence, hash = NEW.hash, occurred_at = NEW.occurred_at, era = NEW.era
        WHERE chain_id = NEW.chain_id;
    END;
  CREATE TRIGGER audit_event_update BEFORE UPDATE ON audit_event
    BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END;
  CREATE TRIGGER audit_event_delete BEFORE DELETE ON audit_event
    WHEN NOT EXISTS (SELECT 1 FROM audit_mark WHERE chain_id = OLD.chain_id AND sequence >= OLD.sequence)
      OR EXISTS (SELECT 1 FROM audit_event WHERE chain_id = OLD.chain_id AND sequence < OLD.sequence)
    BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END;

  CREATE TRIGGER audit_details_insert BEFORE INSERT ON audit_details
    WHEN NOT EXISTS (SELECT 1 FROM audit_event WHERE chain_id = NEW.chain_id AND sequence = NEW.sequence
        AND details_digest IS NOT NULL)
      OR EXISTS (SELECT 1 FROM audit_details WHERE chain_id = NEW.chain_id AND sequence = NEW.sequence)
    BEGIN SELECT RAISE(ABORT, 'audit details belong to an event, once'); END;
  CREATE TRIGGER audit_details_update BEFORE UPDATE ON audit_details
    BEGIN SELECT RAISE(ABORT, 'audit details are append-only'); END;
  CREATE TRIGGER audit_details_delete BEFORE DELETE ON audit_details
    WHEN NOT EXISTS (SELECT 1 FROM audit_mark WHERE chain_id = OLD.chain_id AND sequence >= OLD.sequence)
    BEGIN SELECT RAISE(ABORT, 'audit details are append-only'); END;

  CREATE TRIGGER audit_mark_insert BEFORE INSERT ON audit_mark
    WHEN NEW.audited_by <= NEW.sequence
      OR NOT EXISTS (SELECT 1 FROM audit_event WHERE chain_id = NEW.chain_id AND sequence = NEW.sequence AND hash = NEW.hash)
      OR NOT EXISTS (SELECT 1 FROM audit_event WHERE chain_id = NEW.chain_id AND sequence = NEW.audited_by
        AND action = 'audit.retention.mark' AND details_digest IS NOT NULL)
      OR EXISTS (SELECT 1 FROM audit_mark WHERE chain_id = NEW.chain_id AND sequence >= NEW.sequence)
    BEGIN SELECT RAISE(ABORT, 'an audit mark stands above the last one and is recorded by an event'); END;
  CREATE TRIGGER audit_mark_update BEFORE UPDATE ON audit_mark
    BEGIN SELECT RAISE(ABORT, 'audit marks are append-only'); END;
  CREATE TRIGGER audit_mark_delete BEFORE DELETE ON audit_mark
    BEGIN SELECT RAISE(ABORT, 'audit marks are append-only'); END;
`;

interface Chain {
  readonly id: number;
  readonly owner: ChainOwner;
  sequence: number;
  hash: string;
  occurredAt: string;
  era: number;
}

function copyEvents(database: DatabaseSync): void {
  const chains: Chain[] = [];
  const insert = database.prepare(
    `INSERT INTO audit_event SELECT ?, sequence, event_id, occurred_at, ?, subject_kind, subject_id, action, resource_kind,
      resource_id, outcome, risk, confirmation, correlation_id, trace_id, details_digest, accepted_event_id, ?, ?
      FROM audit_event_1 WHERE tenant_id = ? AND project_id = ? AND sequence = ?`,
  );
  const rows = database.prepare('SELECT * FROM audit_event_1 ORDER BY tenant_id, project_id, sequence');
  let chain: Chain | undefined;
  for (const row of rows.iterate()) {
    const tenantId = String(row['tenant_id']);
    const projectId = String(row['project_id']);
    if (chain === undefined || chain.owner.tenantId !== tenantId || chain.owner.projectId !== projectId) {
      const owner = { log: 'events', tenantId, projectId } as const;
      chain = { id: chains.length + 1, owner, sequence: 0, hash: chainStart, occurredAt: '', era: 0 };
      chains.push(chain);
    }
    const event = eventOf(row, chain.hash);
    if (event.occurredAt < chain.occurredAt) chain.era++;
    const hash = chainHash(chain.owner, event);
    chain.sequence = Number(row['sequence']);
    insert.run(chain.id, chain.era, chain.hash, hash, tenantId, projectId, chain.sequence);
    chain.hash = hash;
    chain.occurredAt = event.occurredAt;
  }
  // A head beyond the last event shows that events at the end were removed earlier: the gap stays, for verification to report.
  const head = database.prepare('SELECT sequence FROM audit_head WHERE tenant_id = ? AND project_id = ?');
  const insertChain = database.prepare('INSERT INTO audit_chain VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)');
  const insertDetails = database.prepare(
    'INSERT INTO audit_details SELECT ?, sequence, details FROM audit_details_1 WHERE tenant_id = ? AND project_id = ?',
  );
  for (const { id, owner, sequence, hash, occurredAt, era } of chains) {
    const last = Math.max(sequence, Number(head.get(owner.tenantId, owner.projectId)?.['sequence'] ?? 0));
    insertChain.run(id, owner.log, owner.tenantId, owner.projectId, last, hash, occurredAt, era);
    insertDetails.run(id, owner.tenantId, owner.projectId);
  }
}

function eventOf(row: Readonly<Record<string, unknown>>, previous: string): ChainedEvent {
  const text = (name: string): string => String(row[name]);
  const optional = (name: string): string | null => (row[name] === null ? null : text(name));
  return {
    sequence: text('sequence'),
    eventId: text('event_id'),
    occurredAt: text('occurred_at'),
    subjectKind: text('subject_kind'),
    subjectId: text('subject_id'),
    action: text('action'),
    resourceKind: text('resource_kind'),
    resourceId: text('resource_id'),
    outcome: text('outcome'),
    risk: text('risk'),
    confirmation: text('confirmation'),
    correlationId: text('correlation_id'),
    traceId: optional('trace_id'),
    detailsDigest: optional('details_digest'),
    acceptedEventId: optional('accepted_event_id'),
    previous,
  };
}
