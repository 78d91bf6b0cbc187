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

/**
 * One action of a client: one request, or several in sequence. It is made before it is due, so that sending it costs
 * nothing.
 */
export interface ClientCall {
  readonly scenario: string;
  /** The complete HTTP request. */
  readonly request: Buffer;
  /** Reads the response: returns another call to make at once on the same connection, or an outcome. */
  readonly read: (answer: HttpAnswer) => CallOutcome | ClientCall;
}

export interface CallOutcome {
  /** In a word or two: `Approved`, `Declined`, `HTTP 503`. */
  readonly outcome: string;
  /** Whether this is the expected outcome of the scenario. */
  readonly isExpected: boolean;
  /** The gateway did not do what the request asked: 4xx, 5xx, or no response of this API. */
  readonly isError: boolean;
}

/** A request of a client, and how its response is read. */
export interface Asked<Name extends OperationName> {
  readonly scenario: string;
  readonly credentials: Credentials;
  readonly parts: RequestOf<Name>;
  readonly read: (answer: AnswerOf<Name>) => CallOutcome | ClientCall;
}

/** A call of an operation. A refusal is an outcome for every operation. */
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

/** Undefined for a refusal or any other response. */
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
