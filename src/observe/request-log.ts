import type { OverloadedResource } from '../basics/errors.ts';
import type { Log } from './log.ts';
import type { Trace } from './traceparent.ts';

/**
 * The parts of a request that may be logged: its ids and the pattern of its route. Never a URL, a header or a body.
 */
interface LoggedRequest {
  readonly correlationId: string;
  readonly trace: Trace;
  readonly method: string;
  readonly routeOptions: { readonly url?: string | undefined };
}

interface LoggedReply {
  readonly statusCode: number;
  readonly elapsedTime: number;
}

/** The events that the HTTP server reports to the log. */
export interface RequestLog {
  answered(request: LoggedRequest, reply: LoggedReply): void;
  unforeseen(error: unknown, request: LoggedRequest): void;
  /** The request is refused, because this resource has too much to do. */
  overloaded(request: LoggedRequest, resource: OverloadedResource): void;
}

/**
 * One line per request on level debug, because a busy gateway serves thousands per second, and every fault on level
 * error. Refused requests have no line of their own: they are many, and metrics count them.
 */
export function createRequestLog(log: Log): RequestLog {
  return {
    answered({ correlationId, trace: { traceId }, method, routeOptions }, { statusCode: status, elapsedTime }) {
      if (!log.isLevelEnabled('debug')) return;
      const ms = Math.round(elapsedTime * 10) / 10;
      log.debug({ correlationId, traceId, method, route: routeOptions.url ?? 'unknown', status, ms }, 'answered');
    },
    unforeseen(error, { correlationId, trace: { traceId }, routeOptions }) {
      log.error(
        { error, correlationId, traceId, route: routeOptions.url ?? 'unknown' },
        'unexpected error, request answered with 500',
      );
    },
    overloaded() {},
  };
}
