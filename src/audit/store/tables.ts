/** The tables of the audit in the site database, as the query layer sees them (docs/formats). */
import type { Generated, Selectable } from 'kysely';

declare module '../../storage/database.ts' {
  interface SiteTables {
    audit_chain: AuditChainTable;
    audit_event: AuditEventTable;
    audit_details: AuditDetailsTable;
    audit_mark: AuditMarkTable;
  }
}

/** One chain per log, tenant and project, and its last event. */
interface AuditChainTable {
  chain_id: Generated<number>;
  log: 'events' | 'access';
  tenant_id: string;
  project_id: string;
  /** 0 and `chainStart` before the first event; maintained by the append trigger. */
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
  /** Number of times that the wall clock had gone backwards before: within one era, times never fall. */
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

/** Events may be removed up to a mark, and no further. */
interface AuditMarkTable {
  chain_id: number;
  sequence: number;
  hash: string;
  audited_by: number;
  /** The signed mark, as canonical JSON. */
  mark: string;
}
