/** The ids of resources in records [audit §1]. */
import { sha256Hex } from '../base/digest.ts';
import { longIdentifier } from './event.ts';

/**
 * Names in the site file may be too long for an id, or contain other characters. Their records use a digest instead, always the
 * same one, so that a search finds them together. The details contain the name itself.
 */
export function recordedId(kind: string, id: string): string {
  return longIdentifier.test(id) ? id : `${kind}:sha256:${sha256Hex(id).slice(0, 32)}`;
}
