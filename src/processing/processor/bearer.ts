/** Bearer tokens on the processor wire (§5, decisions §4): compared in constant time, by their digests. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** What is wrong with the `Authorization` header of a request, or null when it carries `token`. */
export function bearerFault(
  header: string | undefined,
  token: string,
): 'PROCESSOR_AUTH_REQUIRED' | 'PROCESSOR_AUTH_DENIED' | null {
  const given = /^bearer +(\S+)$/i.exec(header?.trim() ?? '')?.[1];
  if (given === undefined) return 'PROCESSOR_AUTH_REQUIRED';
  return timingSafeEqual(sha256(given), sha256(token)) ? null : 'PROCESSOR_AUTH_DENIED';
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
