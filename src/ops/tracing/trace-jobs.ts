import { SpanKind } from '@opentelemetry/api';
import type { Tracing } from './tracing.ts';

/**
 * What runs each job inside a span of its own. A job begins a trace: whoever made it was answered long ago, and whoever woke the
 * pump that found it has nothing to do with it.
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
