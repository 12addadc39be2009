/**
 * Bytes to a JSON value, strictly [data-processing §1.3]: UTF-8 without a byte-order mark, no duplicate members, text
 * that has a canonical form. Numbers that overflow to infinity are left to the shapes, which name the place.
 */
import { JsonError, parseJson } from '../../base/json.ts';
import { bad, good, type Wire } from './issue.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function decodeMessage(bytes: Uint8Array): Wire<unknown> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return bad('', 'utf8');
  }
  try {
    return good(parseJson(text, 'kept'));
  } catch (error) {
    if (error instanceof JsonError) return bad('', error.rule);
    throw error;
  }
}
