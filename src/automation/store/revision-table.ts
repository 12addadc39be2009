/**
 * The table of rule revisions in the site database (docs/formats), for each engine: each stored change of a rule as the resulting
 * row, append-only. Never edit a released step: add one.
 */
import type { Generated } from 'kysely';
import type { RuleMode } from '../engine-contract.ts';

declare module '../../storage/database.ts' {
  interface SiteTables {
    rule_revision: RevisionsTable;
  }
}

interface RevisionsTable {
  rule_id: number;
  revision: number;
  name: string;
  description: string | null;
  key: string | null;
  /** 0 or 1. */
  enabled: number;
  mode: Generated<RuleMode>;
  priority: number;
  cooldown_ms: number;
  trigger_config: string | null;
  flow_json: string | null;
  nodes_json: string;
  tests: string | null;
  created_at: string;
  /** When the change was stored. */
  updated_at: string;
  /** NULL in rows created by an upgrade: computed when they are read. */
  digest: string | null;
  /** The audit action of the change; NULL in rows created by an upgrade, as are the next four. */
  action: string | null;
  author_kind: string | null;
  author_id: string | null;
  correlation_id: string | null;
  reason: string | null;
  restored_from: number | null;
}

/** The columns of a rule in a revision, in one order for both statements. */
const copied =
  'name, description, enabled, priority, cooldown_ms, trigger_config, flow_json, nodes_json, created_at, updated_at';

/** Older rules have their current state as their first revision. */
const present = `INSERT INTO rule_revision (rule_id, revision, ${copied}) SELECT id, revision, ${copied} FROM rules;`;

export const revisionsInFile = `
  CREATE TABLE rule_revision (
    rule_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    priority INTEGER NOT NULL,
    cooldown_ms INTEGER NOT NULL,
    trigger_config TEXT,
    flow_json TEXT,
    nodes_json TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    digest TEXT,
    action TEXT,
    author_kind TEXT,
    author_id TEXT,
    correlation_id TEXT,
    reason TEXT,
    restored_from INTEGER,
    PRIMARY KEY (rule_id, revision)
  ) STRICT;
  ${present}
  CREATE TRIGGER rule_revision_no_update BEFORE UPDATE ON rule_revision
    BEGIN SELECT RAISE(ABORT, 'revisions of rules are never changed'); END;
  CREATE TRIGGER rule_revision_no_delete BEFORE DELETE ON rule_revision
    BEGIN SELECT RAISE(ABORT, 'revisions of rules are never removed'); END;
`;

export const revisionsOnServer = `
  CREATE TABLE rule_revision (
    rule_id bigint NOT NULL,
    revision bigint NOT NULL,
    name text NOT NULL,
    description text,
    enabled smallint NOT NULL CHECK (enabled IN (0, 1)),
    priority bigint NOT NULL,
    cooldown_ms bigint NOT NULL,
    trigger_config text,
    flow_json text,
    nodes_json text NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL,
    digest text,
    action text,
    author_kind text,
    author_id text,
    correlation_id text,
    reason text,
    restored_from bigint,
    PRIMARY KEY (rule_id, revision)
  );
  ${present}
  CREATE FUNCTION rule_revision_stays() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'revisions of rules are never changed or removed'; END $$;
  CREATE TRIGGER rule_revision_stays BEFORE UPDATE OR DELETE ON rule_revision
    FOR EACH ROW EXECUTE FUNCTION rule_revision_stays();
`;
