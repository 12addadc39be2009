/**
 * The cookie of a session [identity §7.1], and whether a request with it comes from our own pages: a browser sends the cookie
 * along with what other sites make it ask.
 */
import { parse, serialize } from 'cookie';
import { Fault } from '../base/fault.ts';

/** The part of a request that is looked at. */
export interface CookieRequest {
  readonly header: (name: string) => string | undefined;
}

const localHost = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;

/** Headers that a proxy adds. With one of them, the Host header does not tell where the browser is. */
const proxyHeaders = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'forwarded', 'via'];

/** On this machine the console is reached over plain HTTP, where a cookie cannot be secure. */
function isLocal({ header }: CookieRequest): boolean {
  return localHost.test(header('host') ?? '') && proxyHeaders.every((name) => header(name) === undefined);
}

function nameFor(request: CookieRequest, purpose: 'session' | 'sign-in'): string {
  return `${isLocal(request) ? '' : '__Host-'}setpoint-${purpose}`;
}

export function cookieOf(request: CookieRequest, purpose: 'session' | 'sign-in' = 'session'): string | null {
  const value = parse(request.header('cookie') ?? '')[nameFor(request, purpose)];
  return value === undefined || value === '' ? null : value;
}

/** The header that sets a cookie; `maxAgeSeconds` 0 takes it away. */
export function cookieHeader(
  request: CookieRequest,
  value: string,
  maxAgeSeconds: number,
  purpose: 'session' | 'sign-in' = 'session',
): string {
  return serialize(nameFor(request, purpose), value, {
    httpOnly: true,
    secure: !isLocal(request),
    // A provider sends the browser back from its own site: the cookie of a sign-in under way must come along.
    sameSite: purpose === 'session' ? 'strict' : 'lax',
    path: '/',
    maxAge: Math.floor(maxAgeSeconds),
  });
}

/** Throws unless the browser says that a page of this very host asks. */
export function checkSameOrigin({ header }: CookieRequest): void {
  const site = header('sec-fetch-site');
  const origin = header('origin');
  // No script can set the first one. Older browsers do not send it: there the hosts must be the same.
  const isOwn =
    site === undefined ? origin !== undefined && URL.parse(origin)?.host === header('host') : site === 'same-origin';
  if (isOwn) return;
  throw new Fault('permission-denied', 'a change with a session must come from a page of this service');
}
