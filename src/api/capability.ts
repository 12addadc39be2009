/**
 * Capabilities [platform §3]: every operation is one descriptor, data that the pipeline, the API description, the
 * command line and the tools are driven by; and a handler bound to it by the area that carries it out.
 */
import type { TSchema } from 'typebox';

export type Permission =
  | 'automation.rule.manage'
  | 'automation.rule.execute'
  | 'automation.point.command'
  | 'automation.read'
  | 'data_processing.read'
  | 'data_processing.run'
  | 'audit.event.read'
  | 'identity.user.manage';

export interface Capability {
  /** Name in audit events, tools and documents, for example `automation.rule.create`. */
  readonly name: string;
  readonly summary: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Absolute path; parameters as `:name`. */
  readonly path: string;
  readonly kind: 'query' | 'command';
  readonly risk: 'low' | 'medium' | 'high' | 'critical';
  /** Null for public routes: no authentication at all. */
  readonly permission: Permission | null;
  readonly confirmation: 'never' | 'policy' | 'always';
  /**
   * Place of the second confirmation: in the body, in the body or the query (DELETE), or nowhere because the
   * header suffices.
   */
  readonly confirmedIn: 'body' | 'body-or-query' | 'header';
  readonly audit: 'not-required' | 'required';
  readonly idempotent: boolean;
  readonly params: TSchema;
  readonly query: TSchema;
  /** Whatever the query holds is ignored. */
  readonly ignoresQuery?: true;
  /** Schema of the JSON body; null when the route takes none. */
  readonly body: TSchema | null;
  /** Which limit of the gateway bounds how often a subject may call; commands have theirs by their kind. */
  readonly rate?: 'processing' | 'search';
  /** Which limit of the gateway bounds the body; `rule` when absent. */
  readonly bodyLimit?: 'rule' | 'plan' | 'session' | 'processing';
  /** The body is a credential: no part of it enters the audit. */
  readonly secretBody?: true;
  /** The answer is kept back with 503 when its terminal record cannot be written. */
  readonly withheldWithoutAudit?: true;
  readonly answer: TSchema;
  /** Answers in lines of progress to a caller that accepts `application/x-ndjson`; the last line is the answer. */
  readonly reportsProgress?: true;
  /** Media type of an answer that is text; JSON when absent. */
  readonly answerType?: 'text/event-stream' | 'text/plain';
  /** A caller on the machine itself needs no token. */
  readonly openTo?: 'loopback';
}

export interface Subject {
  readonly kind: 'user' | 'service-account' | 'system';
  readonly subjectId: string;
  readonly tenantId: string;
  readonly projectId: string;
  readonly roles: readonly string[];
  readonly permissions: ReadonlySet<Permission>;
}

/** The call as its handler sees it; params, query and body fit the descriptor's schemas. */
export interface CallContext {
  /** Null on public routes only. */
  readonly subject: Subject | null;
  readonly correlationId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Of a request header, by its name in lower case; undefined when absent, and where no request was made. */
  readonly header: (name: string) => string | undefined;
  /** The If-Match header, unquoted; undefined when absent. */
  readonly ifMatch: string | undefined;
  /** The x-request-id header as it came; undefined when absent. */
  readonly requestId: string | undefined;
  /** The Last-Event-ID header as it came; undefined when absent. */
  readonly lastEventId?: string | undefined;
  /** Aborted when the caller went before the answer was there; for work that is worth ending then. */
  readonly gone?: (() => AbortSignal) | undefined;
  /** Takes how far the work has come, from 0 to 1; undefined where nobody wants to know. */
  readonly progress?: ((share: number) => void) | undefined;
  readonly audit: CallAudit;
}

/** The handler's additions to the audit of its own call. */
export interface CallAudit {
  /** Particulars that the terminal record carries, however the call ends. */
  note(details: Readonly<Record<string, unknown>>): void;
  /** A record of its own about the same resource, durable when this resolves; refuses with `audit-unavailable`. */
  record(action: string, details: Readonly<Record<string, unknown>>): Promise<void>;
}

export interface Answer {
  /** The whole body. */
  readonly data: unknown;
  /** The body as text, instead of `data`: one that is not JSON, or JSON whose members must keep their places. */
  readonly content?: { readonly type: string; readonly text: string };
  readonly headers?: Readonly<Record<string, string>>;
  /** Particulars of the terminal audit event. */
  readonly auditDetails?: unknown;
  /** The resource's id, when the call only now gave it one. */
  readonly resourceId?: string;
}

/** The answer of area A and of identity to a call that succeeded. */
export function success(data: unknown): Answer {
  return { data: { success: true, data } };
}

/** The same, of text that is JSON already. */
export function successText(json: string): Answer {
  const text = `{"success":true,"data":${json}}`;
  return { data: null, content: { type: 'application/json; charset=utf-8', text } };
}

/** Who acts, as records and entries name it. */
export function actorOf({ subject }: Pick<CallContext, 'subject'>): { readonly kind: string; readonly id: string } {
  return { kind: subject?.kind ?? 'system', id: subject?.subjectId ?? 'setpoint' };
}

/** A call after its body was read, before it is confirmed and recorded. */
export interface Resolution {
  /** By the policy of what was resolved. */
  readonly confirmation: 'never' | 'required';
  readonly resourceId: string;
  /** Particulars of the accepted record. */
  readonly details: Readonly<Record<string, unknown>>;
  /** The terminal record counts as failed when it takes longer. */
  readonly terminalTimeoutMs: number;
  carryOut(): Promise<Answer>;
}

interface BoundOperation {
  readonly descriptor: Capability;
  /** The resource that the call is about, for the audit. */
  resource(params: Readonly<Record<string, string>>): { readonly kind: string; readonly id: string };
  /** On a public route whose body is the credential: the subject of that credential. Null is a failed authentication. */
  identify?(context: CallContext): Subject | null | Promise<Subject | null>;
  /** Records the refusal (403) of an operation whose audit is not the pipeline's. */
  refused?(subject: Subject, correlationId: string, details: Readonly<Record<string, unknown>>): Promise<void>;
}

/** The descriptor says all about the call beforehand. */
export interface HandledCapability extends BoundOperation {
  handler(context: CallContext): Promise<Answer>;
}

/** Confirmation and resource depend on the body (`confirmation: policy`); a Fault refuses the call. */
export interface ResolvedCapability extends BoundOperation {
  /** The resource that a refused call was about, as far as its body tells. */
  refusedResourceId(context: CallContext): string;
  resolve(context: CallContext): Resolution;
}

export type BoundCapability = HandledCapability | ResolvedCapability;
