import { type Context, context, type Span, SpanKind } from '@opentelemetry/api';
import { formatTraceparent } from '../observe/request-log.ts';
import { markFailed, type Tracing, traceOf } from '../observe/tracing/tracing.ts';
import type { Server } from './server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set only if traces are recorded. */
    tracedAs?: { readonly span: Span; readonly context: Context };
  }
}

/**
 * Records a span for every request, with OpenTelemetry's attributes: method, route pattern, status. The span does not
 * contain the URL. Call this before any route is registered.
 */
export function traceRequests(server: Server, tracing: Tracing): void {
  server.decorateRequest('tracedAs');
  server.addHook('onRequest', (request, reply, done) => {
    const { method, correlationId, trace } = request;
    const route = request.routeOptions.url ?? 'unknown';
    const attributes = {
      'http.request.method': method,
      'http.route': route,
      'tapwire.correlation_id': correlationId,
    };
    const traced = tracing.begin({ name: `${method} ${route}`, kind: SpanKind.SERVER, attributes }, trace);
    request.tracedAs = traced;
    request.trace = traceOf(traced.span, trace);
    reply.header('traceparent', formatTraceparent(request.trace));
    context.with(traced.context, done);
  });
  // Socket events deliver the body outside of the span's context.
  server.addHook('preValidation', (request, _reply, done) => {
    context.with(request.tracedAs?.context ?? context.active(), done);
  });
  server.addHook('onResponse', ({ tracedAs }, { statusCode }, done) => {
    tracedAs?.span.setAttribute('http.response.status_code', statusCode);
    if (tracedAs && statusCode >= 500) markFailed(tracedAs.span, String(statusCode));
    tracedAs?.span.end();
    done();
  });
}
