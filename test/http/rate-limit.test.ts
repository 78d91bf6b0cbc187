import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AuthError } from '../../src/basics/errors.ts';
import { limitRates, TokenBuckets } from '../../src/http/rate-limit.ts';
import { createServer, type Server } from '../../src/http/server.ts';

let server: Server;
let nowMs: number;
/** Two, one and one a second; those of ten seconds may come at once. */
beforeEach(() => {
  nowMs = 0;
  server = createServer({
    log: { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} },
    trustedProxies: ['127.0.0.1'],
  });
  limitRates(server, { perCredential: 2, perAppToken: 1, perAddress: 1, monotonicMs: () => nowMs });
  const facts = { summary: 'Look', section: 'extension', takes: ['acquirerKey'] } as const;
  const identify = async ({ headers }: { headers: Record<string, unknown> }) => {
    if (!String(headers['x-api-key'] ?? headers.authorization).includes('good'))
      throw new AuthError('API_KEY_INVALID', '');
  };
  server.get('/things', { config: { facts }, onRequest: identify }, async () => ({}));
  const openLink = async (request: FastifyRequest) => {
    request.intent = { acquirerId: 1, merchantId: '100', id: randomUUID() };
  };
  server.get('/link', { config: { facts }, onRequest: openLink }, async () => ({}));
  server.get('/public', { config: { facts: { ...facts, takes: [] } } }, async () => ({}));
  server.post('/transactions/mobile', { config: { facts }, onRequest: identify }, async () => ({}));
});
afterEach(() => server.close());

interface Sent {
  readonly key?: string;
  readonly bearer?: string;
  readonly ip?: string;
  readonly url?: string;
}

function send({ key, bearer, ip = '192.0.2.1', url = '/things' }: Sent) {
  const credential = { ...(key && { 'x-api-key': key }), ...(bearer && { authorization: `Bearer ${bearer}` }) };
  const method = url === '/transactions/mobile' ? 'POST' : 'GET';
  return server.inject({ method, url, headers: { ...credential, 'x-forwarded-for': ip } });
}

async function statuses(count: number, sent: Sent): Promise<string> {
  const all: number[] = [];
  for (let made = 0; made < count; made++) all.push((await send(sent)).statusCode);
  return [...Map.groupBy(all, (status) => status)].map(([status, { length }]) => `${length} x ${status}`).join(', ');
}

describe('requests', () => {
  test('requests of one credential are limited to its quota, from any address, and refilled a moment later', async () => {
    expect(await statuses(12, { key: 'good one' })).toBe('12 x 200');
    expect(await statuses(12, { key: 'good one', ip: '192.0.2.2' })).toBe('8 x 200, 4 x 429');
    nowMs += 500;
    expect(await statuses(2, { key: 'good one' })).toBe('1 x 200, 1 x 429');
    expect(await statuses(2, { bearer: 'good two' })).toBe('2 x 200');
  });

  test('requests of one token in an app have a quota of their own, from any address', async () => {
    expect(await statuses(8, { bearer: 'one link', url: '/link' })).toBe('8 x 200');
    expect(await statuses(8, { bearer: 'one link', url: '/link', ip: '192.0.2.2' })).toBe('2 x 200, 6 x 429');
    expect(await statuses(1, { bearer: 'another link', url: '/link', ip: '192.0.2.2' })).toBe('1 x 200');
    expect((await send({ bearer: 'one link', url: '/public', ip: '192.0.2.3' })).statusCode).toBe(429);
  });

  test('requests above the quota report the quota and when to retry', async () => {
    await statuses(21, { key: 'good one' });
    const { statusCode, headers, body } = await send({ key: 'good one' });
    expect(statusCode).toBe(429);
    expect(JSON.parse(body)).toMatchObject({ status: 429, errorCode: 203, title: 'Too Many Requests' });
    expect(headers).toMatchObject({
      'retry-after': '1',
      'ratelimit-policy': '"credential";q=20;w=10',
      ratelimit: '"credential";r=0;t=1',
    });
  });

  test('requests without a credential, or with an invalid one, count for the address', async () => {
    expect(await statuses(6, { url: '/public' })).toBe('6 x 200');
    expect(await statuses(6, { key: 'bad' })).toBe('4 x 401, 2 x 429');
    expect(await statuses(1, { url: '/public', ip: '192.0.2.2' })).toBe('1 x 200');
  });

  test('requests with a new credential each do not bypass the limit, on any route', async () => {
    const all: number[] = [];
    for (let made = 0; made < 12; made++) {
      const url = ['/things', '/public', '/nowhere'][made % 3]!;
      all.push((await send({ key: `bad ${made}`, url })).statusCode);
      all.push((await send({ key: `bad ${made}`, url: '/public' })).statusCode);
    }
    expect(all.filter((status) => status === 429)).toHaveLength(24 - 10);
  });

  test('requests of an IPv6 network count as one address', async () => {
    expect(await statuses(10, { url: '/public', ip: '2001:db8::1' })).toBe('10 x 200');
    expect(await statuses(1, { url: '/public', ip: '2001:db8::2:1' })).toBe('1 x 429');
  });

  test('are not limited with 0', async () => {
    const free = createServer({
      log: { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} },
    });
    limitRates(free, { perCredential: 0, perAppToken: 0, perAddress: 0, monotonicMs: () => 0 });
    const facts = { summary: 'Look', section: 'extension', takes: [] } as const;
    free.get('/public', { config: { facts } }, async () => ({}));
    for (let made = 0; made < 100; made++) expect((await free.inject('/public')).statusCode).toBe(200);
    await free.close();
  });

  test('requests that submit taps are not counted here', async () => {
    expect(await statuses(40, { key: 'good one', url: '/transactions/mobile' })).toBe('40 x 200');
  });
});

describe('buckets', () => {
  test('fill up again to their size and no further', () => {
    const buckets = new TokenBuckets<string>({ perSecond: 10, burstSeconds: 1 }, 10);
    for (let taken = 0; taken < 10; taken++) expect(buckets.take('a', 0)).toBe(0);
    expect(buckets.take('a', 99)).toBe(1);
    expect(buckets.take('a', 100)).toBe(0);
    for (let taken = 0; taken < 10; taken++) expect(buckets.take('a', 1_000_000)).toBe(0);
    expect(buckets.take('a', 1_000_000)).toBe(1);
  });

  test('are never more than there is room for', () => {
    const buckets = new TokenBuckets<number>({ perSecond: 1, burstSeconds: 1 }, 3);
    for (let key = 0; key < 100; key++) buckets.take(key, 0);
    expect([96, 97, 98, 99].map((key) => buckets.takeIfKnown(key, 0))).toEqual([undefined, 1, 1, 1]);
  });
});
