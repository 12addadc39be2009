/**
 * Bytes to a JSON value, strictly (decisions §4 "Lexical rules"): UTF-8 without a mark, one meaning per document, text
 * that has a canonical form. Numbers that overflow to infinity are left to the shapes, which name the place.
 */
import { JsonError, parseJson } from '../../base/json.ts';
import { bad, good, type Wire } from './issue.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const escapedSurrogate = /\\u[dD][89a-fA-F]/;

export function decodeMessage(bytes: Uint8Array): Wire<unknown> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return bad('', 'utf8');
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return bad('', error.rule);
    throw error;
  }
  // Valid UTF-8 holds no lone surrogate unless an escape spells one.
  return escapedSurrogate.test(text) && !wellFormed(value) ? bad('', 'lone_surrogate') : good(value);
}

function wellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && wellFormed(member));
}
