/**
 * A client of the API: one method per operation, typed by the schemas. With the schemas and zod it can be taken along as it
 * is; it runs wherever there is `fetch`.
 *
 *   const client = createClient({ baseUrl: 'https://tap.example', credentials: { apiKey } });
 *   const { url } = await client.createApplink({ body: { merchantId: 1001, ... } });
 */
import type { z } from 'zod';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { type Problem, problem } from './problem.ts';

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

/** Given as it is, or made anew for each request: tokens expire. */
export type Secretive = string | (() => string | Promise<string>);

export interface ClientOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Where logins and intent session tokens are; `baseUrl` unless given. */
  readonly authUrl?: string;
  /** Where callbacks and webhook events are; `baseUrl` unless given. */
  readonly appUrl?: string;
  readonly credentials?: { readonly apiKey?: Secretive; readonly token?: Secretive };
  /** Instead of the runtime's own. */
  readonly fetch?: typeof fetch;
  /** For one attempt; `DEFAULT_TIMEOUT_MS` unless given. */
  readonly timeoutMs?: number;
  /** Repeats of a request that a repeat does no harm: a GET, or one with an idempotency key. */
  readonly repeats?: number;
}

export interface CallOptions {
  /** A UUID that stands in the gateway's logs; made unless given. */
  readonly correlationId?: string;
  /** For operations that create; made unless given, so that repeats create once. */
  readonly idempotencyKey?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
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
    super(`the answer with status ${status} is none of this API`, options);
    this.name = 'AnswerError';
    this.status = status;
  }
}

/** There was no answer in time. Whether the request arrived is not known: ask for the outcome, or repeat a tap as it was. */
export class NoAnswerError extends Error {
  constructor(options: ErrorOptions) {
    super('there was no answer', options);
    this.name = 'NoAnswerError';
  }
}

/** @throws nothing; its methods throw ProblemError, AnswerError, NoAnswerError, and z.ZodError for a request that cannot be sent */
export function createClient(options: ClientOptions): Client {
  const methods = Object.entries<Operation>(OPERATIONS).map(([name, operation]) => [
    name,
    (request: Parts = {}, call: CallOptions = {}) => perform(options, operation, request, call),
  ]);
  return Object.fromEntries(methods) as Client;
}

interface Parts {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

async function perform(
  options: ClientOptions,
  operation: Operation,
  parts: Parts,
  call: CallOptions,
): Promise<unknown> {
  const { isIdempotent, method, body } = operation;
  const headers = new Headers({
    accept: 'application/json, application/problem+json',
    ...parts.headers,
    'x-correlation-id': call.correlationId ?? crypto.randomUUID(),
    ...(isIdempotent && { 'idempotency-key': call.idempotencyKey ?? crypto.randomUUID() }),
  });
  const sent: RequestInit = { method, headers, redirect: 'error' };
  if (body !== undefined && parts.body !== undefined) {
    headers.set('content-type', 'application/json');
    sent.body = JSON.stringify(parts.body);
  }
  const url = addressOf(options, operation, parts);
  const isHarmless = isIdempotent || method === 'GET';
  const repeats = isHarmless ? (options.repeats ?? DEFAULT_REPEATS) : 0;
  for (let attempt = 0; ; attempt++) {
    await showCredentials(headers, options, operation);
    try {
      return await answerOf(operation, await exchange(options, url, sent, call));
    } catch (error) {
      const waitMs = attempt < repeats && !call.signal?.aborted ? waitBeforeRepeat(error, attempt) : undefined;
      if (waitMs === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

function addressOf(
  { baseUrl, authUrl = baseUrl, appUrl = baseUrl }: ClientOptions,
  { path, under }: Operation,
  parts: Parts,
) {
  const base = under === 'auth' ? authUrl : under === 'app' ? appUrl : baseUrl;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parts.params?.[name])));
  const given = Object.entries(parts.query ?? {}).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return `${base}${filled}${query && `?${query}`}`;
}

/** Before each attempt: a token may have expired meanwhile. Of two that would do, the key. */
async function showCredentials(
  headers: Headers,
  { credentials = {} }: ClientOptions,
  { shows }: Operation,
): Promise<void> {
  const { apiKey, token } = credentials;
  const isKeyShown = shows === 'key' || shows === 'both' || (shows === 'either' && apiKey !== undefined);
  const isTokenShown = shows === 'token' || shows === 'both' || (shows === 'either' && apiKey === undefined);
  if (isKeyShown && apiKey !== undefined) headers.set('x-api-key', await reveal(apiKey));
  if (isTokenShown && token !== undefined) headers.set('authorization', `Bearer ${await reveal(token)}`);
}

async function reveal(secretive: Secretive): Promise<string> {
  return typeof secretive === 'string' ? secretive : secretive();
}

interface Exchanged {
  readonly response: Response;
  readonly text: string;
}

async function exchange(options: ClientOptions, url: string, sent: RequestInit, call: CallOptions): Promise<Exchanged> {
  const timeout = AbortSignal.timeout(call.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout;
  const fetcher = options.fetch ?? fetch;
  try {
    const response = await fetcher(url, { ...sent, signal });
    return { response, text: await response.text() };
  } catch (cause) {
    throw new NoAnswerError({ cause });
  }
}

async function answerOf({ answer }: Operation, { response, text }: Exchanged): Promise<unknown> {
  const { status, headers } = response;
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new AnswerError(status, { cause });
  }
  if (response.ok) {
    const read = answer.safeParse(body);
    if (read.success) return read.data;
    throw new AnswerError(status, { cause: read.error });
  }
  const refusal = problem.safeParse(body);
  if (!refusal.success) throw new AnswerError(status, { cause: refusal.error });
  const retryAfter = headers.get('retry-after');
  throw new ProblemError(refusal.data, retryAfter === null ? undefined : Number(retryAfter));
}

/** Undefined where a repeat would be told the same. */
function waitBeforeRepeat(error: unknown, attempt: number): number | undefined {
  const waitMs = FIRST_WAIT_MS * 2 ** attempt;
  if (error instanceof NoAnswerError) return waitMs;
  if (!(error instanceof ProblemError || error instanceof AnswerError) || !PASSING.has(error.status)) return undefined;
  const wantedMs = error instanceof ProblemError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return wantedMs > MAX_WAIT_MS ? undefined : Math.max(wantedMs, waitMs);
}
