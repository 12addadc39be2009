/**
 * The audit records of one operation [platform §3]: refused, accepted and concluded. If a required record
 * cannot be written, the call is refused; a failure to record a refusal or an outcome is logged.
 */
import type { Answer, BoundCapability, CallContext, Resolution, Subject } from '../api/capability.ts';
import type { AuditEntry, AuditScope } from '../audit/event.ts';
import type { AuditLog } from '../audit/log.ts';
import { recordedId } from '../audit/resource-id.ts';
import type { Appended } from '../audit/store/chain-store.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import type { ManyRefusals, RefusalTally } from './refusal-tally.ts';

/** The record's data about the request itself. */
interface RecordedCall {
  readonly correlationId: string;
  readonly traceId: string | undefined;
  readonly header: (name: string) => string | undefined;
  readonly params: Readonly<Record<string, string>>;
}

export interface RecordParts {
  /** The site's own tenant and project. */
  readonly site: AuditScope;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly refusals: RefusalTally;
}

export interface Records {
  denied(call: RecordedCall, subject: Subject | null, error: unknown, resourceId?: string): Promise<void>;
  accepted(
    call: RecordedCall,
    subject: Subject,
    context: CallContext,
    resolution: Resolution | null,
  ): Promise<Appended>;
  /** A record of an intermediate event; it needs no conclusion. */
  recordStep(
    call: RecordedCall,
    subject: Subject | null,
    resourceId: string | undefined,
    action: string,
    details: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  terminal(
    call: RecordedCall,
    subject: Subject,
    acceptedEventId: string,
    outcome: 'succeeded' | 'failed',
    answer: Answer,
    resolution: Resolution | null,
  ): Promise<'recorded' | 'incomplete'>;
}

/** Refusals that are recorded as `denied`; for a resolved call also an unknown resource. */
const deniedStatuses = [403, 404, 428];

export function createRecords(bound: BoundCapability, parts: RecordParts): Records {
  const { descriptor } = bound;
  const entry = (
    call: RecordedCall,
    subject: Subject,
    outcome: AuditEntry['outcome'],
    resourceId?: string,
  ): AuditEntry => {
    const resource = bound.resource(call.params);
    const explicit =
      descriptor.confirmation === 'always' ||
      (descriptor.confirmation === 'policy' && call.header('x-svc-confirmed') === 'true');
    return {
      subject: { kind: subject.kind, subjectId: subject.subjectId },
      action: descriptor.name,
      resource: { kind: resource.kind, resourceId: recordedId(resource.kind, resourceId ?? resource.id) },
      outcome,
      risk: descriptor.risk,
      confirmation: explicit ? 'explicit' : 'not-required',
      correlationId: call.correlationId,
      ...(call.traceId === undefined ? {} : { traceId: call.traceId }),
    };
  };
  /** The one log line of an audited call, at its end. */
  const note = ({ correlationId, action, resource, subject, outcome }: AuditEntry, more: object): void =>
    parts.log.info('audited call', {
      correlation_id: correlationId,
      action,
      outcome,
      resource: resource.resourceId,
      subject: subject.subjectId,
      ...more,
    });
  /** The record of a refusal, or of many of its kind. */
  const refusal = async (
    call: RecordedCall,
    subject: Subject,
    fault: Fault,
    resourceId: string | undefined,
    many: ManyRefusals | null,
  ): Promise<void> => {
    const counted = { code: fault.code, ...countOf(many) };
    await bound.refused?.(subject, call.correlationId, counted);
    if (descriptor.audit === 'not-required') return;
    // A hostile path must not make the event invalid.
    const params = Object.values(call.params).every((value) => /^[A-Za-z0-9._:-]{1,100}$/.test(value));
    // Subjects of another tenant may have the same name as ours.
    const { tenantId, projectId } = subject;
    const own = tenantId === parts.site.tenantId && projectId === parts.site.projectId;
    const details = { ...counted, ...(own ? {} : { tenantId, projectId }) };
    const denied = { ...entry(call, subject, 'denied', resourceId), details };
    // They may concern different resources.
    const isOne = params && many === null;
    const resource = isOne ? denied.resource : { ...denied.resource, resourceId: bound.resource({}).id };
    await parts.audit.append({ ...denied, confirmation: 'not-required', resource });
    note({ ...denied, resource }, counted);
  };
  return {
    /** Records a refused command; if that fails, the command is still refused. */
    async denied(call, subject, error, resourceId) {
      if (subject === null || !(error instanceof Fault) || !deniedStatuses.includes(error.status)) return;
      const { tenantId, projectId, subjectId } = subject;
      const kind = JSON.stringify([tenantId, projectId, subjectId, descriptor.name, error.code]);
      try {
        await parts.refusals.add(kind, (many) => refusal(call, subject, error, resourceId, many));
      } catch (failure) {
        parts.log.error('cannot write a denied audit record', { correlation_id: call.correlationId, err: failure });
      }
    },

    async accepted(call, subject, context, resolution) {
      const input = descriptor.secretBody === true ? null : withoutConfirmation(context.body);
      const record = entry(call, subject, 'accepted', resolution?.resourceId);
      const named = resolution?.resourceId ?? bound.resource(call.params).id;
      const resource = named === record.resource.resourceId ? {} : { resource: named };
      return parts.audit.append({ ...record, details: { ...(resolution?.details ?? { input }), ...resource } });
    },

    async recordStep(call, subject, resourceId, action, details) {
      if (subject === null) throw new Error(`${descriptor.name} has nobody to record ${action} for`);
      await parts.audit.append({ ...entry(call, subject, 'succeeded', resourceId), action, details });
    },

    async terminal(call, subject, acceptedEventId, outcome, answer, resolution) {
      const details = answer.auditDetails === undefined ? {} : { details: answer.auditDetails };
      const resourceId = answer.resourceId ?? resolution?.resourceId;
      const ended = { ...entry(call, subject, outcome, resourceId), ...details, acceptedEventId };
      note(ended, outcome === 'failed' ? { code: codeOf(answer.auditDetails) } : {});
      try {
        await withDeadline(parts.clock, resolution?.terminalTimeoutMs ?? null, parts.audit.append(ended));
        return 'recorded';
      } catch (failure) {
        parts.log.error('cannot write a terminal audit record', { correlation_id: call.correlationId, err: failure });
        return 'incomplete';
      }
    },
  };
}

/** The code of the fault that ended a call, as its terminal record has it. */
function codeOf(details: unknown): unknown {
  return typeof details === 'object' && details !== null && 'code' in details ? details.code : undefined;
}

/** Number and time span of the refusals in a record. */
function countOf(many: ManyRefusals | null): object {
  if (many === null) return {};
  const time = (ms: number): string => new Date(ms).toISOString();
  return { count: many.count, from: time(many.fromMs), to: time(many.toMs) };
}

/** Rejects if the work takes longer than the limit, if there is one. */
async function withDeadline<T>(clock: Clock, timeoutMs: number | null, work: Promise<T>): Promise<T> {
  if (timeoutMs === null) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = clock.after(timeoutMs, () => reject(new Error(`not done after ${timeoutMs} ms`)));
  try {
    return await Promise.race([work, promise]);
  } finally {
    timer.cancel();
  }
}

function withoutConfirmation(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'confirmed'));
}
