/**
 * A file of covariate runs, text to validated runs [data-processing §4.8]: issuer, forecast values and issue time. Strict: one
 * wrong value makes the whole file unusable, because the rest cannot be trusted then.
 */
import Type, { type Static } from 'typebox';
import { timestampSchema, unitSchema } from '../../api/processing.ts';
import { decoder } from '../../base/decode.ts';
import { JsonError, parseJson } from '../../base/json.ts';
import { strict } from '../../base/schema.ts';
import { parseTimestamp } from '../../base/timestamp.ts';
import { words } from '../../contract/lexical.ts';
import { type Cells, emptyCells, mark, setCell } from '../frame/cells.ts';
import { sourceLimits } from '../limits.ts';

export interface CovariateRun {
  readonly issuedMs: number;
  readonly watermarkMs: number;
  /** Position of each valid time in the fields' cells. */
  readonly positions: ReadonlyMap<number, number>;
  readonly fields: ReadonlyMap<string, { readonly unit: string; readonly cells: Cells }>;
}

/** The message names the position and the violated rule, but no file path. */
export class CovariateRunError extends Error {}

const { runs: runsMax, run_times: timesMax } = sourceLimits;
const fieldSchema = strict({
  unit: unitSchema,
  values: Type.Array(Type.Union([Type.Number(), Type.Null()]), { maxItems: timesMax }),
  quality: Type.Array(words('good', 'uncertain', 'substituted', 'missing'), { maxItems: timesMax }),
});
const runSchema = strict({
  issued_at: timestampSchema,
  watermark: timestampSchema,
  valid_times: Type.Array(timestampSchema, { minItems: 1, maxItems: timesMax }),
  fields: Type.Record(Type.String({ minLength: 1, maxLength: 256 }), fieldSchema),
});
const decode = decoder(
  strict({ schema: Type.Literal('svc.covariate-runs.v1'), runs: Type.Array(runSchema, { maxItems: runsMax }) }),
);

export function parseCovariateRuns(text: string): CovariateRun[] {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) throw new CovariateRunError(`the file ${error.message}`, { cause: error });
    throw error;
  }
  const decoded = decode(value);
  if (!decoded.ok) {
    const [issue] = decoded.issues;
    throw new CovariateRunError(`${issue?.path ?? ''}: ${issue?.message ?? 'is not valid'}`);
  }
  return decoded.value.runs.map((run, index) => runOf(run, `/runs/${index}`));
}

function runOf(text: Static<typeof runSchema>, path: string): CovariateRun {
  const issuedMs = timeOf(text.issued_at, `${path}/issued_at`);
  const watermarkMs = timeOf(text.watermark, `${path}/watermark`);
  if (issuedMs > watermarkMs) throw new CovariateRunError(`${path}/issued_at: is after the watermark`);
  const positions = new Map<number, number>();
  let beforeMs = -Infinity;
  text.valid_times.forEach((time, index) => {
    const validMs = timeOf(time, `${path}/valid_times/${index}`);
    if (validMs <= beforeMs)
      throw new CovariateRunError(`${path}/valid_times/${index}: is not after the one before it`);
    positions.set(validMs, index);
    beforeMs = validMs;
  });
  const fields = new Map(
    Object.entries(text.fields).map(([name, field]) => {
      const cells = cellsOf(field, positions.size, `${path}/fields/${name}`);
      return [name, { unit: field.unit, cells }] as const;
    }),
  );
  return { issuedMs, watermarkMs, positions, fields };
}

function cellsOf(field: Static<typeof fieldSchema>, steps: number, path: string): Cells {
  if (field.values.length !== steps || field.quality.length !== steps)
    throw new CovariateRunError(`${path}: needs a value and a quality for each valid time`);
  const cells = emptyCells(steps);
  field.values.forEach((value, index) => {
    const quality = field.quality[index] ?? 'missing';
    // 1e999 is valid JSON and no number; null and `missing` mean each other.
    if (value !== null && !Number.isFinite(value))
      throw new CovariateRunError(`${path}/values/${index}: is not finite`);
    if ((value === null) !== (quality === 'missing'))
      throw new CovariateRunError(`${path}/quality/${index}: missing and null go together`);
    if (value !== null) setCell(cells, index, value, mark[quality]);
  });
  return cells;
}

function timeOf(text: string, path: string): number {
  const ms = parseTimestamp(text);
  if (ms === null) throw new CovariateRunError(`${path}: is not a real time`);
  return ms;
}
