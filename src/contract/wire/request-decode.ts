/**
 * A request to a processor, from bytes to its normal form: those parts of steps 1 and 2 of the validation order [processor §4]
 * that need neither clock nor task. Every fault has its code from [processor §5].
 */
import Type from 'typebox';
import {
  type DataProcessingRequest,
  type ForecastOptions,
  forecastContractId,
  frameSchemaId,
  type NormalisedFrame,
  requestEnvelopeSchema,
  requestSchemaId,
} from '../../api/processing.ts';
import { decodeForecastOptions } from '../kind/forecast-options.ts';
import { digestOf, inputDigest } from './digest.ts';
import { decodeFrame } from './frame-decode.ts';
import { below, unknownMember, type WireIssue } from './issue.ts';
import { NormalTimes } from './normal-times.ts';
import { shape } from './shape.ts';

/** A request in its normal form. */
export type NormalisedRequest = Omit<DataProcessingRequest, 'frame'> & { readonly frame: NormalisedFrame };

type Envelope = Omit<DataProcessingRequest, 'frame' | 'options'> & {
  readonly frame: object;
  readonly options: object;
};

interface RequestFault {
  readonly code:
    | 'SCHEMA_UNSUPPORTED'
    | 'REQUEST_INVALID'
    | 'OPTION_UNKNOWN'
    | 'FRAME_INVALID'
    | 'FRAME_TOO_LARGE'
    | 'TASK_NOT_SUPPORTED'
    | 'DIGEST_MISMATCH';
  readonly issue: WireIssue;
}

export type RequestStep<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: RequestFault };

const envelopeShape = shape(requestEnvelopeSchema);
const versionsShape = shape(
  Type.Object({
    schema: Type.Optional(Type.String()),
    processor_contract: Type.Optional(Type.String()),
    frame: Type.Optional(Type.Object({ schema: Type.Optional(Type.String()) })),
  }),
);

function fail(
  code: RequestFault['code'],
  path: string,
  rule: string,
): { readonly ok: false; readonly fault: RequestFault } {
  return { ok: false, fault: { code, issue: { path, rule } } };
}

/** The request around its frame and options: contract versions first, then members, then real dates. */
export function decodeEnvelope(value: unknown): RequestStep<Envelope> {
  const unsupported = unsupportedVersion(value);
  if (unsupported !== null) return fail('SCHEMA_UNSUPPORTED', unsupported, 'version');
  const envelope = envelopeShape(value);
  if (!envelope.ok) {
    // An error at `frame` or `options` themselves is an error of that member.
    const place = envelope.issue.path;
    const code = place === '/frame' ? 'FRAME_INVALID' : place === '/options' ? 'OPTION_UNKNOWN' : 'REQUEST_INVALID';
    return { ok: false, fault: { code, issue: envelope.issue } };
  }
  const times = new NormalTimes();
  const submitted_at = times.normal(envelope.value.submitted_at, '/submitted_at');
  const deadline = times.normal(envelope.value.deadline, '/deadline');
  if (times.issue !== null) return { ok: false, fault: { code: 'REQUEST_INVALID', issue: times.issue } };
  return { ok: true, value: { ...envelope.value, submitted_at, deadline } };
}

/** The place of an identifier of an unknown schema or version; missing or mistyped ones are faults of shape. */
function unsupportedVersion(value: unknown): string | null {
  const versions = versionsShape(value);
  if (!versions.ok) return null;
  const { schema, processor_contract: contract, frame } = versions.value;
  if (schema !== undefined && schema !== requestSchemaId) return '/schema';
  if (contract !== undefined && contract !== forecastContractId) return '/processor_contract';
  return frame?.schema !== undefined && frame.schema !== frameSchemaId ? '/frame/schema' : null;
}

/** Frame and options; the options of an unknown kind cannot be decoded. */
export function decodeContent(envelope: Envelope): RequestStep<{ frame: NormalisedFrame; options: ForecastOptions }> {
  const frame = decodeFrame(envelope.frame);
  if (!frame.ok && frame.issue.rule === unknownMember)
    return { ok: false, fault: { code: 'REQUEST_INVALID', issue: below('/frame', frame.issue) } };
  if (envelope.task.kind !== 'forecast') return fail('TASK_NOT_SUPPORTED', '/task/kind', 'task_kind');
  const options = decodeForecastOptions(envelope.options);
  if (!options.ok) return { ok: false, fault: { code: 'OPTION_UNKNOWN', issue: below('/options', options.issue) } };
  if (!frame.ok) return { ok: false, fault: { code: 'FRAME_INVALID', issue: below('/frame', frame.issue) } };
  return { ok: true, value: { frame: frame.value, options: options.value } };
}

/** A receiver accepts the digest of the content as parsed, or of its normal form. */
export function digestFits(envelope: Envelope, normal: NormalisedRequest): boolean {
  return digestOf(envelope) === envelope.input_digest || inputDigest(normal) === envelope.input_digest;
}
