/** The audit item of the API [audit §1], with its keys in the contract's order. */
import type { AuditEventTable } from './store/tables.ts';

export interface AuditItem {
  readonly eventId: string;
  readonly sequence: string;
  readonly occurredAt: string;
  readonly subject: { readonly kind: string; readonly subjectId: string };
  readonly action: string;
  readonly resource: { readonly kind: string; readonly resourceId: string };
  readonly outcome: string;
  readonly risk: string;
  readonly confirmation: string;
  readonly correlationId: string;
  readonly traceId?: string;
  readonly detailsDigest?: string;
}

export function itemOf(row: AuditEventTable): AuditItem {
  return {
    eventId: row.event_id,
    sequence: String(row.sequence),
    occurredAt: row.occurred_at,
    subject: { kind: row.subject_kind, subjectId: row.subject_id },
    action: row.action,
    resource: { kind: row.resource_kind, resourceId: row.resource_id },
    outcome: row.outcome,
    risk: row.risk,
    confirmation: row.confirmation,
    correlationId: row.correlation_id,
    ...(row.trace_id === null ? {} : { traceId: row.trace_id }),
    ...(row.details_digest === null ? {} : { detailsDigest: row.details_digest }),
  };
}
