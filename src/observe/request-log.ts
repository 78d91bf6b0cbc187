import { randomBytes } from 'node:crypto';
import type { OverloadedResource } from '../basics/errors.ts';
import { LogBudget } from '../basics/limits/log-budget.ts';
import { isUuid } from '../basics/uuid.ts';
import type { Log } from './log.ts';

/**
 * The parts of a request that may be logged: its ids and the pattern of its route. Never a URL, a header or a body.
 */
interface LoggedRequest {
  readonly correlationId: string;
  readonly trace: Trace;
  readonly method: string;
  readonly routeOptions: { readonly url?: string | undefined };
  readonly headers: Readonly<Record<string, unknown>>;
  /** Known once the token was verified. */
  readonly submitter?: { readonly acquirerId: number; readonly merchantId: string } | undefined;
}

/** What a response with a problem states. */
interface LoggedProblem {
  readonly status: number;
  readonly errorCode: number;
}

interface LoggedReply {
  readonly statusCode: number;
  readonly elapsedTime: number;
}

/** The events that the HTTP server reports to the log. */
export interface RequestLog {
  responded(request: LoggedRequest, reply: LoggedReply): void;
  unforeseen(error: unknown, request: LoggedRequest): void;
  /** The request is refused, because this resource has too much to do. */
  overloaded(request: LoggedRequest, resource: OverloadedResource): void;
  /** The response is a problem, also if the request is overload or unforeseen. */
  refused(request: LoggedRequest, problem: LoggedProblem): void;
}

/** The requests with which a phone asks for money. */
const OF_PHONES: ReadonlySet<string | undefined> = new Set([
  '/transactions/mobile',
  '/transactions/:transactionId/submitPinMobile',
]);

export function isOfPhone({ method, routeOptions }: Pick<LoggedRequest, 'method' | 'routeOptions'>): boolean {
  return method === 'POST' && OF_PHONES.has(routeOptions.url);
}

/** For each errorCode, so that a caller without a token does not suppress the lines of the others. */
const REFUSALS_PER_SECOND = 10;

/**
 * One line per request on level debug, because a busy gateway serves thousands per second, and every fault on level
 * error. A refused tap or PIN leaves no row, so it has a line on level info, within a limit: "my card was not charged at
 * 14:03" must lead to a reason. Other refused requests have none; metrics count them.
 */
export function createRequestLog(log: Log, monotonicMs = () => performance.now()): RequestLog {
  const budgets = new Map<number, LogBudget>();
  const budgetOf = (errorCode: number) => {
    const budget = budgets.get(errorCode) ?? new LogBudget(REFUSALS_PER_SECOND);
    budgets.set(errorCode, budget); // the interface defines some thirty codes
    return budget;
  };
  return {
    responded({ correlationId, trace: { traceId }, method, routeOptions }, { statusCode: status, elapsedTime }) {
      if (!log.isLevelEnabled('debug')) return;
      const ms = Math.round(elapsedTime * 10) / 10;
      log.debug({ correlationId, traceId, method, route: routeOptions.url ?? 'unknown', status, ms }, 'responded');
    },
    unforeseen(error, { correlationId, trace: { traceId }, routeOptions }) {
      log.error(
        { error, correlationId, traceId, route: routeOptions.url ?? 'unknown' },
        'unexpected error, request received 500',
      );
    },
    overloaded() {},
    refused(request, { status, errorCode }) {
      if (!isOfPhone(request)) return;
      budgetOf(errorCode).spend(monotonicMs(), (suppressed) =>
        log.info(
          { ...namesOf(request), status, errorCode, ...(suppressed > 0 && { suppressed }) },
          isTap(request) ? 'tap refused' : 'PIN refused',
        ),
      );
    },
  };
}

function isTap({ routeOptions }: LoggedRequest): boolean {
  return routeOptions.url === '/transactions/mobile';
}

function namesOf({ correlationId, trace: { traceId }, headers, submitter }: LoggedRequest): object {
  const device = headers['x-device-installation-id'];
  return {
    ...{ correlationId, traceId, acquirerId: submitter?.acquirerId, merchantId: submitter?.merchantId },
    // A device can choose any name, and only such a one is certainly no card number.
    ...(typeof device === 'string' && isUuid(device) && { device }),
  };
}

/** Position of a request in its trace, in lower-case hex (W3C Trace Context). */
export interface Trace {
  /** 16 bytes, from the caller or generated here. */
  readonly traceId: string;
  /** 8 bytes: this process's part of the request. */
  readonly spanId: string;
  /** Id of the caller's span; undefined when the trace begins here. */
  readonly parentSpanId: string | undefined;
  /** Whether the trace is recorded: the only flag that is used here (3.2.2.5.1). */
  readonly isSampled: boolean;
}

/** `version-traceid-parentid-flags`; versions after 00 can append more after a dash (3.2.4). */
const FORM = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?![^-])/;
const AT = { traceId: 3, spanId: 36, flags: 53, end: 55 } as const;
const CURRENT = '00';
/** A later version can be longer; the limit bounds the work. */
const MAX_CHARS = 256;
const SAMPLED = 1;

const TRACE_CHARS = 32;
const SPAN_CHARS = 16;
/**
 * Entropy for some hundred requests, because one system call per request would cost more than the rest of this
 * work.
 */
const POOL_BYTES = 4_096;
let pool = '';
let taken = 0;

/** Unique random hex for ids, not for secrets. */
function freshHex(chars: number): string {
  if (taken + chars > pool.length) {
    pool = randomBytes(POOL_BYTES).toString('hex');
    taken = 0;
  }
  taken += chars;
  return pool.substring(taken - chars, taken);
}

/**
 * The trace that a request continues: the caller's when its `traceparent` is well-formed, otherwise a new one
 * (3.2.2, 4.3).
 */
export function takeTrace(header: string | readonly string[] | undefined): Trace {
  if (typeof header !== 'string' || !isWellFormed(header)) {
    return { traceId: freshHex(TRACE_CHARS), spanId: freshHex(SPAN_CHARS), parentSpanId: undefined, isSampled: false };
  }
  return {
    traceId: header.slice(AT.traceId, AT.spanId - 1),
    spanId: freshHex(SPAN_CHARS),
    parentSpanId: header.slice(AT.spanId, AT.flags - 1),
    isSampled: (Number.parseInt(header.slice(AT.flags, AT.end), 16) & SAMPLED) === SAMPLED,
  };
}

function isWellFormed(header: string): boolean {
  if (header.length > MAX_CHARS || !FORM.test(header)) return false;
  return header.length === AT.end || !header.startsWith(CURRENT);
}

/** The header value, version 00. */
export function formatTraceparent({ traceId, spanId, isSampled }: Trace): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
