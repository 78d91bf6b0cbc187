import { Agent, request as connect } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Overloaded } from '../../src/basics/errors.ts';
import { TapLoad } from '../../src/basics/limits/concurrency-limit.ts';
import { admitTaps } from '../../src/http/admit-taps.ts';
import { createServer, type Server } from '../../src/http/server.ts';
import type { Principal } from '../../src/payments/ports/directory-ports.ts';

const TAPS = '/transactions/mobile';
const JSON_BODY = { 'content-type': 'application/json' };
const CORRELATION_ID = '3f8e9c3e-5d0b-4a53-9a1c-0d6c5b1f7a11';

let server: Server;
let load: TapLoad;
let origin: string;
/** What the gateway did, in order. */
let events: string[];
let handle: () => Promise<unknown>;

beforeEach(() => start({}));
afterEach(() => server.close());

async function start(options: { readonly requiresHttps?: boolean; readonly most?: number }): Promise<void> {
  await server?.close();
  events = [];
  handle = async () => ({});
  const log = {
    responded: (_request: unknown, { statusCode }: { readonly statusCode: number }) =>
      void events.push(`responded ${statusCode}`),
    unforeseen: (error: unknown) => void events.push(`unforeseen ${error}`),
    overloaded: (_request: unknown, resource: string) => void events.push(`overloaded ${resource}`),
    refused: () => {},
  };
  const { requiresHttps = false, most = 1 } = options;
  load = new TapLoad(most);
  server = createServer({ log, requiresHttps });
  admitTaps(server, { load, log, requiresHttps, monotonicMs: () => 0 });
  const identify = async (request: FastifyRequest) => {
    events.push('identified');
    const acquirerId = Number(request.headers.authorization?.match(/of (\d+)$/)?.[1] ?? 1);
    request.submitter = { acquirerId } as Principal;
  };
  const facts = { summary: 'Do', section: 'extension', takes: ['merchantToken'] } as const;
  const post = (url: string, config: object) =>
    server.post(url, { config: { facts: { ...facts, ...config } }, onRequest: identify }, () => handle());
  post(TAPS, { waitsForSwitch: true });
  post('/transactions/:id/submitPinMobile', { waitsForSwitch: true });
  post('/transactions/:id/acknowledge', {});
  post('/transactions/:id/void', { waitsForSwitch: true });
  server.get('/transactions/:id', { config: { facts }, onRequest: identify }, () => handle());
  server.get('/readyz', { config: { facts: { ...facts, takes: [] } } }, () => handle());
  origin = await server.listen({ host: '127.0.0.1', port: 0 });
}

const post = (path: string, headers = {}) =>
  fetch(origin + path, {
    method: 'POST',
    body: '{}',
    headers: { ...JSON_BODY, ...headers },
  });

function postBy(agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = connect(origin + TAPS, { method: 'POST', agent, headers: JSON_BODY });
    request.once('response', (response) => response.resume().once('end', () => resolve(response.statusCode)));
    request.once('error', reject);
    request.end('{}');
  });
}

/** Occupies the process with one tap; the returned function ends it. */
async function occupy(): Promise<() => Promise<Response>> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const begun = Promise.withResolvers<void>();
  handle = () => {
    begun.resolve();
    return promise;
  };
  const response = post(TAPS);
  await begun.promise;
  handle = async () => ({});
  events = [];
  return () => {
    resolve({});
    return response;
  };
}

