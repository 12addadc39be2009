/**
 * The processor-facing errors [processor §5]: one table from code to status, category and whether a retry helps.
 * Messages come from the table: they never contain parts of a request, paths or stacks.
 */
import { errorSchemaId, type ProcessorError } from '../../api/processing.ts';
import type { WireIssue } from './issue.ts';

interface ErrorKind {
  readonly status: number;
  readonly category: string;
  readonly retryable: boolean;
  readonly message: string;
}

const kind = (status: number, category: string, message: string, retryable = false): ErrorKind => ({
  status,
  category,
  retryable,
  message,
});

const processorErrors = {
  JSON_INVALID: kind(400, 'invalid_request', 'the body is not JSON with one meaning'),
  MEDIA_TYPE_UNSUPPORTED: kind(415, 'invalid_request', 'the media type of the body is not the one of this contract'),
  SCHEMA_UNSUPPORTED: kind(400, 'invalid_request', 'this schema or contract version is not supported'),
  REQUEST_INVALID: kind(400, 'invalid_request', 'the request breaks a rule of the contract'),
  DIGEST_MISMATCH: kind(400, 'invalid_request', 'the digest is not the digest of the content'),
  OPTION_UNKNOWN: kind(400, 'invalid_request', 'an option is unknown or outside its limits'),
  PROCESSOR_AUTH_REQUIRED: kind(401, 'authorization', 'a bearer token is required'),
  PROCESSOR_AUTH_DENIED: kind(403, 'authorization', 'the bearer token is not accepted'),
  TASK_NOT_SUPPORTED: kind(404, 'not_found', 'this task, revision or kind is not served here'),
  ROUTE_NOT_FOUND: kind(404, 'not_found', 'route not found'),
  MODEL_NOT_FOUND: kind(404, 'not_found', 'the requested artifact is not here'),
  FRAME_TOO_LARGE: kind(413, 'resource_limit', 'the request is larger than this processor takes'),
  FRAME_INVALID: kind(422, 'invalid_data', 'the frame breaks a rule of the contract'),
  UNIT_UNSUPPORTED: kind(422, 'invalid_data', 'a unit is not the one of the task'),
  QUALITY_REJECTED: kind(422, 'invalid_data', 'the data are outside the quality policy of the task'),
  PROCESSOR_BUSY: kind(429, 'capacity', 'all slots are busy', true),
  PROCESSOR_INTERNAL: kind(500, 'internal', 'the processor failed'),
  MODEL_RUNTIME_UNAVAILABLE: kind(503, 'unavailable', 'the model cannot run now', true),
  DEADLINE_EXCEEDED: kind(504, 'timeout', 'the deadline has passed', true),
} as const satisfies Record<string, ErrorKind>;

export type ProcessorErrorCode = keyof typeof processorErrors;

/** An error answer: the status of the response and its body. */
export interface ProcessorRefusal {
  readonly status: number;
  readonly body: ProcessorError;
  /** For the `Retry-After` header; null when there is no advice. */
  readonly retryAfterSeconds: number | null;
}

export interface RefusalParticulars {
  /** Empty when the request could not be read that far. */
  readonly requestId?: string;
  readonly issue?: WireIssue;
  readonly retryAfterSeconds?: number;
}

export function processorRefusal(code: ProcessorErrorCode, about: RefusalParticulars = {}): ProcessorRefusal {
  const { status, category, retryable, message } = processorErrors[code];
  const { issue, requestId = '', retryAfterSeconds = null } = about;
  const details = {
    ...(issue !== undefined && { path: issue.path, rule: issue.rule }),
    ...(retryAfterSeconds !== null && { retry_after_seconds: retryAfterSeconds }),
  };
  const body = { schema: errorSchemaId, request_id: requestId, code, category, message, retryable, details } as const;
  return { status, body, retryAfterSeconds };
}
