import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type ClientOptions,
  createClient,
  NoResponseError,
  ProblemError,
  ResponseError,
  randomUuid,
  requestOf,
  responseOf,
} from '../../schemas/client.ts';
import type { Operation, Shows } from '../../schemas/operation.ts';
import { OPERATIONS } from '../../schemas/operations.ts';
import type { Problem } from '../../schemas/problem.ts';
import { type NamedOperation, operationsOf, readStoredDocument } from '../support/api-document.ts';

const ID = '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('the client has a method for every operation that responds with JSON', () => {
  const documented = operationsOf(readStoredDocument()).filter(responsesJson);

  test('the methods of the client have the names of the operations', () => {
    expect(Object.keys(OPERATIONS).sort()).toEqual(documented.map(({ operationId }) => operationId).sort());
    expect(Object.keys(createClient({ baseUrl: '' })).sort()).toEqual(Object.keys(OPERATIONS).sort());
  });

  test('the requests of the client have the method, address, credentials, body and idempotency of the operations', () => {
    for (const operation of documented) {
      const row: Operation = OPERATIONS[operation.operationId as keyof typeof OPERATIONS];
      expect(row, operation.operationId).toMatchObject({ method: operation.method, path: operation.path });
      expect(row.shows, `credentials of ${operation.operationId}`).toBe(shownBy(operation));
      expect(row.body !== undefined, `body of ${operation.operationId}`).toBe(operation.requestBody !== undefined);
      const takesKey = operation.parameters.some((each) => '$ref' in each && each.$ref.endsWith('/IdempotencyKey'));
      expect(row.isIdempotent === true, `idempotency of ${operation.operationId}`).toBe(takesKey);
    }
  });
});

function responsesJson({ responses }: NamedOperation): boolean {
  const [, response] = Object.entries(responses).find(([status]) => status.startsWith('2'))!;
  return response.content === undefined || Object.keys(response.content).some((type) => type.endsWith('json'));
}

function shownBy({ security }: NamedOperation): Shows {
  if (security.length === 0) return 'nothing';
  if (security.some((requirement) => Object.keys(requirement).length > 1)) return 'both';
  const isKey = security.map((requirement) => 'apiKey' in requirement);
  if (isKey.every(Boolean)) return 'key';
  return isKey.some(Boolean) ? 'either' : 'token';
}

/** Other requests over HTTP, and the reason. */
const OTHERS = {
  'src/cli/init/first-tap.ts': 'passes the requests of a phone on as a proxy does',
  'src/cli/webhooks.ts': 'passes events on to a receiver under development',
  'src/tools/load/machine-watch.ts': 'reads metrics, which are text',
  'src/http/pay-page/gateway.js': 'gives the client its fetch',
};

test('the command line, phones, load tests and pay pages use it', () => {
  const source = fileURLToPath(new URL('../../', import.meta.url));
  const fetching = ['src/cli', 'src/tools/phone', 'src/tools/load', 'src/http/pay-page'].flatMap((room) =>
    readdirSync(join(source, room), { recursive: true, encoding: 'utf8' })
      .map((name) => `${room}/${name}`)
      .filter((path) => /\.(?:ts|js)$/.test(path) && /\bfetch\(/.test(readFileSync(join(source, path), 'utf8'))),
  );
  expect(fetching.sort()).toEqual(Object.keys(OTHERS).sort());
});

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
  readonly headers: Headers;
}

/** A client without a network: each request receives the next of `responses`. */
function clientOf(responses: readonly (Response | Error)[], options: Partial<ClientOptions> = {}) {
  const sent: Sent[] = [];
  const left = [...responses];
  const fetch = async (url: string, init: RequestInit) => {
    sent.push({ url, init, headers: new Headers(init.headers) });
    const response = left.shift();
    if (response === undefined || response instanceof Error) throw response ?? new Error('asked too often');
    return response;
  };
  const credentials = { apiKey: 'tw_test_key', token: 'jwt' };
  const all = { baseUrl: 'https://tap.example', credentials, fetch: fetch as typeof globalThis.fetch, ...options };
  return { client: createClient(all), sent };
}

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
const refusal = (status: number, headers: Record<string, string> = {}) => {
  const body: Problem = {
    type: '/docs/errors#122',
    title: 'Not Found',
    status,
    detail: 'There is nothing.',
    instance: '/x',
    errorCode: 122,
    message: 'E122 (DataNotFound): There is nothing.',
    httpStatusCode: status,
    requestId: ID,
  };
  return json(body, status, headers);
};
const replay = { replayed: 1 };

