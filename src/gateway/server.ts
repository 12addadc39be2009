/**
 * The HTTP server (decisions §1): one address, one envelope for every failure, a correlation id on every answer. It
 * knows requests and replies; what an operation means is the pipeline's and its handler's business.
 */
import { maxHeaderSize } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { BoundCapability, Subject } from '../api/capability.ts';
import { Fault } from '../base/fault.ts';
import { correlationIdPattern, newId } from '../base/id.ts';
import { envelopeOf, faultOf, refusalHeaders } from './envelope.ts';
import { type Call, createPipeline, type PipelineParts } from './invoke.ts';
import type { GatewayLimits } from './limits.ts';

export interface Server {
  /** The server library's instance, for areas that add a WebSocket or static files before `listen`. */
  readonly fastify: FastifyInstance;
  /** `METHOD path` of every route that was added, by whomever. */
  readonly routes: ReadonlySet<string>;
  listen(host: string, port: number): Promise<{ readonly host: string; readonly port: number }>;
  close(): Promise<void>;
}

export interface ServerParts extends Omit<PipelineParts, 'rateLimits'> {
  readonly rateLimits: PipelineParts['rateLimits'];
  readonly capabilities: readonly BoundCapability[];
  readonly limits: GatewayLimits;
}

/** Query names that could only carry a credential; one in a URL ends up in logs and histories. */
const credentialParameters = ['token', 'access_token', 'bearer', 'bearer_token', 'authorization', 'jwt', 'id_token'];

export function createServer(parts: ServerParts): Server {
  const { limits, log } = parts;
  const fastify = Fastify({
    logger: false,
    bodyLimit: limits.rule_body_bytes,
    requestTimeout: limits.request_timeout_ms,
    exposeHeadRoutes: false,
    trustProxy: limits.trusted_proxies.length === 0 ? false : [...limits.trusted_proxies],
    http: { maxHeaderSize: Math.min(limits.header_bytes, maxHeaderSize) },
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => {
      prepare(request, reply);
      refuse(request, reply, fromFramework(error));
    },
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true },
  });
  const routes = new Set<string>();
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) routes.add(`${name} ${url}`);
  });
  fastify.decorateRequest('correlationId', '');
  fastify.decorateRequest('subject', null);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  fastify.addHook('onRequest', (request, reply, done) => {
    prepare(request, reply);
    done();
  });
  fastify.setNotFoundHandler((request, reply) =>
    refuse(request, reply, new Fault('not-found', 'there is no such route')),
  );
  fastify.setErrorHandler((error, request, reply) => {
    const fault = fromFramework(error);
    if (fault.code === 'internal-error')
      log.error('request failed', { correlation_id: request.correlationId, err: error });
    refuse(request, reply, fault);
  });
  for (const bound of parts.capabilities) addRoute(fastify, bound, parts);
  return {
    fastify,
    routes,
    async listen(host, port) {
      await fastify.listen({ host, port });
      const address = fastify.server.address() as AddressInfo;
      return { host: address.address, port: address.port };
    },
    close: () => fastify.close(),
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    correlationId: string;
    subject: Subject | null;
  }
}

function addRoute(fastify: FastifyInstance, bound: BoundCapability, parts: ServerParts): void {
  const pipeline = createPipeline(bound, parts);
  fastify.route({
    method: bound.descriptor.method,
    url: bound.descriptor.path,
    async onRequest(request) {
      const call = callOf(request);
      const leaked = credentialParameters.find((name) => call.query.has(name));
      if (leaked !== undefined)
        throw new Fault(
          'invalid-input',
          `a credential must not be in the query (${leaked}); use the Authorization header`,
        );
      request.subject = await pipeline.admit(call);
    },
    async handler(request, reply) {
      const body = Buffer.isBuffer(request.body) ? request.body : undefined;
      const answer = await pipeline.perform(callOf(request), request.subject, body);
      if (answer.audit !== undefined) reply.header('x-svc-audit', answer.audit);
      return reply
        .headers(answer.headers ?? {})
        .type(answer.content?.type ?? 'application/json; charset=utf-8')
        .send(answer.content?.text ?? JSON.stringify(answer.data));
    },
  });
}

function callOf(request: FastifyRequest): Call {
  const { url, headers } = request;
  const mark = url.indexOf('?');
  return {
    correlationId: request.correlationId,
    address: request.ip,
    header: (name) => {
      const value = headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    params: request.params as Readonly<Record<string, string>>,
    query: new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1)),
  };
}

/** What every answer carries, good or bad. */
function prepare(request: FastifyRequest, reply: FastifyReply): void {
  const given = request.headers['x-correlation-id'];
  request.correlationId = typeof given === 'string' && correlationIdPattern.test(given) ? given : newId();
  void reply.headers({
    'x-correlation-id': request.correlationId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
}

function refuse(request: FastifyRequest, reply: FastifyReply, fault: Fault): void {
  void reply
    .code(fault.status)
    .headers(refusalHeaders(fault))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(envelopeOf(fault, request.correlationId)));
}

/** The framework's own refusals in our words; whatever else it throws is an internal error. */
function fromFramework(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Fault('payload-too-large', 'the body is larger than this route takes');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Fault('unsupported-media-type', 'the body must be application/json');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Fault('invalid-input', 'the body does not have the announced length');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Fault('invalid-input', 'the path is malformed');
    default:
      return faultOf(error);
  }
}

/** A request that is not even HTTP gets the envelope too, written by hand, and its connection is closed. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) return;
  const fault =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Fault('headers-too-large', 'the headers are too large')
      : new Fault('invalid-input', 'the request is not valid HTTP');
  const correlationId = newId();
  const body = JSON.stringify(envelopeOf(fault, correlationId));
  const reason = fault.status === 431 ? 'Request Header Fields Too Large' : 'Bad Request';
  const head = [
    `HTTP/1.1 ${fault.status} ${reason}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-correlation-id: ${correlationId}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
