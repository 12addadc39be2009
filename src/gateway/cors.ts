/**
 * Pages of other origins [platform §2.3]: those of `http.cors_origins` may call the API with a bearer token. Cookies are
 * not allowed, so that no page acts with somebody's session.
 */
import type { FastifyInstance } from 'fastify';

const methods = 'GET, POST, PUT, DELETE';
const requestHeaders =
  'authorization, content-type, if-match, last-event-id, x-correlation-id, x-request-id, x-svc-confirmed';
/** Without this list, scripts could not read them. */
const answerHeaderNames = 'etag, retry-after, x-correlation-id, x-svc-audit, x-svc-audit-sequence, x-svc-audit-hash';
const preflightSeconds = 600;

export function allowOrigins(fastify: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  fastify.addHook('onRequest', async ({ method, headers }, reply) => {
    void reply.header('vary', 'Origin');
    const { origin } = headers;
    if (origin === undefined || !origins.includes(origin)) return undefined;
    void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': answerHeaderNames });
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return undefined;
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': methods,
        'access-control-allow-headers': requestHeaders,
        'access-control-max-age': preflightSeconds,
      })
      .send();
  });
}