describe('a request', () => {
  test('has its parameters in the address, as text and encoded', async () => {
    const { client, sent } = clientOf([json([]), json([])]);
    await client.listTransactions({
      query: { limit: 5, merchantReference: 'a&b=c/d', needsReview: true, after: undefined },
    });
    expect(sent[0]!.url).toBe(
      'https://tap.example/transactions?limit=5&merchantReference=a%26b%3Dc%2Fd&needsReview=true',
    );
    await client.listEventsOfTransaction({ params: { id: '../x?y' } });
    expect(sent[1]!.url).toBe('https://tap.example/transactions/..%2Fx%3Fy/events');
  });

  test('has the credentials of its operation: a key, a token, the key if either would do, both, or nothing', async () => {
    const { client, sent } = clientOf([
      json(replay),
      json({}),
      json([]),
      json({ callbackUrl: null }),
      json({ status: 'ok' }),
    ]);
    await client.replayWebhookEvent({ params: { id: ID } });
    await client.getTapOnOwnStatus({ params: { merchantReference: 'r' } }).catch(() => {});
    await client.listTransactions();
    await client.getCallbackUrl();
    await client.getLiveness();
    const shown = sent.map(({ headers }) => [headers.get('x-api-key'), headers.get('authorization')]);
    const [key, token] = ['tw_test_key', 'Bearer jwt'];
    expect(shown).toEqual([
      [key, null],
      [null, token],
      [key, null],
      [key, token],
      [null, null],
    ]);
  });

  test('asks for a credential each time if it is a function', async () => {
    let made = 0;
    const token = async () => `jwt-${++made}`;
    const { client, sent } = clientOf([json([]), json([])], { credentials: { token } });
    await client.listTransactions();
    await client.listTransactions();
    expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer jwt-1', 'Bearer jwt-2']);
  });

  test('is sent to the public URL of its operation', async () => {
    const { client, sent } = clientOf([json(replay), json({ status: 'ok' })], { appUrl: 'https://app.example' });
    await client.replayWebhookEvent({ params: { id: ID } });
    await client.getLiveness();
    expect(sent.map(({ url }) => new URL(url).host)).toEqual(['app.example', 'tap.example']);
  });

  test('is sent below the path of a public URL, with or without a trailing slash', async () => {
    for (const baseUrl of ['https://tap.example/pay-by-phone', 'https://tap.example/pay-by-phone/']) {
      const { client, sent } = clientOf([json({ status: 'ok' })], { baseUrl });
      await client.getLiveness();
      expect(sent[0]!.url).toBe('https://tap.example/pay-by-phone/livez');
    }
  });

  test.each(['', '.', '..', undefined])('is not sent with the parameter %j, which would lead elsewhere', async (id) => {
    const { client, sent } = clientOf([]);
    await expect(client.voidSale({ params: { id: id! } })).rejects.toThrow(
      new TypeError('The parameter id must not be empty, . or ..'),
    );
    expect(sent).toEqual([]);
  });

  test('has a correlation id, and an idempotency key if it creates something, generated or given', async () => {
    const respond = () =>
      json({ serviceReference: ID, originalTransactionId: ID, amount: '0.01', amountMinor: 1, currency: 'ZAR' }, 202);
    const { client, sent } = clientOf([respond(), respond(), json([])]);
    await client.voidSale({ params: { id: ID } });
    await client.voidSale({ params: { id: ID } }, { idempotencyKey: 'mine', correlationId: ID });
    await client.listTransactions();
    const [made, given, none] = sent.map(({ headers }) => [
      headers.get('idempotency-key'),
      headers.get('x-correlation-id'),
    ]);
    expect(made).toEqual([expect.stringMatching(UUID), expect.stringMatching(UUID)]);
    expect(given).toEqual(['mine', ID]);
    expect(none).toEqual([null, expect.stringMatching(UUID)]);
  });
});

