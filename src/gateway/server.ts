/**
 * The HTTP server [platform §2]: one address, one envelope for every failure, a correlation id on every answer. It
 * handles requests and replies; operations belong to the pipeline and its handlers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Answer, BoundCapability, Subject } from '../api/capability.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { isLoopback, proxyCheck } from './client-address.ts';
import { trackConnections } from './connections.ts';
import { allowOrigins } from './cors.ts';
import { envelopeOf, faultOf, refusalHeaders } from './envelope.ts';
import { type Call, createPipeline, type PipelineParts } from './invoke.ts';
import type { GatewayLimits } from './limits.ts';
import { acceptsProgress, ProgressLines } from './progress.ts';
import { answerHeaders, answerRaw, correlationIdOf, unreadableRequest } from './raw-answer.ts';
import { RefusalTally } from './refusal-tally.ts';
import { headersOf } from './session-cookie.ts';

export interface Server {
  /** The server library's instance, for areas that add a WebSocket or static files before `listen`. */
  readonly fastify: FastifyInstance;
  /** `METHOD path` of every route, from any area. */
  readonly routes: ReadonlySet<string>;
  listen(host: string, port: number): Promise<{ readonly host: string; readonly port: number }>;
  /** Stops accepting connections and ends the open ones, at the latest after `drain_timeout_ms`. */
  close(): Promise<void>;
}

export interface ServerParts extends Omit<PipelineParts, 'rateLimits' | 'refusals'> {
  readonly rateLimits: PipelineParts['rateLimits'];
  readonly capabilities: readonly BoundCapability[];
  readonly limits: GatewayLimits;
  readonly clock: Clock;
}

/** Interval of the check for requests that take too long to arrive. */
const timeoutCheckMs = 1000;

/** Query names that could only carry a credential; URLs end up in logs and histories. */
const credentialParameters = ['token', 'access_token', 'bearer', 'bearer_token', 'authorization', 'jwt', 'id_token'];

export function createServer(parts: ServerParts): Server {
  const { limits, log } = parts;
  const fastify = createFramework(limits);
  const routes = new Set<string>();
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) routes.add(`${name} ${url}`);
  });
  fastify.decorateRequest('correlationId', '');
  fastify.decorateRequest('traceId', undefined);
  fastify.decorateRequest('subject', null);
  fastify.decorateRequest('call', null);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  fastify.addHook('onRequest', (request, reply, done) => {
    prepare(request, reply);
    checkRequest(request);
    done();
  });
  // After a refused upgrade the connection is unusable.
  fastify.addHook('onResponse', (request, _reply, done) => {
    if (request.headers.upgrade !== undefined) request.raw.socket.destroySoon();
    done();
  });
  allowOrigins(fastify, limits.cors_origins);
  fastify.setNotFoundHandler((request, reply) => refuse(request, reply, new Fault('not-found', 'route not found')));
  fastify.setErrorHandler((error, request, reply) => {
    const fault = fromFramework(error, request);
    if (fault.code === 'internal-error')
      log.error('request failed', { correlation_id: request.correlationId, err: error });
    refuse(request, reply, fault);
  });
  let draining = false;
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    // Otherwise a keep-alive client would hold up the drain after its request was answered.
    if (draining) reply.header('connection', 'close');
    done(null, payload);
  });
  fastify.server.maxConnections = limits.connections;
  const isProxy = proxyCheck(limits.trusted_proxies);
  const connections = trackConnections(fastify.server, parts.clock, limits, isProxy);
  answerOddities(fastify);
  const refusals = new RefusalTally(parts.clock, log, limits);
  for (const bound of parts.capabilities) addRoute(fastify, bound, { ...parts, refusals });
  return {
    fastify,
    routes,
    async listen(host, port) {
      await fastify.listen({ host, port });
      const address = fastify.server.address() as AddressInfo;
      return { host: address.address, port: address.port };
    },
    async close() {
      draining = true;
      const { cut } = await connections.drain(() => fastify.close(), limits.drain_timeout_ms);
      await refusals.flush();
      if (cut > 0) log.warn('closed connections that did not finish in time', { connections: cut });
    },
  };
}

/** Each operation decodes and describes its own messages, so the framework need not load its schema compilers at every start. */
const noSchemas = (): never => {
  throw new Error('routes have no framework schemas, so there is no compiler for them');
};

