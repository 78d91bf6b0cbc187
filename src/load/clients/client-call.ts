import {
  type AnswerOf,
  answerOf,
  type Credentials,
  type OperationName,
  type RequestOf,
  requestOf,
} from '#schemas/client';
import type { HttpAnswer } from '../answer-reader.ts';
import type { RequestWriter } from './request-writer.ts';

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
  /** The gateway did not do what was asked: 4xx, 5xx, no answer of this API. */
  readonly isError: boolean;
}

/** Who asks for what, and what he makes of the answer. */
export interface Asked<Name extends OperationName> {
  readonly scenario: string;
  readonly credentials: Credentials;
  readonly parts: RequestOf<Name>;
  readonly read: (answer: AnswerOf<Name>) => CallOutcome | ClientCall;
}

/** A call of an operation. A refusal of it is an outcome, whatever was asked. */
export function operationCall<Name extends OperationName>(
  requests: RequestWriter,
  name: Name,
  { scenario, credentials, parts, read }: Asked<Name>,
): ClientCall {
  const request = requests.write(requestOf(name, parts, credentials));
  return {
    scenario,
    request,
    read: (received) => {
      const answer = answerIn(name, received);
      return answer === undefined ? refusal(received) : read(answer);
    },
  };
}

/** Undefined when there is none: a refusal, or something else. */
function answerIn<Name extends OperationName>(name: Name, { status, body }: HttpAnswer): AnswerOf<Name> | undefined {
  try {
    return answerOf(name, { status, text: body.toString('utf8') });
  } catch {
    return undefined;
  }
}

function refusal({ status }: HttpAnswer): CallOutcome {
  return { outcome: `HTTP ${status}`, isExpected: false, isError: true };
}