describe('a response', () => {
  test('loses the fields that this version does not know', async () => {
    const { client } = clientOf([json({ callbackUrl: null, later: 1 })]);
    expect(await client.getCallbackUrl()).toEqual({ callbackUrl: null });
  });

  test('a response that is a problem is thrown, with its code', async () => {
    const { client } = clientOf([refusal(404)]);
    const error = await client.getTransaction({ params: { id: ID } }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({ status: 404, errorCode: 122, correlationId: ID, retryAfterSeconds: undefined });
  });

  test.each([
    ['no JSON', () => new Response('<html>', { status: 200 })],
    ['another shape', () => json({ status: 'fine' })],
    ['an error of something on the way', () => new Response('bad gateway', { status: 404 })],
  ])('a response that is %s is a ResponseError', async (_what, respond) => {
    const { client } = clientOf([respond()]);
    await expect(client.getLiveness()).rejects.toBeInstanceOf(ResponseError);
  });
});

describe('with other means of sending', () => {
  test('a request is what the client would send', async () => {
    const { client, sent } = clientOf([json([])]);
    const parts = { query: { limit: 5 } };
    await client.listTransactions(parts, { correlationId: ID });
    const { method, path, headers, body } = requestOf(
      'listTransactions',
      parts,
      { apiKey: 'tw_test_key' },
      { correlationId: ID },
    );
    expect(sent[0]).toMatchObject({ url: `https://tap.example${path}`, init: { method } });
    expect(new Headers(headers)).toEqual(sent[0]!.headers);
    expect([body, sent[0]!.init.body]).toEqual([undefined, undefined]);
  });

  test('a request has only the credentials of its operation, and its body as JSON', () => {
    const credentials = { apiKey: 'tw_test_key', token: 'jwt' };
    const given = { headers: { 'x-device-installation-id': 'd' }, params: { id: ID } };
    const { headers, body } = requestOf('acknowledgeOutcome', given, credentials, { correlationId: ID });
    expect([headers, body]).toEqual([
      {
        accept: 'application/json, application/problem+json',
        'x-device-installation-id': 'd',
        authorization: 'Bearer jwt',
        'x-correlation-id': ID,
      },
      undefined,
    ]);
    const wanted = { amount: '1.00', refundReference: 'r' };
    const refund = requestOf('refundSale', { params: { id: ID }, body: wanted }, credentials);
    expect(refund).toMatchObject({ method: 'POST', path: `/transactions/${ID}/refund`, body: JSON.stringify(wanted) });
    expect(refund.headers).toMatchObject({
      'x-api-key': 'tw_test_key',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(UUID),
    });
  });

  test('a response is what the client would return or throw', async () => {
    expect(responseOf('getLiveness', { status: 200, text: '{"status":"ok","later":1}' })).toEqual({ status: 'ok' });
    expect(() => responseOf('getLiveness', { status: 200, text: '{}' })).toThrow(ResponseError);
    const text = await refusal(503).text();
    for (const [retryAfter, retryAfterSeconds] of [
      ['7', 7],
      ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
      [undefined, undefined],
    ] as const) {
      const refused = () => responseOf('getLiveness', { status: 503, text, ...(retryAfter && { retryAfter }) });
      expect(refused).toThrow(expect.objectContaining({ name: 'ProblemError', retryAfterSeconds }));
    }
  });
});

describe('a random UUID', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('is also available if the runtime provides none', () => {
    vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) });
    const made = Array.from({ length: 64 }, randomUuid);
    for (const uuid of made) expect(uuid).toMatch(UUID);
    expect(new Set(made).size).toBe(made.length);
  });
});

describe('a retry', () => {
  test('a retry of a safe request follows a temporary fault, with the same idempotency key', async () => {
    const created = json(
      { serviceReference: ID, originalTransactionId: ID, amount: '0.01', amountMinor: 1, currency: 'ZAR' },
      202,
    );
    const { client, sent } = clientOf([new TypeError('fetch failed'), refusal(503, { 'retry-after': '0' }), created]);
    await client.voidSale({ params: { id: ID } });
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  test('a retry of a tap is up to the caller: the same merchantReference gives the same response', async () => {
    const { client, sent } = clientOf([new TypeError('fetch failed')]);
    const body = { merchantReference: 'r', generalCardData: 'AA==', paymentCardData: 'AA==' };
    const headers = { 'x-device-installation-id': 'd' };
    await expect(client.submitTap({ headers, body })).rejects.toBeInstanceOf(NoResponseError);
    expect(sent).toHaveLength(1);
  });

  test('does not follow a refusal or the last attempt, and is not sooner than the server allows', async () => {
    const refused = clientOf([refusal(404), json([])]);
    await expect(refused.client.listTransactions()).rejects.toBeInstanceOf(ProblemError);
    const away = clientOf([new Error('1'), new Error('2')], { repeats: 1 });
    await expect(away.client.listTransactions()).rejects.toBeInstanceOf(NoResponseError);
    const busy = clientOf([refusal(503, { 'retry-after': '600' }), json([])]);
    await expect(busy.client.listTransactions()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 600 });
    expect([refused, away, busy].map(({ sent }) => sent.length)).toEqual([1, 2, 1]);
  });

  test('does not follow if the caller has cancelled', async () => {
    const gone = new AbortController();
    gone.abort();
    const { client, sent } = clientOf([new Error('aborted'), json([])]);
    await expect(client.listTransactions({}, { signal: gone.signal })).rejects.toBeInstanceOf(NoResponseError);
    expect(sent).toHaveLength(1);
  });
});

test('no response in time is a NoResponseError', async () => {
  const hanging = ((_url: string, { signal }: RequestInit) =>
    new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)))) as typeof fetch;
  const client = createClient({ baseUrl: 'https://tap.example', fetch: hanging, timeoutMs: 5, repeats: 0 });
  const error = await client.getLiveness().catch((thrown) => thrown);
  expect(error).toBeInstanceOf(NoResponseError);
  expect(error.cause).toMatchObject({ name: 'TimeoutError' });
});
