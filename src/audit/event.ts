/** The audit event [audit §1]: actor, action, resource and outcome. */

type SubjectKind = 'user' | 'service-account' | 'gateway' | 'system';
export type AuditOutcome = 'accepted' | 'succeeded' | 'failed' | 'denied' | 'unknown';
type AuditRisk = 'low' | 'medium' | 'high' | 'critical';

/** The writer's part of an event; the log adds sequence, id and time. */
export interface AuditEntry {
  readonly subject: { readonly kind: SubjectKind; readonly subjectId: string };
  readonly action: string;
  readonly resource: { readonly kind: string; readonly resourceId: string };
  readonly outcome: AuditOutcome;
  readonly risk: AuditRisk;
  readonly confirmation: 'explicit' | 'not-required';
  readonly correlationId: string;
  readonly traceId?: string;
  /** Details; stored beside the event as canonical JSON, in the event only as their digest. */
  readonly details?: unknown;
  /** For a terminal event: the accepted one that it closes. */
  readonly acceptedEventId?: string;
}

/** Tenant and project: each scope has its own sequence. */
export interface AuditScope {
  readonly tenantId: string;
  readonly projectId: string;
}

const identifier = /^[A-Za-z0-9._:-]{1,128}$/;
export const longIdentifier = /^[A-Za-z0-9._:-]{8,128}$/;

/**
 * Whether the entry fits the item's grammar. A subject's id may be any text that an identity provider gave, if it
 * survives storage unchanged: what is read back must hash to what was written.
 */
export function isRecordable(entry: AuditEntry): boolean {
  const { subjectId } = entry.subject;
  return (
    subjectId.length >= 1 &&
    subjectId.length <= 128 &&
    subjectId.isWellFormed() &&
    !subjectId.includes('\0') &&
    identifier.test(entry.action) &&
    identifier.test(entry.resource.kind) &&
    longIdentifier.test(entry.resource.resourceId) &&
    longIdentifier.test(entry.correlationId) &&
    (entry.traceId === undefined || /^[0-9a-f]{32}$/.test(entry.traceId))
  );
}
