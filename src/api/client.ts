/**
 * The HTTP client of every operation [platform §3]: a call is a descriptor and its input, the answer has the
 * descriptor's type. It needs `fetch` and nothing else, so it runs in a browser, in the command line and in the tools.
 * Streams (`/ws`, `text/event-stream`) are not calls and have clients of their own.
 */
import type { Static, TSchema } from 'typebox';
import * as Type from 'typebox';
import { Check } from 'typebox/schema';
import type { Capability } from './capability.ts';
import { mapOf } from './map-schema.ts';

export interface ClientOptions {
  /** Address of the service, without a trailing slash; empty in a page that the service itself has served. */
  readonly baseUrl: string;
  /** The bearer token to send, asked for at every call; null sends none. */
  readonly token: () => string | null;
  /** Longest wait for one answer, in milliseconds; `defaultDeadlineMs` when absent. */
  readonly deadlineMs?: number;
  readonly fetch?: typeof fetch;
}

export const defaultDeadlineMs = 30_000;

/** Of an operation that is known only when it runs, whatever texts it is given. */
type InputOf<S extends TSchema> =
  unknown extends Static<S>
    ? Readonly<Record<string, string>>
    : keyof Static<S> extends never
      ? { readonly [name: string]: never }
      : // A path is text; whoever has a number need not write it out.
        { readonly [K in keyof Static<S>]: string extends Static<S>[K] ? string | number : Static<S>[K] };
/** The confirmation in the body is the client's work: it says there what `confirmed` says. */
type BodyOf<S> = S extends TSchema ? Unconfirmed<Static<S> & object> : undefined;
/** Of each form of a body on its own. */
type Unconfirmed<T extends object> = T extends unknown ? Omit<T, 'confirmed'> : never;

/** The input of a call: path parameters, query and body where the descriptor has any. */
export interface CallInput<C extends Capability> {
  readonly params?: InputOf<C['params']>;
  readonly query?: Partial<Static<C['query']>>;
  readonly body?: BodyOf<C['body']>;
  /** The caller means it: sent as the header `x-svc-confirmed` and, where the operation wants it, in the body too. */
  readonly confirmed?: boolean;
  /** Revision that the change was made for; another one now answers 409 `revision-conflict`. */
  readonly expectedRevision?: number;
  readonly correlationId?: string;
  /** `x-request-id`, where the operation has one. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  /** Takes how far the service has come, from 0 to 1, where the operation reports it. */
  readonly onProgress?: (share: number) => void;
  /** Longest wait for this call, instead of the client's. */
  readonly deadlineMs?: number;
}

/** The input of whichever operation, for what is done alike for all of them. */
type GivenInput = { readonly [K in keyof CallInput<Capability>]: unknown };

export interface Reply<T> {
  readonly data: T;
  readonly status: number;
  readonly correlationId: string | null;
  /** The ETag, unquoted; null when the answer has none. */
  readonly revision: number | null;
  /** `x-svc-audit` of a mutation: whether its terminal record was written. */
  readonly audit: 'recorded' | 'incomplete' | null;
  /** The accepted record of a mutation, with which its caller can ask for the proof of exactly that record later. */
  readonly receipt: { readonly sequence: string; readonly hash: string } | null;
}

export interface Client {
  /** Resolves with the decoded answer, or rejects with an `ApiError`. */
  call<C extends Capability>(capability: C, input?: CallInput<C>): Promise<Reply<Static<C['answer']>>>;
}

/** Codes of failures that no server sent; everything else is the server's own code. */
export const localCodes = {
  /** No answer: the service is down, or the way to it. */
  unreachable: 'unreachable',
  /** No answer within the deadline of the client. */
  timeout: 'no-answer-in-time',
  /** An answer that is not what the descriptor promises. */
  unexpected: 'unexpected-answer',
} as const;

