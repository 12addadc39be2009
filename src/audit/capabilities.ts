/**
 * The audit routes: search and stream [audit §4], checkpoints and proofs [audit §9]. The search covers the tenant and project of the subject, whatever the
 * request contains. Each search writes one event to the access log before its result leaves the service; a refused one too.
 */
import { auditOperations } from '../api/audit.ts';
import type { Answer, BoundCapability, CallContext, Subject } from '../api/capability.ts';
import { formatNote } from '../transparency/signed-note.ts';
import { criteriaOf } from './criteria.ts';
import type { AuditScope } from './event.ts';
import type { AccessLog } from './log.ts';
import type { AuditProofs } from './proofs.ts';
import type { EventPage, EventSearch } from './search.ts';
import type { AuditLogName } from './store/chain.ts';

export interface AuditParts {
  readonly proofs: AuditProofs;
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
    ...proofCapabilities(parts.proofs),
  ];
}

/** Proofs reveal nothing that a search does not; they are not recorded as searches. */
function proofCapabilities(proofs: AuditProofs): BoundCapability[] {
  const handled = (
    descriptor: BoundCapability['descriptor'],
    answer: (scope: AuditScope, context: CallContext) => Promise<Answer>,
  ): BoundCapability => ({
    descriptor,
    resource,
    handler: (context) => answer(scopeOf(subjectOf(context)), context),
  });
  return [
    handled(auditOperations.checkpoint, async (scope, { query }) =>
      plainText(formatNote((await proofs.checkpoint(scope, logOf(query))).note)),
    ),
    handled(auditOperations.proof, async (scope, { params }) =>
      plainText(await proofs.inclusion(scope, Number(params['sequence']))),
    ),
    handled(auditOperations.consistency, async (scope, { query }) => {
      const to = query['to'] === undefined ? null : Number(query['to']);
      return { data: await proofs.consistency(scope, logOf(query), Number(query['from']), to) };
    }),
  ];
}

function plainText(text: string): Answer {
  return { data: null, content: { type: 'text/plain; charset=utf-8', text } };
}

function logOf(query: CallContext['query']): AuditLogName {
  return query['log'] === 'access' ? 'access' : 'events';
}

function subjectOf({ subject }: CallContext): Subject {
  if (subject === null) throw new Error('an audit route without a subject');
  return subject;
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
    refused: (subject, correlationId, details) => record(subject, correlationId, 'denied', details),
    async handler(context: CallContext) {
      const { correlationId, query } = context;
      const subject = subjectOf(context);
      // Only the stream resumes; the query ignores the header.
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

/** Request and findings as JSON: absent members are left out. */
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