describe('while a process works on as many taps as it can', () => {
  test('a new tap gets 503 with Retry-After, before its token is looked at', async () => {
    const release = await occupy();
    const response = await post(TAPS, { 'x-correlation-id': CORRELATION_ID });
    expect(response.status).toBe(503);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'retry-after': '2',
      'content-type': 'application/problem+json',
      'x-correlation-id': CORRELATION_ID,
      traceparent: expect.stringMatching(/^00-/),
      'api-version': '4.0',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(await response.json()).toMatchObject({
      status: 503,
      errorCode: 203,
      instance: TAPS,
      requestId: CORRELATION_ID,
      detail:
        'Too many requests are in progress; this request stored nothing. Repeat it unchanged: if an earlier one was stored, you get its response.',
    });
    expect(events).toEqual(['overloaded gateway', 'responded 503']);
    expect((await release()).status).toBe(200);
  });

  test('the refusal keeps the connection, and its next request is served', async () => {
    const release = await occupy();
    let connections = 0;
    server.server.on('connection', () => connections++);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await postBy(agent)).toBe(503);
    await release();
    expect(await postBy(agent)).toBe(200);
    expect(connections).toBe(1);
    agent.destroy();
  });

  test('PINs, acknowledgements, voids, results and health are served', async () => {
    const release = await occupy();
    for (const path of ['submitPinMobile', 'acknowledge', 'void'])
      expect((await post(`/transactions/1/${path}`)).status).toBe(200);
    for (const path of ['/transactions/1', '/readyz']) expect((await fetch(origin + path)).status).toBe(200);
    await release();
  });

  test('a tap that arrived before is refused when its body is complete, before it is handled', async () => {
    const release = await occupy();
    // `inject` skips the check at the start of a request, as if the limit had not been reached then.
    const { statusCode } = await server.inject({ method: 'POST', url: TAPS, payload: {} });
    expect(statusCode).toBe(503);
    expect(events).toContain('overloaded gateway');
    await release();
    expect(load.count).toBe(0);
  });
});

describe('a tap counts', () => {
  test('a tap does not count before its body is complete', async () => {
    const slow = connect(origin + TAPS, {
      method: 'POST',
      headers: { ...JSON_BODY, 'content-length': 2 },
    });
    slow.write('{');
    await expect.poll(() => events).toContain('identified');
    expect(load.count).toBe(0);
    expect((await post(TAPS)).status).toBe(200);
    slow.end('}');
    await new Promise((resolve) => slow.once('response', (response) => response.resume().once('end', resolve)));
  });

  test('a tap counts until its handler ends, even if the phone disconnects', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    handle = () => promise;
    const leaving = new AbortController();
    const tap = fetch(origin + TAPS, { method: 'POST', body: '{}', signal: leaving.signal, headers: JSON_BODY });
    await expect.poll(() => load.count).toBe(1);
    leaving.abort();
    await expect(tap).rejects.toThrow();
    expect((await post(TAPS)).status).toBe(503);
    resolve({});
    await expect.poll(() => load.count).toBe(0);
  });

  test('a tap counts until it fails, and a refusal of the store or the switch is reported with its resource', async () => {
    handle = () => Promise.reject(new Overloaded('switch'));
    expect((await post(TAPS)).status).toBe(503);
    expect(events).toContain('overloaded switch');
    expect(load.count).toBe(0);
  });
});

describe('a process that works on as many taps as it can', () => {
  beforeEach(async () => {
    await start({ most: 2 });
    expect(await submit(1)).toBe(200);
    load.begin();
    load.begin();
    events = [];
  });

  const submit = async (acquirerId: number, token = `token of ${acquirerId}`) =>
    (await post(TAPS, { authorization: `Bearer ${token}` })).status;

  test('refuses an acquirer that has its share, before the token is verified', async () => {
    expect(await submit(1)).toBe(503);
    expect(events).toEqual(['overloaded gateway', 'responded 503']);
  });

  test('refuses it also with a token that was not seen before', async () => {
    expect(await submit(1, 'another token of 1')).toBe(503);
    expect(events).toEqual(['identified', 'overloaded gateway', 'responded 503']);
    events = [];
    expect(await submit(1, 'another token of 1')).toBe(503);
    expect(events).toEqual(['overloaded gateway', 'responded 503']);
  });

  test('accepts another one, until that has its share too', async () => {
    expect(await submit(2)).toBe(200);
    expect(await submit(2)).toBe(503);
    expect(await submit(3)).toBe(200);
  });

  test('refuses everyone at twice the limit', async () => {
    load.begin();
    load.begin();
    expect(await submit(2)).toBe(503);
    expect(events).toEqual(['overloaded gateway', 'responded 503']);
  });
});

test('plain HTTP is refused as such where HTTPS is required, and behind a proxy the refusal has HSTS', async () => {
  await start({ requiresHttps: true });
  load.begin();
  load.begin();
  expect((await post(TAPS)).status).toBe(403);
  const refused = await post(TAPS, { 'x-forwarded-proto': 'https' });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('strict-transport-security')).toMatch(/^max-age=/);
});