export interface ApiErrorParts {
  readonly code: string;
  readonly message: string;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly correlationId: string | null;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A call that did not succeed: the server's refusal, or why there is no answer. */
export class ApiError extends Error implements ApiErrorParts {
  readonly code: string;
  readonly status: number | null;
  readonly correlationId: string | null;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(parts: ApiErrorParts, cause?: unknown) {
    super(parts.message, cause === undefined ? undefined : { cause });
    this.name = 'ApiError';
    this.code = parts.code;
    this.status = parts.status;
    this.correlationId = parts.correlationId;
    this.retryable = parts.retryable;
    this.retryAfterMs = parts.retryAfterMs;
    this.details = parts.details;
  }

  /** The same failure in words that fit better where they are read. */
  saying(message: string): ApiError {
    const { code, status, correlationId, retryable, retryAfterMs, details } = this;
    return new ApiError({ code, message, status, correlationId, retryable, retryAfterMs, details }, this.cause);
  }
}

export function createClient(options: ClientOptions): Client {
  // A bare reference would lose its receiver in a browser.
  const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  return {
    async call<C extends Capability>(capability: C, input: CallInput<C> = {}): Promise<Reply<Static<C['answer']>>> {
      const deadline = AbortSignal.timeout(input.deadlineMs ?? options.deadlineMs ?? defaultDeadlineMs);
      const signal = input.signal === undefined ? deadline : AbortSignal.any([deadline, input.signal]);
      // Outside what is asked of the service: a call that cannot be made is the caller's bug, not a service that is down.
      const path = pathOf(capability, input);
      const body = bodyOf(capability, input);
      const response = await orNoAnswer(input.signal, () =>
        send(`${options.baseUrl}${path}`, {
          method: capability.method,
          headers: headersOf(capability, input, options.token(), body !== undefined),
          signal,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      );
      const text = await orNoAnswer(input.signal, () => answerText(response, input.onProgress));
      const value = capability.answerType === 'text/plain' && response.ok ? text : parsed(text);
      if (!response.ok || (isLines(response) && Check(errorEnvelope, value))) throw refusalOf(response, value);
      return {
        data: decoded<C['answer']>(capability.answer, value, response),
        status: response.status,
        correlationId: response.headers.get('x-correlation-id'),
        revision: revisionOf(response.headers.get('etag')),
        audit: auditOf(response.headers.get('x-svc-audit')),
        receipt: receiptOf(response.headers),
      };
    },
  };
}

function receiptOf(headers: Headers): Reply<unknown>['receipt'] {
  const sequence = headers.get('x-svc-audit-sequence');
  const hash = headers.get('x-svc-audit-hash');
  return sequence === null || hash === null ? null : { sequence, hash };
}

function isLines(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('application/x-ndjson') === true;
}

/** The body, or the last of its lines; those before it tell the progress. */
async function answerText(response: Response, onProgress: CallInput<Capability>['onProgress']): Promise<string> {
  if (!isLines(response) || response.body === null) return response.text();
  let rest = '';
  let last = '';
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const value = parsed(line);
      if (Check(progressLine, value)) onProgress?.(value.progress);
      else last = line;
    }
  }
  return last;
}

function pathOf(capability: Capability, input: GivenInput): string {
  const params = new Map(membersOf(input.params));
  const path = capability.path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const given = params.get(name);
    const value = typeof given === 'number' ? String(given) : given;
    if (typeof value !== 'string') throw new Error(`${capability.name} needs the path parameter ${name}`);
    // Dots alone would lead to another path.
    if (/^\.{0,2}$/.test(value)) throw unsendable(name, 'must not be empty, "." or ".."');
    return encodeURIComponent(wellFormed(name, value));
  });
  const query = new URLSearchParams();
  for (const [name, value] of membersOf(input.query))
    if (typeof value === 'string') query.append(name, wellFormed(name, value));
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A lone surrogate has no form in a URL: another character would be sent in its place. */
function wellFormed(name: string, value: string): string {
  if (!value.isWellFormed()) throw unsendable(name, 'must be well-formed Unicode');
  return value;
}

