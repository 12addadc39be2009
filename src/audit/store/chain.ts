/**
 * The bytes of the audit chain ([audit §6]; docs/formats/audit.md): one canonical text per event, which holds
 * the hash of the previous event, and its SHA-256. It is here because the migration of older databases needs it too.
 * The text is RFC 8785: members sorted by code unit, implemented without a library because millions of events are verified at once.
 */
import { hash } from 'node:crypto';
import type { AuditEventTable } from './tables.ts';

/** `events` is what the query answers from; `access` is the log of the searches themselves. */
export type AuditLogName = 'events' | 'access';

export interface ChainOwner {
  readonly log: AuditLogName;
  readonly tenantId: string;
  readonly projectId: string;
}

/** A description of the chain. */
export function nameOf({ log, tenantId, projectId }: ChainOwner): string {
  return `${log} of ${tenantId}/${projectId}`;
}

/** An event in the form that is hashed. Optional members are null if absent. */
export interface ChainedEvent {
  /** Canonical decimal. */
  readonly sequence: string;
  readonly eventId: string;
  readonly occurredAt: string;
  readonly subjectKind: string;
  readonly subjectId: string;
  readonly action: string;
  readonly resourceKind: string;
  readonly resourceId: string;
  readonly outcome: string;
  readonly risk: string;
  readonly confirmation: string;
  readonly correlationId: string;
  readonly traceId: string | null;
  readonly detailsDigest: string | null;
  readonly acceptedEventId: string | null;
  /** Hash of the previous event, or `chainStart`. */
  readonly previous: string;
}

/** A stored event, or one without its hash, in the form that is hashed. */
export function chainedEventOf(row: Omit<AuditEventTable, 'hash'>): ChainedEvent {
  return {
    sequence: String(row.sequence),
    eventId: row.event_id,
    occurredAt: row.occurred_at,
    subjectKind: row.subject_kind,
    subjectId: row.subject_id,
    action: row.action,
    resourceKind: row.resource_kind,
    resourceId: row.resource_id,
    outcome: row.outcome,
    risk: row.risk,
    confirmation: row.confirmation,
    correlationId: row.correlation_id,
    traceId: row.trace_id,
    detailsDigest: row.details_digest,
    acceptedEventId: row.accepted_event_id,
    previous: row.previous_hash,
  };
}

/** The predecessor hash of a chain's first event. */
export const chainStart = '0'.repeat(64);

/**
 * Only names from outside may need escapes; all other members follow a grammar without quotes, backslashes
 * or control characters. Unescaped they stay unambiguous: the labels between them occur once in a
 * record, so no other members give the same text. But the correlation id precedes an optional
 * label: unescaped, it could contain the digest of the details.
 */
export function chainText(owner: ChainOwner, event: ChainedEvent): string {
  return (
    `{${event.acceptedEventId === null ? '' : `"acceptedEventId":"${event.acceptedEventId}",`}` +
    `"action":"${event.action}","confirmation":"${event.confirmation}"` +
    `,"correlationId":${quoted(event.correlationId)}${event.detailsDigest === null ? '' : `,"detailsDigest":"${event.detailsDigest}"`}` +
    `,"eventId":"${event.eventId}","log":"${owner.log}","occurredAt":"${event.occurredAt}"` +
    `,"outcome":"${event.outcome}","previous":"${event.previous}"` +
    `,"projectId":${quoted(owner.projectId)},"resource":{"kind":"${event.resourceKind}"` +
    `,"resourceId":"${event.resourceId}"},"risk":"${event.risk}","schema":"svc.audit-event.v1"` +
    `,"sequence":"${event.sequence}","subject":{"kind":"${event.subjectKind}"` +
    `,"subjectId":${quoted(event.subjectId)}},"tenantId":${quoted(owner.tenantId)}` +
    `${event.traceId === null ? '' : `,"traceId":"${event.traceId}"`}}`
  );
}

const plain = /^[\w.:-]*$/;

function quoted(value: string): string {
  return plain.test(value) ? `"${value}"` : JSON.stringify(value);
}

export function chainHash(owner: ChainOwner, event: ChainedEvent): string {
  return hash('sha256', chainText(owner, event), 'hex');
}
