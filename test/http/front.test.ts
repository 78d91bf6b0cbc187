import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cardDataKeySet } from '../../schemas/card-data.ts';
import { problem } from '../../schemas/problem.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { request } from '../support/requests.ts';
import { problemOf } from '../support/responses.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

const send = (path: string, init: Parameters<typeof request>[2] = {}) => request(installation.url, path, init);

describe('an unsupported method is 405 and names the supported ones', () => {
  test.each([
    ['DELETE', '/transactions', 'GET, HEAD'],
    ['POST', '/transactions', 'GET, HEAD'],
    ['PUT', `/transactions/${randomUUID()}`, 'GET, HEAD'],
    ['PATCH', `/transactions/${randomUUID()}/events`, 'GET, HEAD'],
    ['POST', '/livez', 'GET, HEAD'],
  ])('%s %s', async (method, path, allowed) => {
    const response = await send(path, { method });
    expect(problemOf(response)).toMatchObject({ status: 405, errorCode: 104, title: 'Method Not Allowed' });
    expect(response.headers.get('allow')).toBe(allowed);
  });

  test('PUT /transactions/mobile names POST, too', async () => {
    const response = await send('/transactions/mobile', { method: 'PUT' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')?.split(', ')).toContain('POST');
  });
});

describe('an unknown address is 404, as a problem', () => {
  test.each([
    '/',
    '/nothing',
    '/transactions/a/b',
    '/TRANSACTIONS',
    '/livez/x',
    `/${'x'.repeat(2_000)}`,
  ])('%s', async (path) => {
    const response = await send(path);
    expect(problemOf(response)).toMatchObject({ status: 404, errorCode: 122 });
  });

  test('a path that cannot be decoded is 400, as a problem', async () => {
    const response = await send('/transactions/%ZZ');
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(problemOf(response)).toMatchObject({ status: 400, errorCode: 104 });
  });
});

test('an id of 300 characters is 414, and a card number in an address is not repeated', async () => {
  const path = `/transactions/${'4111111111111111'.padEnd(300, '0')}`;
  const response = await (await fetch(new URL(path, installation.url))).json();
  expect(response).toMatchObject({ status: 414, title: 'URI Too Long', instance: '/transactions/*' });
  expect(problemOf(await send('/cards/4111111111111111/now'))).toMatchObject({ status: 404, instance: '/cards/*/now' });
});

describe('every problem', () => {
  test('is application/problem+json with the members of RFC 9457 and of Tapwire', async () => {
    const response = await send('/nothing?secret=1');
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(problem.parse(response.body)).toEqual({
      type: '/docs/errors#122',
      title: 'Not Found',
      status: 404,
      detail: 'Resource not found.',
      instance: '/nothing',
      errorCode: 122,
      message: 'E122 (DataNotFound): Resource not found.',
      httpStatusCode: 404,
      requestId: response.headers.get('x-correlation-id'),
    });
  });

  test('has no stack', async () => {
    expect(JSON.stringify((await send('/nothing')).body)).not.toMatch(/\bat .*:\d+:\d+/);
  });
});

describe('a correlation id', () => {
  test('a correlation id that is a UUID is kept', async () => {
    const id = randomUUID();
    const response = await send('/nothing', { headers: { 'x-correlation-id': id } });
    expect(response.headers.get('x-correlation-id')).toBe(id);
    expect(problemOf(response).requestId).toBe(id);
  });

  test.each([
    '',
    '1',
    'not-a-uuid',
    "'; drop table transactions --",
    'x'.repeat(1_000),
  ])('a correlation id that is %j is replaced', async (given) => {
    const response = await send('/livez', { headers: { 'x-correlation-id': given } });
    const id = response.headers.get('x-correlation-id')!;
    expect(id).not.toBe(given);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('is created if missing, a different one each time', async () => {
    const [one, other] = [await send('/livez'), await send('/livez')];
    expect(one.headers.get('x-correlation-id')).not.toBe(other.headers.get('x-correlation-id'));
  });
});

describe('a trace', () => {
  const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

  test.each([
    '/livez',
    '/nothing',
    '/transactions',
    '/transactions/%ZZ',
  ])('continues in the response of %s', async (path) => {
    const { headers } = await send(path, { headers: { traceparent: PARENT } });
    expect(headers.get('traceparent')).toMatch(
      /^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/,
    );
  });

  test.each(['', '1', PARENT.replaceAll(/[1-9a-f]/g, '0')])('begins here if %j is given', async (given) => {
    const { headers } = await send('/livez', { headers: { traceparent: given } });
    expect(headers.get('traceparent')).toMatch(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-00$/);
  });
});

test('every response names the version of the interface', async () => {
  for (const path of ['/livez', '/nothing', '/transactions']) {
    const { headers } = await send(path);
    expect(headers.get('api-version')).toBe('4.0');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('responses carry no CORS headers: payment creation is for servers', async () => {
  const { headers } = await send('/transactions/mobile', {
    method: 'OPTIONS',
    headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
  });
  expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
});

test('/livez reports that the process runs, /readyz the state of its dependencies', async () => {
  expect((await send('/livez')).body).toEqual({ status: 'ok' });
  expect((await send('/readyz')).body).toEqual({
    status: 'ok',
    database: 'up',
    isDraining: false,
    switches: { '1 1': 'ready', '2 1': 'ready' },
  });
});

test('readers find the public keys, may cache them, and find nothing private', async () => {
  const response = await send('/.well-known/card-data-keys.json');
  expect(response.headers.get('cache-control')).toBe('public, max-age=3600');
  const { keys } = cardDataKeySet.parse(response.body);
  expect(keys.map(({ crv }) => crv)).toEqual(['X25519', 'P-256']);
  expect(JSON.stringify(response.body)).not.toContain('"d"');
});

test('the log begins with the process and its dependencies', () => {
  const line = installation.logLines.find(({ msg }) => msg === 'Tapwire is up');
  const database = expect.stringMatching(/^localhost\/test_[0-9a-f]+$/);
  const known = { version: '0.1.0', role: 'all', env: 'dev', url: installation.url, processors: 2, unusable: 0 };
  expect(line).toMatchObject({ ...known, database });
});

test('bytes that are not HTTP get a response and close the connection', async () => {
  const { port } = new URL(installation.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.end('\x16\x03\x01 this is TLS\r\n\r\n');
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 400 /);
});
