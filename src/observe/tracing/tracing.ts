import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { TapwireError } from '../../basics/errors.ts';
import type { TransactionKey } from '../../payments/model/transaction.ts';
import type { AttemptName, SwitchResponse } from '../../payments/ports/switch-ports.ts';
import type { SwitchMessage } from '../../payments/ports/transaction-dependencies.ts';
import type { Trace } from '../request-log.ts';

/** The description of a span: constant names, ids and states, never card data, a key or a header. */
export interface TracedWork {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** Begins a new trace, also inside another span. */
  readonly root?: true;
}

/**
 * Creates spans. Without an exporter this object does not exist, and no tracing code runs. Work within a span has
 * it as parent, also after any number of awaits.
 */
export class Tracing {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Runs work in a span, which ends when the work returns and fails when it throws. */
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

  /** A commit, from the call to the end of the group commit that contains the write. */
  commit<Result>(operation: string, { id }: TransactionKey, write: () => Promise<Result>): Promise<Result> {
    const attributes = {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'tapwire.transaction.id': id,
    };
    return this.within({ name: `commit ${operation}`, kind: SpanKind.CLIENT, attributes }, write, (outcome) => ({
      'tapwire.commit.outcome': String(outcome),
    }));
  }

  /** A request to a switch, until its response or its deadline. */
  roundTrip<Value>(
    message: SwitchMessage,
    processorType: string,
    { id, attempt }: AttemptName,
    send: () => Promise<SwitchResponse<Value>>,
  ): Promise<SwitchResponse<Value>> {
    const attributes = {
      'tapwire.processor.type': processorType,
      'tapwire.transaction.id': id,
      'tapwire.transaction.attempt': attempt,
    };
    return this.within({ name: `switch ${message}`, kind: SpanKind.CLIENT, attributes }, send, (response) => ({
      'tapwire.switch.response': response.kind,
      'tapwire.switch.connection': response.connectionId,
    }));
  }

  /** Begins a span that the caller ends. It continues the caller's trace or begins one. */
  begin({ name, ...options }: TracedWork, caller: Trace): { readonly span: Span; readonly context: Context } {
    const parent = parentOf(caller);
    const span = this.#tracer.startSpan(name, options, parent);
    return { span, context: trace.setSpan(parent, span) };
  }
}

/** The trace of a span, for a `traceparent` header. */
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

/** Class and code only, because a message may quote input. */
function errorType(error: unknown): string {
  if (error instanceof TapwireError) return error.code;
  return error instanceof Error ? error.constructor.name : typeof error;
}

/**
 * Runs each job in its own span. A job begins a trace, because the request that enqueued it has ended, and the one
 * that woke the job pump is unrelated.
 */
export function traceJobs(tracing: Tracing) {
  return <Result>(queue: string, asked: object, work: () => Promise<Result>): Promise<Result> => {
    const { id, eventId, attempt } = asked as Partial<Record<string, string>>;
    const attributes = {
      'messaging.system': 'pg-boss',
      'messaging.destination.name': queue,
      'tapwire.transaction.id': id,
      'tapwire.transaction.attempt': attempt,
      'tapwire.event.id': eventId,
    };
    return tracing.within({ name: `job ${queue}`, kind: SpanKind.CONSUMER, attributes, root: true }, work);
  };
}
