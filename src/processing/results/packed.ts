/**
 * The numbers of a stored result as bytes: 64-bit floats, little-endian, row after row with one number per step (value, one row per
 * probability, one per reference). Nothing is rounded: a stored result equals the answered one.
 */
import type { ForecastPoint } from '../../api/processing.ts';
import { referenceNames } from './references.ts';

export interface ResultNumbers {
  readonly value: Float64Array;
  /** One row per probability, ascending. */
  readonly quantiles: readonly Float64Array[];
  /** In the order of `referenceNames`; a missing value is NaN. */
  readonly references: readonly Float64Array[];
}

const numberBytes = 8;
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

export function packNumbers({ value, quantiles, references }: ResultNumbers): Uint8Array {
  const rows = [value, ...quantiles, ...references];
  const bytes = new Uint8Array(rows.length * value.length * numberBytes);
  const view = new DataView(bytes.buffer);
  for (const [row, numbers] of rows.entries())
    for (let step = 0; step < value.length; step++)
      view.setFloat64((row * value.length + step) * numberBytes, numbers[step] as number, true);
  return bytes;
}

/** Throws if the bytes do not match these numbers of steps and probabilities. */
export function unpackNumbers(bytes: Uint8Array, steps: number, probabilities: number): ResultNumbers {
  const rows = 1 + probabilities + referenceNames.length;
  if (bytes.byteLength !== rows * steps * numberBytes) throw new Error('the numbers of a stored result are damaged');
  const { buffer, byteOffset } = isLittleEndian && bytes.byteOffset % numberBytes === 0 ? bytes : new Uint8Array(bytes);
  const view = new DataView(buffer, byteOffset);
  const read = (row: number): Float64Array => {
    const numbers = new Float64Array(buffer, byteOffset + row * steps * numberBytes, steps);
    // A big-endian machine reverses each number in place.
    if (!isLittleEndian)
      for (let step = 0; step < steps; step++)
        numbers[step] = view.getFloat64((row * steps + step) * numberBytes, true);
    return numbers;
  };
  return {
    value: read(0),
    quantiles: Array.from({ length: probabilities }, (_, index) => read(1 + index)),
    references: referenceNames.map((_, index) => read(1 + probabilities + index)),
  };
}

/** The rows of an output's points. */
export function numbersOf(
  points: readonly ForecastPoint[],
  probabilities: readonly number[],
): Omit<ResultNumbers, 'references'> {
  return {
    value: Float64Array.from(points, ({ value }) => value),
    quantiles: probabilities.map((_, index) =>
      Float64Array.from(points, ({ quantiles }) => quantiles?.[index]?.value ?? Number.NaN),
    ),
  };
}

/** The points again, at `labels`. */
export function pointsOf(
  { value, quantiles }: ResultNumbers,
  probabilities: readonly number[],
  labels: readonly string[],
): ForecastPoint[] {
  return labels.map((timestamp, step) => ({
    timestamp,
    value: value[step] as number,
    ...(probabilities.length > 0 && {
      quantiles: probabilities.map((probability, index) => ({
        probability,
        value: quantiles[index]?.[step] as number,
      })),
    }),
  }));
}
