import { SpanKind } from '@opentelemetry/api';
import type { Tracing } from './tracing.ts';

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
