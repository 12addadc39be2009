/**
 * The tables as the query layer sees them (docs/formats). `SiteTables` are the site's durable truth, written with full
 * durability; `RuntimeTables` are the rules' history and memory, written by the engine alone; `HistoryTables` are recorded
 * measurements (docs/formats/history.md).
 */
import type { Generated, Selectable } from 'kysely';

interface RulesTable {
  id: Generated<number>;
  name: string;
  description: string | null;
  /** 0 or 1. */
  enabled: number;
  priority: number;
  cooldown_ms: number;
  /** Documents are texts: their bytes are part of the contract. */
  trigger_config: string | null;
  flow_json: string | null;
  nodes_json: string;
  revision: number;
  created_at: string;
  updated_at: string;
}

/** One chain per log, tenant and project, and its last event. */
interface AuditChainTable {
  chain_id: Generated<number>;
  log: 'events' | 'access';
  tenant_id: string;
  project_id: string;
  /** 0 and `chainStart` before the first event; kept by the trigger that every append fires. */
  sequence: number;
  hash: string;
  occurred_at: string;
  era: number;
  closed_through: number;
}

export type AuditChainRow = Selectable<AuditChainTable>;

export interface AuditEventTable {
  chain_id: number;
  sequence: number;
  event_id: string;
  occurred_at: string;
  /** How often the wall clock had gone backwards before: within one era, times never fall. */
  era: number;
  subject_kind: string;
  subject_id: string;
  action: string;
  resource_kind: string;
  resource_id: string;
  outcome: string;
  risk: string;
  confirmation: string;
  correlation_id: string;
  trace_id: string | null;
  details_digest: string | null;
  /** The accepted event that this terminal one closes. */
  accepted_event_id: string | null;
  previous_hash: string;
  hash: string;
}

interface AuditDetailsTable {
  chain_id: number;
  sequence: number;
  /** Canonical JSON whose SHA-256 is the event's `details_digest`. */
  details: string;
}

/** Up to a mark, and no further, events may be removed. */
interface AuditMarkTable {
  chain_id: number;
  sequence: number;
  hash: string;
  audited_by: number;
  /** The signed mark, as canonical JSON. */
  mark: string;
}

export interface SiteTables {
  rules: RulesTable;
  audit_chain: AuditChainTable;
  audit_event: AuditEventTable;
  audit_details: AuditDetailsTable;
  audit_mark: AuditMarkTable;
}

export interface RuntimeTables {
  /** Consecutive runs of one rule, packed together (`automation/run-blocks.ts`). */
  execution_block: {
    seq: Generated<number>;
    rule_id: number;
    unchanged: number;
    first_id: string;
    last_id: string;
    runs: number;
    packing: number;
    records: Uint8Array;
  };
  rule_state: { rule_id: number; state: string };
  /** Priority holds and write budgets, by `instance:point_type:point`. */
  point_claim: { point: string; state: string };
  /** PostgreSQL only: one row. */
  engine_lease: { epoch: number };
}

export interface HistoryTables {
  series: { id: Generated<number>; instance: number; kind: 'measurement'; point: number };
  sample: {
    series: number;
    event_ms: number;
    ordinal: number;
    ingested_ms: number;
    value: number | null;
    /** Code of `rules/snapshot.ts`. */
    quality: number;
  };
  rollup: {
    series: number;
    width_ms: number;
    end_ms: number;
    row_count: number;
    value_count: number;
    sum: number | null;
    sum_low: number | null;
    min: number | null;
    max: number | null;
    last_value: number | null;
    last_ms: number | null;
    flags: number;
    lead_ms: number;
    ingested_ms: number;
  };
}