function createFramework(limits: GatewayLimits): FastifyInstance {
  const answeredEarly = new WeakSet<Duplex>();
  const noteEarly = (request: IncomingMessage): void => {
    if (request.complete) return;
    answeredEarly.add(request.socket);
    request.once('end', () => answeredEarly.delete(request.socket));
  };
  const fastify = Fastify({
    logger: false,
    bodyLimit: limits.rule_body_bytes,
    requestTimeout: limits.request_timeout_ms,
    // A request that arrives on an open connection while the server drains is answered like any other.
    return503OnClosing: false,
    trustProxy: limits.trusted_proxies.length === 0 ? false : [...limits.trusted_proxies],
    http: {
      maxHeaderSize: limits.header_bytes,
      headersTimeout: limits.request_timeout_ms,
      connectionsCheckingInterval: timeoutCheckMs,
      // Checked by `checkRequest`, whose refusal uses the envelope.
      requireHostHeader: false,
    },
    clientErrorHandler: (error, socket) => {
      // The aborted part is the rest of a request that was already answered: a second answer would be taken for that to the next
      // request.
      if (answeredEarly.has(socket)) socket.destroy();
      else answerRaw(socket, unreadableRequest(error.code));
    },
    frameworkErrors: (error, request, reply) => {
      reply.raw.once('finish', () => noteEarly(request.raw));
      prepare(request, reply);
      refuse(request, reply, fromFramework(error, request));
    },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true },
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    noteEarly(request.raw);
    done();
  });
  return fastify;
}

/** Answers that Node would send without a body, or not at all. */
function answerOddities(fastify: FastifyInstance): void {
  fastify.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const correlationId = correlationIdOf(request.headers['x-correlation-id']);
    const fault = new Fault('expectation-failed', 'only 100-continue is supported as an expectation');
    const body = JSON.stringify(envelopeOf(fault, correlationId));
    response.writeHead(fault.status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      ...answerHeaders(correlationId),
      connection: 'close',
    });
    response.end(body);
  });
  fastify.server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    const fault = new Fault('not-found', 'route not found');
    answerRaw(socket, fault, correlationIdOf(request.headers['x-correlation-id']));
  });
}

/** Requests that are refused for every route: without exactly one host, or with a credential in the URL. */
function checkRequest(request: FastifyRequest): void {
  const hosts = hostsIn(request.raw.rawHeaders);
  if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1'))
    throw new Fault('invalid-input', 'the request must have one Host header');
  for (const name of queryOf(request.url).keys()) {
    if (credentialParameters.includes(name.toLowerCase()))
      throw new Fault('invalid-input', 'a credential must not be in the query; use the Authorization header');
  }
}

/** The number of Host headers in a list of alternating names and values. */
function hostsIn(headers: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === 'host') hosts++;
  return hosts;
}

declare module 'fastify' {
  interface FastifyRequest {
    correlationId: string;
    /** From tracing, or from the caller's `traceparent`. */
    traceId: string | undefined;
    subject: Subject | null;
    /** Null before the route's own hooks. */
    call: Call | null;
  }
}

function addRoute(
  fastify: FastifyInstance,
  bound: BoundCapability,
  parts: ServerParts & Pick<PipelineParts, 'refusals'>,
): void {
  const pipeline = createPipeline(bound, parts);
  const { descriptor } = bound;
  fastify.route({
    method: descriptor.method,
    url: descriptor.path,
    bodyLimit: parts.limits[`${descriptor.bodyLimit ?? 'rule'}_body_bytes`],
    // A public route needs no admission, and its answers are the most frequent ones.
    ...(descriptor.permission !== null && {
      async onRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
        request.call = callOf(request, reply, parts.limits);
        request.subject = await pipeline.admit(request.call);
      },
    }),
    async handler(request, reply) {
      const body = Buffer.isBuffer(request.body) ? request.body : undefined;
      const call = request.call ?? callOf(request, reply, parts.limits);
      if (descriptor.reportsProgress === true && acceptsProgress(request.headers.accept)) {
        const lines = new ProgressLines(reply);
        const told = { ...call, progress: (share: number) => lines.report(share) };
        await withProgress(lines, request, parts, () => pipeline.perform(told, request.subject, body));
        return reply;
      }
      const answer = await pipeline.perform(call, request.subject, body);
      return reply
        .headers(answer.headers ?? {})
        .type(answer.content?.type ?? 'application/json; charset=utf-8')
        .send(answer.content?.text ?? JSON.stringify(answer.data));
    },
  });
}

