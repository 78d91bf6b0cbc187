import type { HttpAnswer } from '../answer-reader.ts';

/** One thing that a client does, a request or several in turn. Made before it is due, so that sending it costs nothing. */
export interface ClientCall {
  readonly scenario: string;
  /** The whole HTTP request. */
  readonly request: Buffer;
  /** What the client makes of the answer: another call at once, on the same connection, or an outcome. */
  readonly read: (answer: HttpAnswer) => CallOutcome | ClientCall;
}

export interface CallOutcome {
  /** In a word or two: `Approved`, `Declined`, `HTTP 503`. */
  readonly outcome: string;
  /** Whether the scenario had to end so. */
  readonly isExpected: boolean;
  /** The gateway did not do what was asked: 4xx, 5xx, no JSON. */
  readonly isError: boolean;
}

/** The outcome of an answer that is no success. */
export function refusal({ status }: HttpAnswer): CallOutcome {
  return { outcome: `HTTP ${status}`, isExpected: false, isError: true };
}

/** Undefined when it is no JSON. */
export function jsonOf({ body }: HttpAnswer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
