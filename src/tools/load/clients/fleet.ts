import { randomUUID } from 'node:crypto';
import type { CardDataPublicKey } from '#schemas/card-data';
import {
  type Credentials,
  type OperationName,
  type RawRequest,
  type RequestOf,
  type ResponseOf,
  requestOf,
  responseOf,
} from '#schemas/client';
import { type CardDataSealer, createCardDataSealer } from '../../../card/sample-tap.ts';
import { signMerchantToken } from '../../phone/phone.ts';
import type { Profile } from '../../phone/profile.ts';
import { PinPad } from '../../phone/virtual-reader.ts';
import type { HttpResponse, HttpTarget } from '../connection-pool.ts';

/** A phone of a merchant: a token, an ephemeral key for its session with the reader, and its last tap. */
export interface LoadPhone {
  readonly credentials: Credentials;
  readonly deviceInstallationId: string;
  readonly merchant: Profile['merchant'];
  readonly sealer: CardDataSealer;
  readonly pinPad: PinPad;
  lastTransactionId?: string | undefined;
}

interface FleetOptions {
  readonly issuer: Profile['issuer'];
  readonly merchants: readonly Profile['merchant'][];
  readonly cardDataKey: CardDataPublicKey;
  /** Spread evenly over the merchants. */
  readonly phones: number;
  /** Required lifetime of the tokens. */
  readonly seconds: number;
  /**
   * A terminal whose switch has a short deadline, for taps to which no switch responds; if absent, any other terminal
   * is used.
   */
  readonly shortDeadlineTerminal?: string | undefined;
}

/** Covers clocks that differ, and requests at the very end. */
const TOKEN_MARGIN_SECONDS = 300;
/** Enough that taps without a response do not block each other. */
const SHORT_DEADLINE_PHONES = 8;

/** The phones of one worker process. They are used in rotation. */
export class Fleet {
  readonly #phones: readonly LoadPhone[];
  readonly #shortDeadlinePhones: readonly LoadPhone[];
  /** Phones that have tapped. */
  readonly #used: LoadPhone[] = [];
  #turn = 0;
  #shortDeadlineTurn = 0;

  private constructor(phones: readonly LoadPhone[], shortDeadlinePhones: readonly LoadPhone[]) {
    this.#phones = phones;
    this.#shortDeadlinePhones = shortDeadlinePhones;
  }

  static async create(options: FleetOptions): Promise<Fleet> {
    const { merchants, phones, shortDeadlineTerminal } = options;
    const one = (index: number, claims = {}) =>
      createPhone(options, merchants[index % merchants.length]!, index, claims);
    const ordinary = await Promise.all(Array.from({ length: phones }, (_, index) => one(index)));
    if (shortDeadlineTerminal === undefined) return new Fleet(ordinary, ordinary);
    const claims = { 'x-tid': shortDeadlineTerminal };
    return new Fleet(
      ordinary,
      await Promise.all(Array.from({ length: SHORT_DEADLINE_PHONES }, (_, index) => one(index, claims))),
    );
  }

  next(): LoadPhone {
    return this.#phones[this.#turn++ % this.#phones.length]!;
  }

  /** A phone for a tap to which no switch will respond. */
  nextWithShortDeadline(): LoadPhone {
    return this.#shortDeadlinePhones[this.#shortDeadlineTurn++ % this.#shortDeadlinePhones.length]!;
  }

  /** A phone that has tapped; any phone before the first tap. */
  nextUsed(): LoadPhone {
    return this.#used[this.#turn++ % Math.max(1, this.#used.length)] ?? this.next();
  }

  remember(phone: LoadPhone, transactionId: string): void {
    if (phone.lastTransactionId === undefined) this.#used.push(phone);
    phone.lastTransactionId = transactionId;
  }
}

async function createPhone(
  { issuer, cardDataKey, seconds }: FleetOptions,
  merchant: Profile['merchant'],
  index: number,
  claims: object,
): Promise<LoadPhone> {
  const profile = { url: '', apiKey: '', login: { username: '', password: '' }, merchant, issuer };
  const exp = Math.floor(Date.now() / 1_000) + Math.ceil(seconds) + TOKEN_MARGIN_SECONDS;
  // Each has its own user, so that no two phones share a token.
  const token = await signMerchantToken(profile, { usr: `till-${index}`, exp, ...claims });
  return {
    credentials: { token },
    deviceInstallationId: randomUUID(),
    merchant,
    sealer: createCardDataSealer(cardDataKey, { keepEphemeral: true }),
    pinPad: new PinPad(),
  };
}

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
interface Asked<Name extends OperationName> {
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
