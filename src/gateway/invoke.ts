/**
 * The one pipeline of every operation [platform §3]. `admit` runs before the body is read, `perform` after; together
 * they are the order of the contract: authenticate → authorize → confirmation header → body limit, media type, syntax
 * → body flag → schema → accepted record → handler → terminal record.
 */
import type {
  Answer,
  BoundCapability,
  CallContext,
  Capability,
  Resolution,
  ResolvedCapability,
  Subject,
} from '../api/capability.ts';
import type { AuditScope } from '../audit/event.ts';
import type { AuditLog } from '../audit/log.ts';
import type { Appended } from '../audit/store/chain-store.ts';
import type { Clock } from '../base/clock.ts';
import { decodeOrRefuse } from '../base/decode.ts';
import { Fault } from '../base/fault.ts';
import { JsonError, parseJsonSteps } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { inTurns, type Steps } from '../base/turns.ts';
import { createRecords, type Records } from './call-records.ts';
import { faultOf, unauthenticated } from './envelope.ts';
import type { Identity } from './identity.ts';
import type { RateLimits } from './rate-limit.ts';
import type { RefusalTally } from './refusal-tally.ts';
import { checkSameOrigin, cookieOf } from './session-cookie.ts';

export interface PipelineParts {
  readonly identity: Identity;
  readonly audit: AuditLog;
  /** The site's own tenant and project. */
  readonly site: AuditScope;
  readonly rateLimits: RateLimits;
  readonly refusals: RefusalTally;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request in the pipeline, independent of the server library. */
export interface Call {
  readonly correlationId: string;
  readonly address: string;
  /** The caller is on this machine, without a proxy in between. */
  readonly local: boolean;
  /** Id of the call's trace; 32 lowercase hexadecimal digits. */
  readonly traceId: string | undefined;
  readonly header: (name: string) => string | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Aborted if the caller disconnects before the answer. */
  readonly gone?: () => AbortSignal;
  /** Receives the progress of the call, from 0 to 1; absent if the caller did not request it. */
  readonly progress?: (share: number) => void;
  /** Called with the outcome of the audited call, independent of the call's own end: `x-svc-audit`. */
  readonly onAudit: (state: 'recorded' | 'incomplete') => void;
  /** Called with the accepted record: the caller's receipt, however the call ends. */
  readonly onAccepted: (record: Pick<Appended, 'sequence' | 'hash'>) => void;
}

export interface Pipeline {
  /** Everything that needs no body. Null for public routes. */
  admit(call: Call): Promise<Subject | null>;
  perform(call: Call, subject: Subject | null, body: Buffer | undefined): Promise<Answer>;
}

export function createPipeline(bound: BoundCapability, parts: PipelineParts): Pipeline {
  const { descriptor } = bound;
  const decodeParams = decodeOrRefuse(descriptor.params, 'path');
  const decodeQuery = decodeOrRefuse(descriptor.query, 'query');
  const decodeBody = descriptor.body === null ? undefined : decodeOrRefuse(descriptor.body, 'body');
  const audit = createRecords(bound, parts);

  return {
    async admit(call) {
      if (descriptor.permission === null) return null;
      if (descriptor.openTo === 'loopback' && call.local && call.header('authorization') === undefined) return null;
      const { subject, bySession } = await authenticate(call, parts);
      // Before authorization: a refused command is recorded too, and a record must be bounded.
      if (descriptor.kind === 'command') await parts.rateLimits.countMutation(subject);
      if (descriptor.rate === 'processing') await parts.rateLimits.countProcessing(subject);
      if (descriptor.rate === 'search') await parts.rateLimits.countSearch(subject);
      try {
        if (bySession && descriptor.method !== 'GET') checkSameOrigin(call);
        authorize(descriptor, subject, parts.site);
        confirmHeader(descriptor, call);
      } catch (error) {
        await audit.denied(call, subject, error);
        throw error;
      }
      return subject;
    },

    async perform(call, subject, bytes) {
      const hasBody = bytes !== undefined && bytes.length > 0;
      const body = hasBody ? await inTurns(parts.clock, bodySteps(descriptor, call, bytes)) : undefined;
      try {
        confirmBody(descriptor, call, body);
      } catch (error) {
        await audit.denied(call, subject, error);
        throw error;
      }
      const notes: Record<string, unknown> = {};
      const run: Run = { call, caller: null, resolution: null, notes };
      const context: CallContext = {
        subject,
        correlationId: call.correlationId,
        params: stringsOf(decodeParams(call.params)),
        query: descriptor.ignoresQuery === true ? {} : stringsOf(decodeQuery(singleValues(call.query))),
        body: decodeBody?.(body),
        header: call.header,
        ifMatch: unquoted(call.header('if-match')),
        lastEventId: call.header('last-event-id'),
        requestId: call.header('x-request-id'),
        gone: call.gone,
        progress: call.progress,
        audit: {
          note: (details) => void Object.assign(notes, details),
          record: (action, details) => audit.recordStep(call, subject, run.resolution?.resourceId, action, details),
        },
      };
      run.caller =
        subject ?? (bound.identify === undefined ? null : await identify(bound.identify, call, context, parts));
      if ('resolve' in bound) run.resolution = await resolved(bound, run, context, audit);
      const carryOut = carrierOf(bound, run, context);
      if (descriptor.audit === 'not-required' || run.caller === null) return carryOut();
      return recorded(carryOut, run, run.caller, context);
    },
  };

  /** accepted record → handler → terminal record. */
  async function recorded(
    carryOut: () => Promise<Answer>,
    { call, resolution, notes }: Run,
    caller: Subject,
    context: CallContext,
  ): Promise<Answer> {
    const record = await audit.accepted(call, caller, context, resolution);
    const accepted = record.eventId;
    call.onAccepted(record);
    let answer: Answer;
    try {
      answer = await carryOut();
    } catch (error) {
      const fault = faultOf(error);
      const failed = { data: null, auditDetails: { code: fault.code, ...notes } };
      call.onAudit(await audit.terminal(call, caller, accepted, 'failed', failed, resolution));
      if (fault.code === 'unauthenticated') await parts.rateLimits.countFailedAuthentication(call.address);
      throw error;
    }
    const noted = Object.keys(notes).length === 0 ? answer : { ...answer, auditDetails: notes };
    const state = await audit.terminal(call, caller, accepted, 'succeeded', noted, resolution);
    call.onAudit(state);
    if (state === 'incomplete' && descriptor.withheldWithoutAudit === true)
      throw new Fault('audit-unavailable', 'the audit record could not be written; the answer is withheld');
    return answer;
  }
}

/** One call in the pipeline. */
interface Run {
  readonly call: Call;
  caller: Subject | null;
  /** Null until it is resolved, and if nothing needs resolving. */
  resolution: Resolution | null;
  /** The handler's additions to the terminal record. */
  readonly notes: Readonly<Record<string, unknown>>;
}

function carrierOf(bound: BoundCapability, { resolution }: Run, context: CallContext): () => Promise<Answer> {
  if (!('resolve' in bound)) return () => bound.handler(context);
  if (resolution === null) throw new Error(`${bound.descriptor.name} was not resolved`);
  return () => resolution.carryOut();
}

/** Between body and confirmation: the resolved resource decides whether confirmation is needed [platform §3]. */
async function resolved(
  bound: ResolvedCapability,
  { call, caller }: Run,
  context: CallContext,
  audit: Records,
): Promise<Resolution> {
  let resourceId = bound.refusedResourceId(context);
  try {
    const resolution = bound.resolve(context);
    ({ resourceId } = resolution);
    if (resolution.confirmation === 'required' && call.header('x-svc-confirmed') !== 'true')
      throw new Fault('confirmation-required', 'the header x-svc-confirmed: true is missing');
    return resolution;
  } catch (error) {
    await audit.denied(call, caller, error, resourceId);
    throw error;
  }
}

/** A header takes precedence over a cookie: browsers send cookies by themselves, programs send headers on purpose. */
async function authenticate(call: Call, parts: PipelineParts): Promise<{ subject: Subject; bySession: boolean }> {
  const authorization = call.header('authorization');
  const cookie = authorization === undefined ? cookieOf(call) : null;
  const subject =
    cookie === null
      ? await parts.identity.authenticate(authorization)
      : ((await parts.identity.authenticateSession(cookie))?.subject ?? null);
  return { subject: subject ?? (await refuseCredential(call, parts)), bySession: cookie !== null };
}

/** The subject named in the body of a public route. */
async function identify(
  ask: NonNullable<BoundCapability['identify']>,
  call: Call,
  context: CallContext,
  parts: PipelineParts,
): Promise<Subject> {
  return (await ask(context)) ?? refuseCredential(call, parts);
}

/** Counted and logged, never recorded: strangers must not be able to fill the audit store. */
async function refuseCredential(call: Call, parts: PipelineParts): Promise<never> {
  parts.log.warn('authentication failed', { correlation_id: call.correlationId });
  await parts.rateLimits.countFailedAuthentication(call.address);
  throw unauthenticated();
}

function authorize(descriptor: Capability, subject: Subject, site: AuditScope): void {
  const { permission } = descriptor;
  if (permission === null) return;
  if (!subject.permissions.has(permission))
    throw new Fault('permission-denied', `the permission ${permission} is required`);
  // The audit query is scoped to the token's own pair instead.
  if (permission === 'audit.event.read') return;
  if (subject.tenantId !== site.tenantId || subject.projectId !== site.projectId) {
    throw new Fault('permission-denied', 'the token is for another tenant or project');
  }
}

function confirmHeader(descriptor: Capability, call: Call): void {
  const header = call.header('x-svc-confirmed');
  if (header !== undefined && header !== 'true' && header !== 'false') {
    throw new Fault('invalid-input', 'the header x-svc-confirmed must be true or false, once');
  }
  if (descriptor.confirmation === 'always' && header !== 'true') {
    throw new Fault('confirmation-required', 'the header x-svc-confirmed: true is missing');
  }
}

/** The parsed body. */
function* bodySteps(descriptor: Capability, call: Call, bytes: Buffer): Steps<unknown> {
  // JSON is UTF-8 (RFC 8259); a body in another encoding would be misread.
  if (!/^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i.test(call.header('content-type') ?? ''))
    throw new Fault('unsupported-media-type', 'the body must be application/json in UTF-8');
  if (!/^(identity)?$/i.test(call.header('content-encoding') ?? ''))
    throw new Fault('unsupported-media-type', 'the body must not be compressed');
  if (descriptor.body === null) throw new Fault('invalid-input', 'this route accepts no body');
  try {
    return yield* parseJsonSteps(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof JsonError) throw new Fault('invalid-input', `the body ${error.message}`);
    if (error instanceof TypeError) throw new Fault('invalid-input', 'the body is not UTF-8');
    throw error;
  }
}

function confirmBody(descriptor: Capability, call: Call, body: unknown): void {
  if (descriptor.confirmation !== 'always' || descriptor.confirmedIn === 'header') return;
  if (typeof body === 'object' && body !== null && 'confirmed' in body && body.confirmed === true) return;
  if (descriptor.confirmedIn === 'body-or-query' && body === undefined && call.query.get('confirmed') === 'true')
    return;
  throw new Fault('confirmation-required', '"confirmed": true is missing in the body');
}

function singleValues(query: URLSearchParams): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of query) {
    if (Object.hasOwn(values, name))
      throw new Fault('invalid-input', `query parameter ${name.slice(0, 64)} is repeated; give it once`);
    Object.defineProperty(values, name, { value, enumerable: true });
  }
  return values;
}

function stringsOf(value: unknown): Readonly<Record<string, string>> {
  return value as Readonly<Record<string, string>>;
}

/** An entity tag without its quotes; undefined if the header is absent or `*`. */
function unquoted(header: string | undefined): string | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  return header.trim().replace(/^"(.*)"$/, '$1');
}
