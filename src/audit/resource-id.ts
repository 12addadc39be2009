/** The ids of resources in records [audit §1]. */
import { sha256Hex } from '../base/digest.ts';
import { longIdentifier } from './event.ts';

/**
 * A name of the site file may be longer than an id, and have other characters. A digest stands for such a name, the same in each record
 * of it, so that they are found together; the name itself is in the details.
 */
export function recordedId(kind: string, id: string): string {
  return longIdentifier.test(id) ? id : `${kind}:sha256:${sha256Hex(id).slice(0, 32)}`;
}
