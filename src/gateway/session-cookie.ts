/**
 * The session cookie [identity §7.1], and whether a request with it comes from our own pages: browsers send
 * cookies with requests that other sites trigger, too.
 */
import { parse, serialize } from 'cookie';
import type { FastifyRequest } from 'fastify';
import { Fault } from '../base/fault.ts';

/** The relevant part of a request. */
export interface CookieRequest {
  readonly header: (name: string) => string | undefined;
}

/** Of a request: every line of a header, because Node keeps only the first line of some; `host` is the one that the browser asked for. */
export function headersOf(request: Pick<FastifyRequest, 'raw' | 'host'>): CookieRequest['header'] {
  const { raw } = request;
  return (name) => {
    // A trusted proxy that asks for another host names the browser's in a header of its own.
    if (name === 'host') return request.host;
    return raw.headers[name] === undefined
      ? undefined
      : raw.headersDistinct[name]?.join(name === 'cookie' ? '; ' : ', ');
  };
}

const localHost = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;

/** Headers that a proxy adds. With one of them, the Host header does not identify the browser's machine. */
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

/** The header that sets a cookie; `maxAgeSeconds` 0 deletes it. */
export function cookieHeader(
  request: CookieRequest,
  value: string,
  maxAgeSeconds: number,
  purpose: 'session' | 'sign-in' = 'session',
): string {
  return serialize(nameFor(request, purpose), value, {
    httpOnly: true,
    secure: !isLocal(request),
    // A provider redirects the browser from its own site: the cookie of a pending sign-in must be sent with it.
    sameSite: purpose === 'session' ? 'strict' : 'lax',
    path: '/',
    maxAge: Math.floor(maxAgeSeconds),
  });
}

/** Throws unless the browser reports a request from a page of this host. */
export function checkSameOrigin(request: CookieRequest): void {
  if (isSameOrigin(request)) return;
  throw new Fault('permission-denied', 'a change with a session must come from a page of this service');
}

export function isSameOrigin({ header }: CookieRequest): boolean {
  const site = header('sec-fetch-site');
  const origin = header('origin');
  // Scripts cannot set the first header. Older browsers, and Chromium for a WebSocket, do not send it: the hosts must then be equal.
  return site === undefined
    ? origin !== undefined && URL.parse(origin)?.host === header('host')
    : site === 'same-origin';
}
