/** Whole numbers in paths and queries: text on the wire, without sign or leading zero, and numbers to whoever reads a description. */
import * as Type from 'typebox';

interface WholeRange {
  readonly minimum: number;
  readonly maximum: number;
}

/** From `minimum` to `maximum`; an `about` begins with the form, as in "1 to 100, default 50". */
export function decimal(minimum: number, maximum: number, about = `a whole number from ${minimum} to ${maximum}`) {
  const whole: WholeRange = { minimum, maximum };
  return Type.String({ pattern: decimalPattern(minimum, maximum), description: about, whole });
}

/** An id, or the number of a revision. A larger one would be rounded, and might become another's. */
export const idText = decimal(1, Number.MAX_SAFE_INTEGER);
export const pageText = decimal(1, 999_999_999);

/** The schema as others read it, a range as one of integers; null for another schema. */
export function asInteger(schema: object): object | null {
  if (!('whole' in schema)) return null;
  return { type: 'integer', ...(schema.whole as WholeRange) };
}

/** Matches the canonical decimals from `minimum` to `maximum`, both not negative. */
export function decimalPattern(minimum: number, maximum: number): string {
  const ranges = minimum === 0 ? ['0'] : [];
  for (let digits = 1; digits <= String(maximum).length; digits++) {
    const low = Math.max(minimum, 10 ** (digits - 1));
    const high = Math.min(maximum, 10 ** digits - 1);
    if (low <= high) ranges.push(...sameLength(String(low), String(high)));
  }
  return `^${group(ranges)}$`;
}

/** Alternatives for the numbers of as many digits as both. */
function sameLength(low: string, high: string): string[] {
  const rest = low.length - 1;
  const from = Number(low[0]);
  const to = Number(high[0]);
  const lowest = '0'.repeat(rest);
  const highest = '9'.repeat(rest);
  if (from !== to) {
    const isWholeBelow = low.slice(1) === lowest;
    const isWholeAbove = high.slice(1) === highest;
    const first = isWholeBelow ? from : from + 1;
    const last = isWholeAbove ? to : to - 1;
    return [
      ...(isWholeBelow ? [] : sameLength(low, `${from}${highest}`)),
      ...(first <= last ? [`[${first}-${last}]${rest === 0 ? '' : `[0-9]{${rest}}`}`] : []),
      ...(isWholeAbove ? [] : sameLength(`${to}${lowest}`, high)),
    ];
  }
  return [`${from}${rest === 0 ? '' : group(sameLength(low.slice(1), high.slice(1)))}`];
}

function group(alternatives: readonly string[]): string {
  return `(?:${alternatives.join('|')})`;
}
