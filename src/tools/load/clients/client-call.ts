import {
  type Credentials,
  type OperationName,
  type RawRequest,
  type RequestOf,
  type ResponseOf,
  requestOf,
  responseOf,
} from '#schemas/client';
import type { HttpTarget } from '../connection-pool.ts';
import type { HttpResponse } from '../response-reader.ts';

/**
 * One action of a client: one request, or several in sequence. It is made before it is due, so that sending it costs
 * nothing.
 */
export interface ClientCall {
  readonly scenario: string;
  /** The complete HTTP request. */
  readonly request: Buffer;
  /** Reads the response: returns another call to make at once on the same connection, or an outcome. */
  readonly read: (response: HttpResponse) => CallOutcome | ClientCall;
}

export interface CallOutcome {
  /** The outcome in a word or two: `Approved`, `Declined`, `HTTP 503`. */
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
  readonly read: (response: ResponseOf<Name>) => CallOutcome | ClientCall;
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
      const response = responseIn(name, received);
      return response === undefined ? refusal(received) : read(response);
    },
  };
}

/** Undefined for a refusal or any other response. */
function responseIn<Name extends OperationName>(
  name: Name,
  { status, body }: HttpResponse,
): ResponseOf<Name> | undefined {
  try {
    return responseOf(name, { status, text: body.toString('utf8') });
  } catch {
    return undefined;
  }
}

function refusal({ status }: HttpResponse): CallOutcome {
  return { outcome: `HTTP ${status}`, isExpected: false, isError: true };
}

/** Writes complete HTTP/1.1 requests with as few operations as possible, because it runs for each arrival. */
export class RequestWriter {
  readonly #prefix: string;
  readonly #common: string;

  /**
   * @param url of the gateway; its path is put before every other path
   * @param isNewEach whether each request closes its connection
   */
  constructor(url: URL, isNewEach: boolean) {
    this.#prefix = url.pathname.replace(/\/$/, '');
    this.#common = `host: ${url.host}\r\n${isNewEach ? 'connection: close\r\n' : ''}`;
  }

  write({ method, path, headers, body = '' }: RawRequest): Buffer {
    let head = `${method} ${this.#prefix}${path} HTTP/1.1\r\n${this.#common}`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    // A method that may have a body states its length, even if it is 0 (RFC 9110 8.6).
    if (method !== 'GET') head += `content-length: ${Buffer.byteLength(body)}\r\n`;
    return Buffer.from(`${head}\r\n${body}`);
  }
}

/** Host and port of a gateway's URL. */
export function targetOf(url: URL): HttpTarget {
  const isTls = url.protocol === 'https:';
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || (isTls ? 443 : 80), isTls };
}
