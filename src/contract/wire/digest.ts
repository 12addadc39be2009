/**
 * The input digest [data-processing §3.6]: SHA-256 over the canonical JSON of the request's content, without caller, time or
 * recipient. It is a content identity, not an idempotency key.
 */
import type { ArtifactRef, BindingRef, ForecastOptions, NormalisedFrame, TaskRef } from '../../api/processing.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';

/** The members of a request that its digest covers. The frame is normalised first; received bytes are never hashed. */
export interface DigestBasis {
  readonly task: TaskRef;
  readonly binding: BindingRef;
  readonly processor_contract: string;
  readonly artifact?: ArtifactRef | undefined;
  readonly frame: NormalisedFrame;
  readonly options: ForecastOptions;
}

export function inputDigest(basis: DigestBasis): string {
  return digestOf(basis);
}

/** Hashes exactly six members of the request, with `artifact: null` if it has no artifact. */
export function digestOf(request: {
  readonly task: unknown;
  readonly binding: unknown;
  readonly processor_contract: unknown;
  readonly artifact?: unknown;
  readonly frame: unknown;
  readonly options: unknown;
}): string {
  return `sha256:${sha256Hex(digestText(request))}`;
}

/** The text that is hashed. */
export function digestText(request: Parameters<typeof digestOf>[0]): string {
  const { task, binding, processor_contract, artifact, frame, options } = request;
  return canonicalJson({ task, binding, processor_contract, artifact: artifact ?? null, frame, options });
}
