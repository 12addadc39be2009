/**
 * A processor's checks before it works on a request: the validation order of [processor §4] as one function, which returns the
 * accepted request or the error envelope to send back [processor §5].
 */
import type { ArtifactRef } from '../api/processing.ts';
import { beyondTask } from '../contract/kind/forecast-options.ts';
import type { TaskDeclaration } from '../contract/task/declaration.ts';
import { checkFrame } from '../contract/validate/frame.ts';
import { bearerFault } from '../contract/wire/bearer.ts';
import { type ProcessorErrorCode, type ProcessorRefusal, processorRefusal } from '../contract/wire/error-envelope.ts';
import { below, type WireIssue } from '../contract/wire/issue.ts';
import { isPlainEncoding, isProcessorMediaType } from '../contract/wire/media-type.ts';
import { decodeMessage } from '../contract/wire/message.ts';
import { timeMs } from '../contract/wire/normal-times.ts';
import { decodeContent, decodeEnvelope, digestFits, type NormalisedRequest } from '../contract/wire/request-decode.ts';

export interface ReceivedRequest {
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** The limits of a processor for requests. */
interface ReceiverLimits {
  readonly max_request_bytes: number;
  readonly max_frame_cells: number;
}

export interface Receiver {
  readonly declarations: readonly TaskDeclaration[];
  readonly limits: ReceiverLimits;
  /** Wall milliseconds. */
  readonly nowMs: number;
  /** Null if the processor requires none. */
  readonly bearerToken: string | null;
  /** Whether the processor has the artifact that a request selects. */
  knowsArtifact(artifact: ArtifactRef, declaration: TaskDeclaration): boolean;
}

export interface AcceptedRequest {
  readonly ok: true;
  /** In normal form: one spelling of timestamps, with `static_features`. */
  readonly request: NormalisedRequest;
  readonly declaration: TaskDeclaration;
}

export interface RefusedRequest {
  readonly ok: false;
  readonly refusal: ProcessorRefusal;
}

export function checkRequest(received: ReceivedRequest, receiver: Receiver): AcceptedRequest | RefusedRequest {
  const transport = transportFault(received, receiver);
  if (transport !== null) return refused(transport);
  const message = decodeMessage(received.body);
  if (!message.ok) return refused('JSON_INVALID', message.issue);
  const requestId = readableRequestId(message.value);
  const fail = (code: ProcessorErrorCode, issue: WireIssue) => refused(code, issue, requestId);

  const envelope = decodeEnvelope(message.value);
  if (!envelope.ok) return fail(envelope.fault.code, envelope.fault.issue);
  const cells = countCells(envelope.value.frame);
  if (cells > receiver.limits.max_frame_cells)
    return fail('FRAME_TOO_LARGE', { path: '/frame', rule: 'max_frame_cells' });
  const content = decodeContent(envelope.value);
  if (!content.ok) return fail(content.fault.code, content.fault.issue);
  const request: NormalisedRequest = { ...envelope.value, ...content.value };

  const timing = timingFault(request, receiver.nowMs);
  if (timing !== null) return fail(timing.code, { path: '/deadline', rule: timing.rule });
  if (!digestFits(envelope.value, request)) return fail('DIGEST_MISMATCH', { path: '/input_digest', rule: 'digest' });

  const declaration = receiver.declarations.find((task) => serves(task, request));
  if (declaration === undefined) return fail('TASK_NOT_SUPPORTED', { path: '/task', rule: 'task' });
  const beyond = beyondTask(request.options, declaration);
  if (beyond !== null) return fail('OPTION_UNKNOWN', below('/options', beyond));
  const fault = checkFrame(request.frame, declaration, request.options);
  if (fault !== null) return fail(fault.code, below('/frame', fault));
  if (request.artifact !== undefined && !receiver.knowsArtifact(request.artifact, declaration))
    return fail('MODEL_NOT_FOUND', { path: '/artifact', rule: 'artifact' });
  return { ok: true, request, declaration };
}

function refused(code: ProcessorErrorCode, issue?: WireIssue, requestId = ''): RefusedRequest {
  return { ok: false, refusal: processorRefusal(code, { requestId, ...(issue !== undefined && { issue }) }) };
}

/** The faults in the headers and the length alone. */
function transportFault({ headers, body }: ReceivedRequest, receiver: Receiver): ProcessorErrorCode | null {
  const denied = receiver.bearerToken === null ? null : bearerFault(headers['authorization'], receiver.bearerToken);
  if (denied !== null) return denied;
  if (body.byteLength > receiver.limits.max_request_bytes) return 'FRAME_TOO_LARGE';
  const plain = isPlainEncoding(headers['content-encoding']);
  return plain && isProcessorMediaType(headers['content-type']) ? null : 'MEDIA_TYPE_UNSUPPORTED';
}

function timingFault(
  request: NormalisedRequest,
  nowMs: number,
): { readonly code: ProcessorErrorCode; readonly rule: string } | null {
  const deadlineMs = timeMs(request.deadline);
  if (deadlineMs <= timeMs(request.submitted_at)) return { code: 'REQUEST_INVALID', rule: 'after_submitted_at' };
  if (deadlineMs <= timeMs(request.frame.as_of)) return { code: 'REQUEST_INVALID', rule: 'after_as_of' };
  return nowMs >= deadlineMs ? { code: 'DEADLINE_EXCEEDED', rule: 'deadline' } : null;
}

function serves(task: TaskDeclaration, request: NormalisedRequest): boolean {
  const { id, revision, kind } = request.task;
  const contract = task.processor_contract === request.processor_contract;
  return contract && task.id === id && task.revision === revision && task.kind === kind;
}

const uuid = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;

/** The request's id, so that the sender can match the refusal; only if it has the form of a UUID. */
function readableRequestId(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('request_id' in value)) return '';
  return typeof value.request_id === 'string' && uuid.test(value.request_id) ? value.request_id : '';
}

/** Cells of a frame before decoding, counted before anything iterates over them. */
function countCells(frame: object): number {
  let cells = 0;
  for (const name of ['history', 'future_covariates']) {
    const features = memberOf(memberOf(frame, name), 'features');
    for (const series of Object.values(features ?? {})) {
      const values: unknown = memberOf(series, 'values');
      if (Array.isArray(values)) cells += values.length;
    }
  }
  return cells;
}

function memberOf(value: unknown, name: string): object | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  const member: unknown = Reflect.get(value, name);
  return typeof member === 'object' && member !== null ? member : undefined;
}
