import type { Log } from './log.ts';
import type { Trace } from './traceparent.ts';

/** Of a request, what may be logged: its ids and its route's pattern. Never a URL, a header or a body. */
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

/** What the HTTP front tells the log. */
export interface RequestLog {
  answered(request: LoggedRequest, reply: LoggedReply): void;
  unforeseen(error: unknown, request: LoggedRequest): void;
}

/** One line per request on level debug (a busy gateway answers thousands a second), every fault on level error. */
export function createRequestLog(log: Log): RequestLog {
  return {
    answered({ correlationId, trace: { traceId }, method, routeOptions }, { statusCode: status, elapsedTime }) {
      if (!log.isLevelEnabled('debug')) return;
      const ms = Math.round(elapsedTime * 10) / 10;
      log.debug({ correlationId, traceId, method, route: routeOptions.url ?? 'unknown', status, ms }, 'answered');
    },
    unforeseen(error, { correlationId, trace: { traceId }, routeOptions }) {
      log.error({ error, correlationId, traceId, route: routeOptions.url ?? 'unknown' }, 'unforeseen');
    },
  };
}
