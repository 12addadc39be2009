/**
 * The bytes that leave the service [processor §2]: exactly the contract's members, copied one by one, so that nothing else about
 * the caller (actor, token, route) can leave with them.
 */
import { type DataProcessingRequest, requestSchemaId } from '../../api/processing.ts';
import { newId } from '../../base/id.ts';
import { formatTimestamp } from '../../base/timestamp.ts';
import { type DigestBasis, inputDigest } from './digest.ts';
import type { NormalisedRequest } from './request-decode.ts';

export interface RequestParticulars {
  /** The caller's `x-request-id`. */
  readonly callerId: string;
  /** Arrival of the call, in wall milliseconds. */
  readonly submittedAtMs: number;
  /** `deadline_ms` of the route. */
  readonly deadlineMs: number;
}

const uuid = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;

/** The caller's id is sent when it is a UUID, in its own case; otherwise a fresh one [processor §2]. */
export function buildRequest(basis: DigestBasis, about: RequestParticulars): NormalisedRequest {
  const { task, binding, processor_contract, artifact, frame, options } = basis;
  return {
    schema: requestSchemaId,
    request_id: uuid.test(about.callerId) ? about.callerId : newId(),
    submitted_at: formatTimestamp(about.submittedAtMs),
    deadline: formatTimestamp(about.submittedAtMs + about.deadlineMs),
    task: { id: task.id, revision: task.revision, kind: task.kind },
    binding: { id: binding.id, revision: binding.revision },
    processor_contract,
    ...(artifact !== undefined && { artifact }),
    frame,
    options,
    input_digest: inputDigest(basis),
  };
}

export function requestBytes(request: NormalisedRequest): Uint8Array {
  const { schema, request_id, submitted_at, deadline, task, binding, processor_contract, artifact } = request;
  const { frame, options, input_digest } = request;
  const message: DataProcessingRequest = {
    schema,
    request_id,
    submitted_at,
    deadline,
    task: { id: task.id, revision: task.revision, kind: task.kind },
    binding: { id: binding.id, revision: binding.revision },
    processor_contract,
    ...(artifact !== undefined && { artifact }),
    frame,
    options,
    input_digest,
  };
  return new TextEncoder().encode(JSON.stringify(message));
}
