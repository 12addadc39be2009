/** RFC 8785 canonical JSON: one text per value, fit for digests. Refuses NaN, infinities and lone surrogates. */
import canonicalize from 'canonicalize';

export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('the value has no JSON form');
  return text;
}
