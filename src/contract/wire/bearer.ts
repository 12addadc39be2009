/** Bearer tokens on the processor wire [processor §6.4]: compared in constant time, by their digests. */
import { createHash, timingSafeEqual } from 'node:crypto';

const tokenPattern = /^[\x21-\x7e]{1,8192}$/;

export type Bearer =
  /** `missing`: the route names a variable that is not set. */
  | { readonly ok: true; readonly token: string | null; readonly missing: boolean }
  | { readonly ok: false; readonly reason: string };

/** The bearer token for a processor, from the environment variable that its route names; or the reason why there is none. */
export function readBearer(
  name: string | null,
  boundary: 'local' | 'remote',
  env: Readonly<Record<string, string | undefined>>,
): Bearer {
  if (name === null) return { ok: true, token: null, missing: false };
  const value = env[name] ?? '';
  if (value === '' && boundary === 'local') return { ok: true, token: null, missing: true };
  // A configured token that is missing must not turn into a request without one.
  if (value === '')
    return {
      ok: false,
      reason: `${name} is not set, and a remote processor is not called without the token that its route names`,
    };
  if (!tokenPattern.test(value))
    return { ok: false, reason: `${name} is not a bearer token: 1 to 8192 visible ASCII characters, without spaces` };
  return { ok: true, token: value, missing: false };
}

/** The error in a request's `Authorization` header, or null when it carries `token`. */
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
