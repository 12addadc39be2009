/**
 * RFC 8785 canonical JSON: one text per value, fit for digests. Refuses NaN, infinities and lone surrogates. Written
 * out here because frames are long arrays of numbers, which the engine's own JSON writes many times faster than a
 * walk does; a property test holds it to the `canonicalize` library, byte for byte.
 */

export function canonicalJson(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? arrayText(value) : objectText(value);
  return scalarText(value);
}

function scalarText(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('a number without JSON form');
  if (typeof value === 'string' && !value.isWellFormed()) throw new Error('a lone surrogate has no JSON form');
  // RFC 8785 writes numbers and strings as ECMAScript does.
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new Error('the value has no JSON form');
  return text;
}

function arrayText(values: readonly unknown[]): string {
  if (values.every(isPlainScalar)) return JSON.stringify(values);
  return `[${values.map(canonicalJson).join(',')}]`;
}

/** A member that JSON.stringify writes canonically, inside an array, as it is. */
function isPlainScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return value.isWellFormed();
  return value === null || typeof value === 'boolean';
}

function objectText(value: object): string {
  if ('toJSON' in value && typeof value.toJSON === 'function') throw new Error('only plain data has a canonical form');
  // The default sort compares UTF-16 code units, which is the order that RFC 8785 asks for.
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${scalarText(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
