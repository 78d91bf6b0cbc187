import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { TapwireError } from '../../errors.ts';
import type { Trace } from '../traceparent.ts';

/** A piece of work as its span tells of it: names of ours, ids and states; never a value of a card, a key or a header. */
export interface TracedWork {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** It begins a trace, wherever it was called from. */
  readonly root?: true;
}

/**
 * Makes spans, where traces are wanted: an installation without an exporter has no such object, and nothing below is called.
 * What is done within a span finds it as its parent, however many awaits later.
 */
export class Tracing {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** The span of work that ends where it returns, or fails by what it throws. */
  async within<Result>(
    { name, ...options }: TracedWork,
    work: () => Promise<Result>,
    tell: (result: Result) => Attributes = () => ({}),
  ): Promise<Result> {
    const span = this.#tracer.startSpan(name, options, context.active());
    try {
      const result = await context.with(trace.setSpan(context.active(), span), work);
      span.setAttributes(tell(result));
      return result;
    } catch (error) {
      markFailed(span, errorType(error));
      throw error;
    } finally {
      span.end();
    }
  }

  /** A span that somebody else ends: it goes on with the caller's trace, or begins one. */
  begin({ name, ...options }: TracedWork, caller: Trace): { readonly span: Span; readonly context: Context } {
    const parent = parentOf(caller);
    const span = this.#tracer.startSpan(name, options, parent);
    return { span, context: trace.setSpan(parent, span) };
  }
}

/** Which trace a span is of, as `traceparent` tells it. */
export function traceOf(span: Span, { parentSpanId }: Trace): Trace {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return { traceId, spanId, parentSpanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 };
}

export function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

function parentOf({ traceId, parentSpanId, isSampled }: Trace): Context {
  if (parentSpanId === undefined) return ROOT_CONTEXT;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parentSpanId, traceFlags, isRemote: true });
}

/** Its class and code: a message may quote what it choked on. */
function errorType(error: unknown): string {
  if (error instanceof TapwireError) return error.code;
  return error instanceof Error ? error.constructor.name : typeof error;
}
