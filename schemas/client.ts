/**
 * A client of the API: one method per operation, typed by the schemas. With the schemas and zod it can be taken along as it
 * is; it runs wherever there is `fetch`.
 *
 *   const client = createClient({ baseUrl: 'https://tap.example', credentials: { apiKey } });
 *   const { url } = await client.createApplink({ body: { merchantId: 1001, ... } });
 *
 * Whoever has other means of sending takes `requestOf` and `answerOf`: what is said, without the saying.
 */
import type { z } from 'zod';
import type { Operation } from './operation.ts';
import { OPERATIONS, problem } from './operations.ts';
import type { Problem } from './problem.ts';

export type Operations = typeof OPERATIONS;
export type OperationName = keyof Operations;

/** Addresses carry text; the numbers and booleans that it says will do. */
type AsText<Schema> = Schema extends z.ZodType
  ? { [Name in keyof z.input<Schema>]: z.input<Schema>[Name] | number | boolean }
  : never;

type RowParts<Row extends Operation> = (Row extends { params: infer Params }
  ? { readonly params: AsText<Params> }
  : unknown) &
  (Row extends { query: infer Query } ? { readonly query?: AsText<Query> } : unknown) &
  (Row extends { headers: infer Headers extends z.ZodType } ? { readonly headers: z.input<Headers> } : unknown) &
  (Row extends { body: infer Body extends z.ZodType }
    ? undefined extends z.input<Body>
      ? { readonly body?: z.input<Body> }
      : { readonly body: z.input<Body> }
    : unknown);

/** What a method is given. */
export type RequestOf<Name extends OperationName> = RowParts<Operations[Name]>;
/** What a method gives; fields that this version does not know are left out. */
export type AnswerOf<Name extends OperationName> = z.output<Operations[Name]['answer']>;

