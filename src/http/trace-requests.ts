import { type Context, context, type Span, SpanKind } from '@opentelemetry/api';
import { formatTraceparent } from '../ops/traceparent.ts';
import { markFailed, type Tracing, traceOf } from '../ops/tracing/tracing.ts';
import type { Server } from './server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Only where traces are recorded. */
    tracedAs?: { readonly span: Span; readonly context: Context };
  }
}

/**
 * A span for every request, under OpenTelemetry's names: method, the route's pattern, status. The address itself is not told.
 * To be called before any route is registered.
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
  // The body came by events of the socket, which know nothing of the span.
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
