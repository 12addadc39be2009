/** Why a result is rejected: the failed check and the place. Neither contains text from the processor. */
import type { WireIssue } from '../wire/issue.ts';

/** Each is one check of [data-processing §6.1], in the order in which results are checked. */
export type ResultCheck =
  | 'http_status'
  | 'media_type'
  | 'content_encoding'
  | 'max_response_bytes'
  | 'json'
  | 'error_envelope'
  | 'schema'
  | 'shape'
  | 'request_id'
  | 'task'
  | 'binding'
  | 'input_digest'
  | 'processor'
  | 'deadline'
  | 'issued_at'
  | 'input_watermark'
  | 'expires_at'
  | 'artifact'
  | 'target'
  | 'unit'
  | 'sign_convention'
  | 'cadence'
  | 'horizon'
  | 'timestamps'
  | 'quantiles'
  | 'quantile_order'
  | 'median'
  | 'output_range'
  | 'zero_series'
  | 'promoted_fallback'
  | 'fallback_not_allowed'
  | 'fallback_source'
  | 'fallback_values';

export interface Rejection {
  readonly check: ResultCheck;
  /** JSON Pointer into the result. */
  readonly path: string;
  /** The violated rule, when the check consists of several, for example `unknown_member`. */
  readonly rule: string | null;
}

export function rejection(check: ResultCheck, path: string, rule: string | null = null): Rejection {
  return { check, path, rule };
}

/** A message that could not be decoded; an unknown schema or version has a check of its own. */
export function shapeRejection(issue: WireIssue): Rejection {
  return rejection(issue.rule === 'version' ? 'schema' : 'shape', issue.path, issue.rule);
}
