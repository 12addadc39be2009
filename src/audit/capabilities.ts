/**
 * The two audit routes [audit §4]. The search covers the tenant and project of the subject, whatever the request
 * says. Each search leaves one record in the access log before its result leaves the service; a refused one too.
 */
import { auditOperations } from '../api/audit.ts';
import type { Answer, BoundCapability, CallContext, Subject } from '../api/capability.ts';
import { criteriaOf } from './criteria.ts';
import type { AuditScope } from './event.ts';
import type { AccessLog } from './log.ts';
import type { EventPage, EventSearch } from './search.ts';

export interface AuditParts {
  readonly search: EventSearch;
  readonly access: AccessLog;
}

const resource = () => ({ kind: 'audit-log', id: 'audit-log' });

export function auditCapabilities(parts: AuditParts): BoundCapability[] {
  return [
    bind(parts, auditOperations.search, (page) => ({ data: page })),
    bind(parts, auditOperations.stream, (page) => ({
      data: null,
      content: { type: 'text/event-stream; charset=utf-8', text: eventStream(page) },
    })),
  ];
}

function bind(
  parts: AuditParts,
  descriptor: BoundCapability['descriptor'],
  answer: (page: EventPage) => Answer,
): BoundCapability {
  const record = (subject: Subject, correlationId: string, outcome: 'succeeded' | 'denied', details: unknown) =>
    parts.access.record(scopeOf(subject), {
      subject: { kind: subject.kind, subjectId: subject.subjectId },
      action: descriptor.name,
      resource: { kind: resource().kind, resourceId: resource().id },
      outcome,
      risk: 'low',
      confirmation: 'not-required',
      correlationId,
      details,
    });
  return {
    descriptor,
    resource,
    refused: (subject, correlationId, fault) => record(subject, correlationId, 'denied', { code: fault.code }),
    async handler(context: CallContext) {
      const { subject, correlationId, query } = context;
      if (subject === null) throw new Error('an audit route without a subject');
      // Only the stream resumes; to the query the header means nothing.
      const resume = descriptor === auditOperations.stream ? context.lastEventId : undefined;
      const page = await parts.search.page(scopeOf(subject), criteriaOf(query, resume));
      const seen = { items: page.items.length, newest: page.items[0]?.sequence, oldest: page.items.at(-1)?.sequence };
      await record(subject, correlationId, 'succeeded', defined({ ...query, lastEventId: resume }, seen));
      return answer(page);
    },
  };
}

function scopeOf(subject: Subject): AuditScope {
  return { tenantId: subject.tenantId, projectId: subject.projectId };
}

/** What was asked and what was seen, as JSON has it: absent members are left out. */
function defined(asked: object, seen: object): unknown {
  const present = (value: object): object =>
    Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
  return { asked: present(asked), seen: present(seen) };
}

/** A finite snapshot: a client resumes with the last id until no event comes. */
function eventStream(page: EventPage): string {
  const events = page.items.map(
    (item) => `id: ${item.sequence}\nevent: audit.event\ndata: ${JSON.stringify(item)}\n\n`,
  );
  return `${events.join('')}: snapshot-complete\n\n`;
}
