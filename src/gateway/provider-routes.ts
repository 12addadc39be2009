/**
 * The two addresses that a browser visits while it signs in with a provider [identity §9]. They answer with redirects, not in the
 * envelope, because a person sees the result.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import type { RateLimits } from './rate-limit.ts';
import type { Server } from './server.ts';
import { type CookieRequest, cookieHeader, cookieOf, headersOf } from './session-cookie.ts';

export interface ProviderRoutes {
  /** The provider's address for the redirect, and a secret that the browser returns. Throws a Fault if the provider is unreachable. */
  readonly begin: (base: string) => Promise<{ readonly location: string; readonly secret: string }>;
  /** The cookie of the new session; null if the sign-in failed. Throws a Fault if it cannot be recorded. */
  readonly finish: (
    address: URL,
    secret: string,
    correlationId: string,
  ) => Promise<{ readonly cookie: string; readonly maxAgeSeconds: number } | null>;
  readonly rateLimits: RateLimits;
  readonly log: Log;
}

/** Time limit for the sign-in at the provider. */
const underWaySeconds = 600;
const home = '/';
/** The console shows there that the sign-in failed, or was not possible. */
const failedPlace = '/#sign-in-failed';
const unavailablePlace = '/#sign-in-unavailable';

export function addProviderRoutes({ fastify }: Server, parts: ProviderRoutes): void {
  fastify.get('/session/oidc', async (request, reply) => {
    const begun = await unlessUnavailable(parts.begin(baseOf(request)));
    if (begun === 'unavailable') return redirected(reply, unavailablePlace, []);
    const { location, secret } = begun;
    return redirected(reply, location, [cookieHeader(cookies(request), secret, underWaySeconds, 'sign-in')]);
  });
  fastify.get('/session/callback', async (request, reply) => {
    const asked = cookies(request);
    const done = cookieHeader(asked, '', 0, 'sign-in');
    const secret = cookieOf(asked, 'sign-in');
    const opened =
      secret === null
        ? null
        : await unlessUnavailable(parts.finish(new URL(request.url, baseOf(request)), secret, request.correlationId));
    if (opened === 'unavailable') return redirected(reply, unavailablePlace, [done]);
    if (opened === null) {
      parts.log.warn('authentication failed', { correlation_id: request.correlationId });
      await parts.rateLimits.countFailedAuthentication(request.ip);
      return redirected(reply, failedPlace, [done]);
    }
    return redirected(reply, home, [done, cookieHeader(asked, opened.cookie, opened.maxAgeSeconds)]);
  });
}

/** A temporary failure is not a refused sign-in. */
async function unlessUnavailable<T>(work: Promise<T>): Promise<T | 'unavailable'> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Fault && error.retryable) return 'unavailable';
    throw error;
  }
}

function redirected(reply: FastifyReply, location: string, setCookie: string[]): FastifyReply {
  return reply.code(302).headers({ location, 'set-cookie': setCookie, 'cache-control': 'no-store' }).send();
}

/** The service's address in the browser; behind a proxy in `trusted_proxies`, the proxy's. */
function baseOf(request: FastifyRequest): string {
  return `${request.protocol}://${request.host}`;
}

function cookies(request: FastifyRequest): CookieRequest {
  return { header: headersOf(request) };
}
