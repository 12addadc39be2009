/** Decodes an untrusted result [processor §3] to its normal form: the shape that its status requires, real dates. */
import {
  type ForecastOutput,
  fallbackResultSchema,
  type ProcessingResult,
  producedResultSchema,
  resultSchemaId,
  unavailableResultSchema,
  wireLimits,
} from '../../api/processing.ts';
import { bad, good, type Wire } from './issue.ts';
import { NormalTimes } from './normal-times.ts';
import { shape } from './shape.ts';

const shapes = new Map<unknown, (value: unknown) => Wire<ProcessingResult>>([
  ['produced', shape(producedResultSchema)],
  ['fallback', shape(fallbackResultSchema)],
  ['unavailable', shape(unavailableResultSchema)],
]);

export function decodeResult(value: unknown): Wire<ProcessingResult> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return bad('', 'type');
  // An unknown schema or version is reported before anything else, not guessed at [platform §9].
  if (!('schema' in value) || value.schema !== resultSchemaId) return bad('/schema', 'version');
  const decode = 'status' in value ? shapes.get(value.status) : undefined;
  if (decode === undefined) return bad('/status', 'value');
  const decoded = decode(value);
  if (!decoded.ok) return decoded;
  if (!fitsDetails(decoded.value.details)) return bad('/details', 'length');
  return normalise(decoded.value);
}

function fitsDetails(details: object | undefined): boolean {
  if (details === undefined) return true;
  return new TextEncoder().encode(JSON.stringify(details)).byteLength <= wireLimits.detailsBytesMax;
}

function normalise(result: ProcessingResult): Wire<ProcessingResult> {
  const times = new NormalTimes();
  const issued_at = times.normal(result.issued_at, '/issued_at');
  const input_watermark = times.normal(result.input_watermark, '/input_watermark');
  const common = { issued_at, input_watermark };
  const normal = ((): ProcessingResult => {
    if (result.status === 'unavailable') return { ...result, ...common };
    const expires_at = times.normal(result.expires_at, '/expires_at');
    const output = normalOutput(result.output, times);
    if (result.status === 'produced') return { ...result, ...common, expires_at, output };
    const through = times.normal(result.fallback.based_on_data_through, '/fallback/based_on_data_through');
    return {
      ...result,
      ...common,
      expires_at,
      output,
      fallback: { ...result.fallback, based_on_data_through: through },
    };
  })();
  return times.issue === null ? good(normal) : { ok: false, issue: times.issue };
}

/** Sorts quantiles by probability. */
function normalOutput(output: ForecastOutput, times: NormalTimes): ForecastOutput {
  const points = output.points.map((point, index) => ({
    ...point,
    timestamp: times.normal(point.timestamp, `/output/points/${index}/timestamp`),
    ...(point.quantiles && { quantiles: point.quantiles.toSorted((a, b) => a.probability - b.probability) }),
  }));
  return { ...output, points };
}