/** The error for a value that a URL cannot carry, in the form of the service's own. */
function unsendable(name: string, reason: string): ApiError {
  return new ApiError({
    code: 'invalid-input',
    message: `${name} ${reason}`,
    status: null,
    correlationId: null,
    retryable: false,
    retryAfterMs: null,
    details: {},
  });
}

function membersOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function headersOf(
  capability: Capability,
  input: GivenInput,
  token: string | null,
  hasBody: boolean,
): Record<string, string> {
  const wantsProgress = capability.reportsProgress === true && input.onProgress !== undefined;
  const headers: Record<string, string> = { accept: wantsProgress ? 'application/x-ndjson' : 'application/json' };
  if (token !== null && capability.permission !== null) headers['authorization'] = `Bearer ${token}`;
  if (hasBody) headers['content-type'] = 'application/json';
  if (input.confirmed === true) headers['x-svc-confirmed'] = 'true';
  if (typeof input.expectedRevision === 'number') headers['if-match'] = `"${input.expectedRevision}"`;
  if (typeof input.correlationId === 'string') headers['x-correlation-id'] = input.correlationId;
  if (typeof input.requestId === 'string') headers['x-request-id'] = input.requestId;
  return headers;
}

function bodyOf(capability: Capability, input: GivenInput): unknown {
  if (capability.body === null) return undefined;
  const confirms =
    input.confirmed === true && capability.confirmation === 'always' && capability.confirmedIn !== 'header';
  if (!confirms) return input.body;
  return { ...Object.fromEntries(membersOf(input.body)), confirmed: true };
}

/** The answer of `ask`; a caller that has given up sees its own reason, everything else is a typed failure. */
async function orNoAnswer<T>(given: AbortSignal | undefined, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (given?.aborted === true) throw error;
    const late = error instanceof Error && error.name === 'TimeoutError';
    throw new ApiError(
      {
        code: late ? localCodes.timeout : localCodes.unreachable,
        message: late ? 'the service did not answer in time' : 'the service cannot be reached',
        status: null,
        correlationId: null,
        retryable: true,
        retryAfterMs: null,
        details: {},
      },
      error,
    );
  }
}

function decoded<S extends TSchema>(schema: S, value: unknown, response: Response): Static<S> {
  if (Check(schema, value)) return value;
  throw unexpected(response, 'the answer does not have the promised form');
}

const progressLine = Type.Object({ progress: Type.Number() }, { additionalProperties: false });
const errorEnvelope = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    correlationId: Type.String(),
    retryable: Type.Optional(Type.Boolean()),
    retryAfterMs: Type.Optional(Type.Number()),
    details: Type.Optional(mapOf(Type.Unknown())),
  }),
});

function refusalOf(response: Response, value: unknown): ApiError {
  if (!Check(errorEnvelope, value))
    return unexpected(response, `the service answered ${response.status} without saying why`);
  const { code, message, correlationId, retryable, retryAfterMs, details } = value.error;
  return new ApiError({
    code,
    message,
    status: response.status,
    correlationId,
    retryable: retryable ?? false,
    retryAfterMs: retryAfterMs ?? null,
    details: details ?? {},
  });
}

function unexpected(response: Response, message: string): ApiError {
  return new ApiError({
    code: localCodes.unexpected,
    message,
    status: response.status,
    correlationId: response.headers.get('x-correlation-id'),
    // A proxy in front of the service answers with these.
    retryable: response.status === 502 || response.status === 503 || response.status === 504,
    retryAfterMs: null,
    details: {},
  });
}

/** Undefined for a body that is empty or no JSON: no schema fits it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function revisionOf(etag: string | null): number | null {
  const digits = /^"([0-9]{1,15})"$/.exec(etag ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

function auditOf(header: string | null): 'recorded' | 'incomplete' | null {
  return header === 'recorded' || header === 'incomplete' ? header : null;
}
