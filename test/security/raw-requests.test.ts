import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { problem } from '../../schemas/problem.ts';
import type { KnownRoute } from '../../src/http/route-table.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { ask, gather, nameOf } from './ask.ts';
import { PATIENT, UNLIMITED } from './tried-route.ts';

let installation: Installation;
let key: string;
beforeAll(async () => {
  installation = await startInstallation({ settings: UNLIMITED, profile: PATIENT });
  key = await saveApiKey(installation.database, { acquirerId: 1, integratorId: 10 }, ['transactions:read']);
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Sends bytes and waits until the gateway closes; returns all of its responses. */
async function responsesTo(bytes: string | Buffer): Promise<RawResponse[]> {
  const socket = connect(Number(new URL(installation.url).port), '127.0.0.1');
  socket.write(bytes);
  let rest = await text(socket);
  const responses: RawResponse[] = [];
  while (rest !== '') {
    const [head = '', ...behind] = rest.split('\r\n\r\n');
    const [first = '', ...lines] = head.split('\r\n');
    const pairs = lines.map((line): [string, string] => {
      const [name = '', ...value] = line.split(':');
      return [name, value.join(':').trim()];
    });
    const headers = new Headers(pairs);
    const length = Number(headers.get('content-length') ?? 0);
    const body = behind.join('\r\n\r\n');
    responses.push({ status: Number(first.split(' ')[1]), headers, body: body.slice(0, length) });
    rest = body.slice(length);
  }
  return responses;
}

function expectProblem({ status, headers, body }: RawResponse, expected: number): void {
  expect(status).toBe(expected);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('api-version')).toBe('4.0');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  const shown = problem.parse(JSON.parse(body));
  expect(shown).toMatchObject({ status, requestId: headers.get('x-correlation-id') });
}

const CLOSE = 'host: x\r\nconnection: close\r\n';
const get = (target: string, headers = CLOSE, version = '1.1') => `GET ${target} HTTP/${version}\r\n${headers}\r\n`;
const post = (headers: string, body: string | Buffer) =>
  Buffer.concat([
    Buffer.from(`POST /login HTTP/1.1\r\n${CLOSE}content-type: application/json\r\n${headers}\r\n\r\n`),
    Buffer.from(body as string),
  ]);
const sized = (body: string | Buffer, headers = '') =>
  post(`${headers}content-length: ${Buffer.byteLength(body)}`, body);
const LOGIN = '{"username":"unknown","password":"nothing"}';

describe('an invalid request is a problem, and its connection is closed', () => {
  test.each<[string, string | Buffer, number]>([
    ['another protocol', '\x16\x03\x01 this is TLS\r\n\r\n', 400],
    ['an unknown method', `FOO /livez HTTP/1.1\r\n${CLOSE}\r\n`, 501],
    ['HTTP/1.2', get('/livez', CLOSE, '1.2'), 400],
    ['HTTP/2 without its preface', get('/livez', CLOSE, '2.0'), 505],
    ['HTTP/0.9', 'GET /livez\r\n\r\n', 505],
    ['no Host', get('/livez', 'connection: close\r\n'), 400],
    ['two Hosts', get('/livez', `${CLOSE}host: y\r\n`), 400],
    ['bytes above ASCII in the address', get('/livez/\xe9'), 400],
    ['a fragment in the address', get('/livez#x'), 400],
    ['headers of 20 KB', get('/livez', `${CLOSE}x-a: ${'a'.repeat(20_000)}\r\n`), 431],
    ['an address of 20 KB', get(`/livez?a=${'a'.repeat(20_000)}`), 431],
    ['3,000 headers', get('/livez', `${CLOSE}${'a:\r\n'.repeat(3_000)}`), 431],
    ['a length and chunks', post('content-length: 2\r\ntransfer-encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'), 400],
    ['two lengths that differ', post('content-length: 2\r\ncontent-length: 3', '{}x'), 400],
    ['two lengths that are the same', post('content-length: 2\r\ncontent-length: 2', '{}'), 400],
    ['a list of lengths', post('content-length: 2, 2', '{}'), 400],
    ['chunks twice', post('transfer-encoding: chunked\r\ntransfer-encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'), 400],
    ['a chunk without a length', post('transfer-encoding: chunked', 'ZZ\r\n{}\r\n0\r\n\r\n'), 400],
    ['another transfer coding', post('transfer-encoding: gzip, chunked', '2\r\n{}\r\n0\r\n\r\n'), 501],
    ['no transfer coding, by name', post('transfer-encoding: identity', '{}'), 501],
    ['chunks in HTTP/1.0', get('/livez', `${CLOSE}transfer-encoding: chunked\r\n`, '1.0'), 400],
    ['an unknown expectation', post('expect: wonders\r\ncontent-length: 2', '{}'), 417],
    ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\n${CLOSE}\r\n`, 405],
  ])('%s', async (_what, bytes, status) => {
    const responses = await responsesTo(bytes);
    expect(responses).toHaveLength(1);
    expectProblem(responses[0]!, status);
    expect(responses[0]!.headers.get('connection')).toBe('close');
  });

  test('a request that does not arrive in time is 408', async () => {
    const [response] = await responsesTo(`GET /livez HTTP/1.1\r\nhost: x\r\nx-a: `);
    expectProblem(response!, 408);
  });

  test('the response to the previous request is sent first', async () => {
    const responses = await responsesTo(`GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n\x16\x03 garbage\r\n\r\n`);
    expect(responses.map(({ status }) => status)).toEqual([200, 400]);
    expectProblem(responses[1]!, 400);
  });

  test('a request that was refused before it arrived completely gets no second response', async () => {
    const responses = await responsesTo(
      `POST /transactions/mobile HTTP/1.1\r\n${CLOSE}transfer-encoding: chunked\r\n\r\nZZ\r\n`,
    );
    expect(responses).toHaveLength(1);
  });
});

describe('a valid request is served in any notation', () => {
  test.each([
    ['HTTP/1.0', get('/livez', '', '1.0')],
    ['an absolute address', get('http://anywhere.example/livez')],
    ['a header with an underscore', get('/livez', `${CLOSE}x_api_key: 1\r\nauthorization_: x\r\n`)],
    ['an upgrade that is not offered', get('/livez', 'host: x\r\nconnection: close, upgrade\r\nupgrade: h2c\r\n')],
  ])('%s', async (_what, bytes) => {
    expect((await responsesTo(bytes)).map(({ status }) => status)).toEqual([200]);
  });

  test('pipelined requests receive a response in their order', async () => {
    const one = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n';
    const responses = await responsesTo(`${one}GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n${one}${get('/livez/x')}`);
    expect(responses.map(({ status }) => status)).toEqual([200, 404, 200, 404]);
  });

  test('Expect: 100-continue gets its 100', async () => {
    const responses = await responsesTo(sized(LOGIN, 'expect: 100-continue\r\n'));
    expect(responses.map(({ status }) => status)).toEqual([100, 401]);
  });

  test.each([
    ['/livez/', 404],
    ['//livez', 404],
    ['/x/../livez', 404],
    ['/%6civez', 200],
    ['/livez%2f', 404],
    ['/livez%00', 404],
    ['/transactions/', 404],
    ['/acquirers//keys', 404],
    ['/transactions/%2e%2e', 400],
    ['/transactions/a%252fb', 400],
  ])('%s is %i', async (target, expected) => {
    const [response] = await responsesTo(get(target, `${CLOSE}x-api-key: ${key}\r\n`));
    expect(response!.status).toBe(expected);
    if (expected >= 400) expectProblem(response!, expected);
  });

  test('a correlation id cannot inject a header', async () => {
    const [response] = await responsesTo(get('/livez', `${CLOSE}x-correlation-id: a%0d%0aset-cookie: b\r\n`));
    expect(response!.headers.has('set-cookie')).toBe(false);
    expect(response!.headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('a repeated header that decides something is refused', () => {
  test.each([
    ['authorization', 'Bearer a.b.c', 'Bearer d.e.f'],
    ['x-api-key', 'a', 'b'],
    ['X-Api-Key', 'a', 'a'],
    ['x-device-installation-id', 'a', 'b'],
    ['idempotency-key', 'a', 'b'],
    ['content-type', 'application/json', 'text/plain'],
  ])('%s', async (name, one, other) => {
    const [response] = await responsesTo(get('/transactions', `${CLOSE}${name}: ${one}\r\n${name}: ${other}\r\n`));
    expectProblem(response!, 400);
    const pointer = `/headers/${name.toLowerCase()}`;
    expect(JSON.parse(response!.body)).toMatchObject({ errorCode: 104, errors: [{ pointer }] });
  });
});

describe('a body', () => {
  test.each([
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    [
      'a character that is cut off',
      Buffer.concat([Buffer.from('{"username":"'), Buffer.from([0xc3]), Buffer.from('"}')]),
    ],
    ['an overlong character', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])('a body of %s is 400, 103', async (_what, bytes) => {
    const [response] = await responsesTo(sized(bytes));
    expectProblem(response!, 400);
    expect(JSON.parse(response!.body)).toMatchObject({ errorCode: 103 });
  });

  test.each([
    'gzip',
    'br',
    'GZIP',
    'identity, gzip',
  ])('a body that is compressed with %s is 415 with the accepted types', async (coding) => {
    const [response] = await responsesTo(sized(LOGIN, `content-encoding: ${coding}\r\n`));
    expectProblem(response!, 415);
    expect(response!.headers.get('accept-encoding')).toBe('identity');
  });
});

describe('every address', () => {
  const each = async (methods: readonly string[], check: (response: Response, route: KnownRoute) => unknown) => {
    const tries = [...new Map(installation.routes.map((route) => [route.url, route])).values()];
    const faults = await Promise.all(
      methods.map((method) =>
        gather(tries, async (route) => {
          const path = route.url.replace(/:\w+/g, 'x');
          // The gateway may close an idle connection in the moment in which fetch uses it again.
          const response = await eventually(() => fetch(new URL(path, installation.url), { method }));
          await response.arrayBuffer();
          return check(response, route)
            ? undefined
            : `${method} ${route.url}: ${response.status} ${[...response.headers]}`;
        }),
      ),
    );
    expect(faults.flat()).toEqual([]);
  };
  const methodsOf = (url: string) => {
    const own = installation.routes.filter((route) => route.url === url).map(({ method }) => method);
    return [...own, ...(own.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
  };

  test('responds to OPTIONS and unknown methods with 405 and the supported methods, and no others', () =>
    each(['OPTIONS', 'PROPFIND', 'QUERY'], ({ status, headers }, { url }) => {
      return status === 405 && headers.get('allow') === methodsOf(url);
    }));

  test('responds to HEAD as GET without a body, or 405', () =>
    each(['HEAD'], ({ status, headers }, { url }) => {
      const takes = installation.routes.some((route) => route.url === url && route.method === 'GET');
      // On a busy machine /readyz may be 503.
      return takes ? status !== 500 && status !== 405 : status === 405 && headers.get('allow') === methodsOf(url);
    }));

  test('is not read as the parameter of another', async () => {
    const { status, headers } = await fetch(new URL('/transactions/mobile', installation.url), {
      headers: { 'x-api-key': key },
    });
    expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: 'POST' });
  });

  test('lists in a 401 the kinds of credential that it accepts, and no others', async () => {
    const guarded = installation.routes.filter(({ facts }) => facts.takes.length > 0);
    const faults = await gather(guarded, async (route) => {
      const { facts } = route;
      const { status, headers } = await ask(installation.url, route, {}, {});
      const challenge = headers.get('www-authenticate') ?? '';
      const takesKey = facts.takes.some((kind) => kind.endsWith('Key'));
      const takesToken = facts.takes.some((kind) => kind.endsWith('Token'));
      const isRight =
        /\bApiKey header="x-api-key"/.test(challenge) === takesKey && /\bBearer\b/.test(challenge) === takesToken;
      return status === 401 && isRight ? undefined : `${nameOf(route)}: ${status} ${challenge}`;
    });
    expect(faults).toEqual([]);
  });

  test('must not be cached, unless it is public', async () => {
    const kept: string[] = [];
    for (const { method, url, facts } of installation.routes) {
      if (method !== 'GET' || url === '/ops/stream') continue;
      const { headers } = await fetch(new URL(url.replace(/:\w+/g, 'x'), installation.url));
      if (headers.get('cache-control') === 'no-store') continue;
      expect(facts.takes).toEqual([]);
      kept.push(url);
    }
    expect(kept.filter((url) => !/^\/(docs|ops|pay\/assets)\/|^\/ops$|^\/pay\/:reference$/.test(url)).sort()).toEqual([
      '/.well-known/card-data-keys.json',
      '/.well-known/jwks.json',
      '/docs',
      '/enums',
      '/openapi.json',
    ]);
    const { headers } = await fetch(new URL('/transactions', installation.url), { headers: { 'x-api-key': key } });
    expect(headers.get('cache-control')).toBe('no-store');
  });
});
