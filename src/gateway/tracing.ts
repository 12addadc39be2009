/**
 * Traces [platform §4.2]: one span per request, named by its route, in the caller's trace. The library's interface
 * does nothing until `bin` has started an exporter; this is the only file that uses it.
 */
import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const serverErrorsFrom = 500;

export function traceRequests(fastify: FastifyInstance): void {
  const tracer = trace.getTracer('setpoint');
  const spans = new WeakMap<FastifyRequest, Span>();
  fastify.addHook('onRequest', (request, _reply, done) => {
    const parent = propagation.extract(context.active(), request.headers);
    const route = request.routeOptions.url ?? 'none';
    const attributes = {
      'http.request.method': request.method,
      'http.route': route,
      'svc.correlation_id': request.correlationId,
    };
    const span = tracer.startSpan(`${request.method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    spans.set(request, span);
    // The audit events of the call name the same trace.
    request.traceId = span.spanContext().traceId;
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request);
    span?.setAttribute('http.response.status_code', reply.statusCode);
    if (reply.statusCode >= serverErrorsFrom) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
    done();
  });
}