type Method<Name extends OperationName> =
  Record<never, never> extends RequestOf<Name>
    ? (request?: RequestOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>
    : (request: RequestOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name>>;

export type Client = { readonly [Name in OperationName]: Method<Name> };

/** What the operations show. */
export interface Credentials<Secret = string> {
  readonly apiKey?: Secret | undefined;
  readonly token?: Secret | undefined;
}

/** Given as it is, or made anew for each request: tokens expire. */
export type Secretive = string | (() => string | Promise<string>);

export interface ClientOptions {
  /** A path in it is put before every other. */
  readonly baseUrl: string;
  /** Where logins and intent session tokens are; `baseUrl` unless given. */
  readonly authUrl?: string;
  /** Where callbacks and webhook events are; `baseUrl` unless given. */
  readonly appUrl?: string;
  readonly credentials?: Credentials<Secretive>;
  /** Instead of the runtime's own. */
  readonly fetch?: typeof fetch;
  /** For one attempt; `DEFAULT_TIMEOUT_MS` unless given. */
  readonly timeoutMs?: number;
  /** Repeats of a request that a repeat does no harm: a GET, or one with an idempotency key. */
  readonly repeats?: number;
}

/** What marks a request. */
export interface RequestMarks {
  /** A UUID that stands in the gateway's logs; made unless given. */
  readonly correlationId?: string;
  /** For operations that create; made unless given, so that repeats create once. */
  readonly idempotencyKey?: string;
}

export interface CallOptions extends RequestMarks {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A request, for any HTTP client to send. */
export interface RawRequest {
  readonly method: Operation['method'];
  /** With its query; it goes behind the URL of the gateway. */
  readonly path: string;
  /** By names in lower case. Their values are as they were given: whoever writes them out by hand sees to line ends. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string | undefined;
}

/** An answer, as any HTTP client has it. */
export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  /** The header of this name. */
  readonly retryAfter?: string | null;
}

/** A tap is held for the switch's deadline (30 s unless configured) and 5 s more. */
export const DEFAULT_TIMEOUT_MS = 40_000;
const DEFAULT_REPEATS = 2;
/** The wait before a repeat where the server names none; doubled each time. */
const FIRST_WAIT_MS = 250;
/** A server that is away for longer than this is the caller's to wait for. */
const MAX_WAIT_MS = 5_000;
/** The server, or something on the way, is busy or away. */
const PASSING = new Set([429, 502, 503, 504]);

/** The gateway refused a request. */
export class ProblemError extends Error {
  readonly problem: Problem;
  readonly status: number;
  readonly errorCode: number;
  readonly correlationId: string;
  /** When it is worth trying again; undefined where the server names no time. */
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(`${problem.status} ${problem.message}`);
    this.name = 'ProblemError';
    this.problem = problem;
    this.status = problem.status;
    this.errorCode = problem.errorCode;
    this.correlationId = problem.requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** There was an answer, and it is none of this API: something on the way, or another version. */
export class AnswerError extends Error {
  readonly status: number;

  constructor(status: number, options?: ErrorOptions) {
    super(`The response with status ${status} does not match this API.`, options);
    this.name = 'AnswerError';
    this.status = status;
  }
}

/** There was no answer in time. Whether the request arrived is not known: ask for the outcome, or repeat a tap as it was. */
export class NoAnswerError extends Error {
  constructor(options: ErrorOptions) {
    super('No response arrived.', options);
    this.name = 'NoAnswerError';
  }
}

interface Parts {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * What is to be sent for an operation. The gateway checks it; here the types do.
 *
 * @param credentials of which those are shown that the operation takes
 * @throws TypeError for a parameter that no address can carry
 */
export function requestOf<Name extends OperationName>(
  name: Name,
  parts: RequestOf<Name>,
  credentials: Credentials = {},
  { correlationId = randomUuid(), idempotencyKey }: RequestMarks = {},
): RawRequest {
  const operation: Operation = OPERATIONS[name];
  const { params, query, headers, body } = parts as Parts;
  const { apiKey, token } = shownOf(operation, credentials);
  return {
    method: operation.method,
    path: pathOf(operation.path, params, query),
    headers: {
      accept: 'application/json, application/problem+json',
      ...headers,
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      'x-correlation-id': correlationId,
      ...(operation.isIdempotent && { 'idempotency-key': idempotencyKey ?? randomUuid() }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

/** Of two that would do, the key. */
function shownOf<Secret>({ shows }: Operation, { apiKey, token }: Credentials<Secret>): Credentials<Secret> {
  if (shows === 'nothing') return {};
  if (shows === 'both') return { apiKey, token };
  return shows === 'key' || (shows === 'either' && apiKey !== undefined) ? { apiKey } : { token };
}

function pathOf(path: string, params: Parts['params'] = {}, query: Parts['query'] = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(name, params[name]));
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const said = given.map(([name, value]): [string, string] => [name, String(value)]);
  return said.length === 0 ? filled : `${filled}?${new URLSearchParams(said)}`;
}

/** What would lead to another address is none: URLs lose their `.` and `..` on the way (RFC 3986 5.2.4). */
function segmentOf(name: string, value: unknown): string {
  const text = String(value ?? '');
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`The parameter ${name} must not be empty, . or ..`);
  return encodeURIComponent(text);
}

/** RFC 9562 5.4. Browsers have `crypto.randomUUID` by https alone; what it is made of they have everywhere. */
export function randomUuid(): string {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/**
 * What an answer to an operation says.
 *
 * @throws ProblemError for a refusal, AnswerError for what is no answer of this API
 */
export function answerOf<Name extends OperationName>(
  name: Name,
  { status, text, retryAfter }: RawAnswer,
): AnswerOf<Name> {
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new AnswerError(status, { cause });
  }
  if (status >= 200 && status < 300) {
    const read = OPERATIONS[name].answer.safeParse(body);
    if (read.success) return read.data as AnswerOf<Name>;
    throw new AnswerError(status, { cause: read.error });
  }
  const refusal = problem.safeParse(body);
  if (!refusal.success) throw new AnswerError(status, { cause: refusal.error });
  // The other form of the header, a date (RFC 9110 10.2.3), is none of ours.
  const seconds = /^\d+$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined;
  throw new ProblemError(refusal.data, seconds);
}

/** @throws nothing; its methods throw ProblemError, AnswerError, NoAnswerError, and TypeError as `requestOf` does */
export function createClient(options: ClientOptions): Client {
  const names = Object.keys(OPERATIONS) as OperationName[];
  const methods = names.map((name) => [
    name,
    (parts: Parts = {}, call: CallOptions = {}) => perform(options, name, parts, call),
  ]);
  return Object.fromEntries(methods) as Client;
}

async function perform(options: ClientOptions, name: OperationName, parts: Parts, call: CallOptions): Promise<unknown> {
  const operation: Operation = OPERATIONS[name];
  const { correlationId = randomUuid(), idempotencyKey = randomUuid() } = call;
  const isHarmless = operation.isIdempotent || operation.method === 'GET';
  const repeats = isHarmless ? (options.repeats ?? DEFAULT_REPEATS) : 0;
  for (let attempt = 0; ; attempt++) {
    // Before each attempt: a token may have expired meanwhile.
    const credentials = await reveal(shownOf(operation, options.credentials ?? {}));
    const marks = { correlationId, idempotencyKey };
    const request = requestOf(name, parts, credentials, marks);
    try {
      return answerOf(name, await exchange(options, urlOf(options, operation) + request.path, request, call));
    } catch (error) {
      const waitMs = attempt < repeats && !call.signal?.aborted ? waitBeforeRepeat(error, attempt) : undefined;
      if (waitMs === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

async function reveal({ apiKey, token }: Credentials<Secretive>): Promise<Credentials> {
  const toldBy = async (secretive?: Secretive) => (typeof secretive === 'function' ? secretive() : secretive);
  return { apiKey: await toldBy(apiKey), token: await toldBy(token) };
}

function urlOf({ baseUrl, authUrl = baseUrl, appUrl = baseUrl }: ClientOptions, { under }: Operation): string {
  const url = under === 'auth' ? authUrl : under === 'app' ? appUrl : baseUrl;
  return url.endsWith('/') ? url.slice(0, -1) : url;
}

async function exchange(
  options: ClientOptions,
  url: string,
  { method, headers, body }: RawRequest,
  call: CallOptions,
): Promise<RawAnswer> {
  const timeout = AbortSignal.timeout(call.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout;
  const fetcher = options.fetch ?? fetch;
  const sent: RequestInit = { method, headers, redirect: 'error', signal, ...(body !== undefined && { body }) };
  try {
    const response = await fetcher(url, sent);
    return { status: response.status, text: await response.text(), retryAfter: response.headers.get('retry-after') };
  } catch (cause) {
    throw new NoAnswerError({ cause });
  }
}

/** Undefined where a repeat would be told the same. */
function waitBeforeRepeat(error: unknown, attempt: number): number | undefined {
  const waitMs = FIRST_WAIT_MS * 2 ** attempt;
  if (error instanceof NoAnswerError) return waitMs;
  if (!(error instanceof ProblemError || error instanceof AnswerError) || !PASSING.has(error.status)) return undefined;
  const wantedMs = error instanceof ProblemError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return wantedMs > MAX_WAIT_MS ? undefined : Math.max(wantedMs, waitMs);
}