/** After the first line of progress the status is already sent, so a failure is reported as the last line. */
async function withProgress(
  lines: ProgressLines,
  { correlationId }: FastifyRequest,
  { log }: ServerParts,
  perform: () => Promise<Answer>,
): Promise<void> {
  try {
    lines.end((await perform()).data);
  } catch (error) {
    if (!lines.isOpen()) throw error;
    const fault = faultOf(error);
    if (fault.code === 'internal-error') log.error('request failed', { correlation_id: correlationId, err: error });
    lines.end(envelopeOf(fault, correlationId));
  }
}

function callOf(request: FastifyRequest, reply: FastifyReply, limits: GatewayLimits): Call {
  return {
    correlationId: request.correlationId,
    address: request.ip,
    local: isFromThisMachine(request, limits),
    traceId: request.traceId,
    header: headersOf(request),
    params: request.params as Readonly<Record<string, string>>,
    query: queryOf(request.url),
    onAudit: (state) => void reply.header('x-svc-audit', state),
    onAccepted: ({ sequence, hash }) =>
      void reply.headers({ 'x-svc-audit-sequence': String(sequence), 'x-svc-audit-hash': hash }),
    gone: () => goneSignal(reply),
  };
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const closed = (): void => {
    if (!raw.writableFinished) gone.abort();
  };
  if (raw.destroyed) closed();
  else raw.once('close', closed);
  return gone.signal;
}

/** Headers set by proxies: a proxy on this machine passes on requests of remote clients. */
const proxyHeaders = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'forwarded', 'x-real-ip', 'via'];
const localHost = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;

/**
 * A caller on this machine, as far as that can be detected. A site with a proxy lists it in `trusted_proxies`, and then a
 * loopback address is not sufficient; an unlisted proxy usually shows by a header, a foreign Host or HTTP/1.0.
 */
function isFromThisMachine({ raw, headers }: FastifyRequest, { trusted_proxies: proxies }: GatewayLimits): boolean {
  if (proxies.length > 0 || raw.httpVersion !== '1.1') return false;
  return (
    isLoopback(raw.socket.remoteAddress ?? '') &&
    localHost.test(headers.host ?? '') &&
    proxyHeaders.every((name) => headers[name] === undefined)
  );
}

/** Cached per request, because it is read several times. */
const noQuery = new URLSearchParams();

function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  return mark === -1 ? noQuery : new URLSearchParams(url.slice(mark + 1));
}

function prepare(request: FastifyRequest, reply: FastifyReply): void {
  request.correlationId = correlationIdOf(request.headers['x-correlation-id']);
  request.traceId = traceIdOf(request.headers['traceparent']);
  void reply.headers(answerHeaders(request.correlationId));
}

/** W3C Trace Context; anything else is ignored. */
function traceIdOf(header: string | string[] | undefined): string | undefined {
  const id =
    typeof header === 'string' ? /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/.exec(header)?.[1] : undefined;
  return id === '0'.repeat(32) ? undefined : id;
}

function refuse(request: FastifyRequest, reply: FastifyReply, fault: Fault): void {
  void reply
    .code(fault.status)
    .headers(refusalHeaders(fault))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(envelopeOf(fault, request.correlationId)));
}

/** The framework's own refusals in our envelope; any other error is an internal error. */
function fromFramework(error: unknown, { routeOptions }: FastifyRequest): Fault {
  if (error instanceof Fault) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Fault(
        'payload-too-large',
        `the body is larger than the ${routeOptions.bodyLimit} bytes that this route accepts`,
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Fault('unsupported-media-type', 'the body must be application/json');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Fault('invalid-input', 'the body does not have the announced length');
    case 'ECONNRESET':
      // Nobody reads it; it prevents a client disconnect from being logged as a bug.
      return new Fault('invalid-input', 'the request ended early');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Fault('invalid-input', 'the path is malformed');
    default:
      return isRefusal(error) ? new Fault('not-found', 'file not found') : faultOf(error);
  }
}

/** The framework's own 403 and 404: a file route does not reveal why a path is refused. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || !('statusCode' in error)) return false;
  return error.statusCode === 403 || error.statusCode === 404;
}
