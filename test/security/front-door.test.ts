import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { problem } from '../../schemas/problem.ts';
import type { Credential, KnownRoute } from '../../src/http/route-table.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { ask, errorCodeOf, gather, nameOf, type ReceivedResponse } from './ask.ts';
import { bearer, credentialsOf, type Shown, shownTo } from './credentials.ts';
import { forgedKeys, forgeriesOf } from './forgeries.ts';
import { type Headers, type Things, thingsOf } from './things.ts';
import { PATIENT, type TriedRoute, triedRoutes, UNLIMITED } from './tried-route.ts';

let installation: Installation;
let things: Things;
let credentials: Shown[];
let routes: TriedRoute[];
beforeAll(async () => {
  installation = await startInstallation({ settings: UNLIMITED, profile: PATIENT });
  things = await thingsOf(installation, 'coffee', 41);
  credentials = await credentialsOf(installation, 'coffee', things);
  routes = triedRoutes(installation);
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

const guarded = () => routes.filter(({ facts }) => facts.takes.length > 0);
/** The routes in the API reference, without those of pages. */
const withBody = () =>
  routes.filter(({ method, facts }) => ['POST', 'PUT', 'PATCH'].includes(method) && !facts.isAsset);

function described(route: KnownRoute, how: string, { status, text }: ReceivedResponse): string {
  return `${nameOf(route)}, ${how}: ${status} ${text.slice(0, 300)}`;
}

async function send(route: TriedRoute, headers: Headers, instead?: string): Promise<ReceivedResponse> {
  return ask(installation.url, route, await route.row.send(things), headers, instead);
}

const credentialFor = ({ facts }: TriedRoute): Headers => shownTo(facts, credentials)[0]?.headers ?? {};

describe('a forged credential is 401 at every route', () => {
  test('a token', async () => {
    const kinds: Credential[] = ['merchantToken', 'loginToken', 'intentToken', 'intentSessionToken', 'proximityToken'];
    const forged = new Map(
      await Promise.all(
        kinds.map(async (kind) => {
          const { headers } = credentials.find((shown) => shown.kind === kind)!;
          return [
            kind,
            Object.entries(await forgeriesOf(installation, kind, headers.authorization!.slice(7))),
          ] as const;
        }),
      ),
    );
    const tries = guarded().flatMap((route) =>
      route.facts.takes.flatMap((kind) =>
        (forgeriesFor(forged, kind) ?? []).map(([how, token]) => ({ route, kind, how, token })),
      ),
    );
    const faults = await gather(tries, async ({ route, kind, how, token }) => {
      const key = route.facts.takesBoth ? credentialFor(route) : {};
      const response = await send(route, { ...key, ...bearer(token) });
      const isRefused = response.status === 401 && [117, 118].includes(errorCodeOf(response) ?? 0);
      return isRefused ? undefined : described(route, `${kind} with ${how}`, response);
    });
    expect(faults).toEqual([]);
    expect(tries.length).toBeGreaterThan(500);
  });

  test('an API key', async () => {
    const { headers } = credentials.find(({ kind }) => kind === 'integratorKey')!;
    const tries = guarded()
      .filter(({ facts }) => facts.takes.some((kind) => kind.endsWith('Key')))
      .flatMap((route) => Object.entries(forgedKeys(headers['x-api-key']!)).map(([how, key]) => ({ route, how, key })));
    const faults = await gather(tries, async ({ route, how, key }) => {
      const token = route.facts.takesBoth ? credentialFor(route) : {};
      const response = await send(route, { ...token, 'x-api-key': key });
      return response.status === 401 && errorCodeOf(response) === 102 ? undefined : described(route, how, response);
    });
    expect(faults).toEqual([]);
    expect(tries.length).toBeGreaterThan(500);
  });
});

function forgeriesFor<Value>(forged: ReadonlyMap<Credential, Value>, kind: Credential): Value | undefined {
  return forged.get(kind);
}

describe('an invalid body is refused at every route with a body', () => {
  /** The expected status, with the name of the problem. */
  const refused = async (
    how: string,
    make: (route: TriedRoute) => Promise<ReceivedResponse>,
    status: number,
    errorCode: number,
  ) => {
    // The route for a reader's token accepts any body and does not read it.
    const reading = withBody().filter(({ url }) => url !== '/mobile/proximity-token');
    const faults = await gather(reading, async (route) => {
      const response = await make(route);
      const isRight = response.status === status && errorCodeOf(response) === errorCode && isProblem(response);
      return isRight ? undefined : described(route, how, response);
    });
    expect(faults).toEqual([]);
  };

  test('a body over 192 KB is refused at every route: 413', () =>
    refused('too long', (route) => send(route, credentialFor(route), `{"a":"${'a'.repeat(192 * 1024)}"}`), 413, 104));

  test('a body of 17 levels is refused at every route: 400', () =>
    refused('too deep', (route) => send(route, credentialFor(route), `${'['.repeat(17)}${']'.repeat(17)}`), 400, 104));

  test.each([
    '{',
    '{"__proto__":{"a":1}}',
    '{"constructor":{"prototype":{"a":1}}}',
    "{'a':1}",
    '\ufeff{}x',
    '{"a":1}{"b":2}',
    'NaN',
  ])('%s: 400', (body) => refused(body, (route) => send(route, credentialFor(route), body), 400, 103));

  test('a body of another type is refused at every route: 415', () =>
    refused(
      'as XML',
      async (route) => {
        const { url, method } = route;
        const { params = {}, headers = {} } = await route.row.send(things);
        const path = url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
        const sent = { ...headers, ...credentialFor(route), 'content-type': 'application/xml' };
        const response = await fetch(new URL(path, installation.url), { method, headers: sent, body: '<a/>' });
        return { status: response.status, text: await response.text(), headers: response.headers };
      },
      415,
      104,
    ));
});

function isProblem({ status, text, headers }: ReceivedResponse): boolean {
  const parsed = problem.safeParse(JSON.parse(text));
  return headers.get('content-type') === 'application/problem+json' && parsed.success && parsed.data.status === status;
}

test('every address lists in a 405 the methods that it supports, and no others', async () => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  const takenBy = Map.groupBy(installation.routes, ({ url }) => url);
  const tries = [...takenBy].flatMap(([url, known]) => {
    const taken = known.map(({ method }) => method);
    const left = methods.filter((method) => !taken.includes(method));
    return left.map((method) => ({ method, url, taken }));
  });
  const faults = await gather(tries, async ({ method, url, taken }) => {
    const response = await ask(installation.url, { method, url }, {}, {});
    const allowed = (response.headers.get('allow') ?? '').split(', ');
    const isRight =
      response.status === 405 &&
      isProblem(response) &&
      taken.every((each) => allowed.includes(each)) &&
      !allowed.includes(method);
    return isRight ? undefined : `${method} ${url}: ${response.status} ${response.text.slice(0, 200)} ${allowed}`;
  });
  expect(faults).toEqual([]);
});

describe('a request that two servers could read differently is refused, and its connection closed', () => {
  const KEY = () => credentials.find(({ kind }) => kind === 'integratorKey')!.headers['x-api-key']!;
  const post = (headers: string, body: string) =>
    `POST /transactions/references/check HTTP/1.1\r\nhost: x\r\nx-api-key: ${KEY()}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${body}`;
  const BODY = '{"merchantReference":"a","merchantId":"1001"}';

  test.each([
    ['two lengths', (): string => post(`content-length: ${BODY.length}\r\ncontent-length: 5`, BODY)],
    ['a length and chunks', () => post(`content-length: 5\r\ntransfer-encoding: chunked`, `0\r\n\r\n`)],
    ['chunks by another name', () => post('transfer-encoding: xchunked', BODY)],
    ['a length with a sign', () => post(`content-length: +${BODY.length}`, BODY)],
    ['a blank before the colon', () => post(`content-length : ${BODY.length}`, BODY)],
    ['a folded header', () => post(`x-a: 1\r\n b: 2\r\ncontent-length: ${BODY.length}`, BODY)],
    ['a line feed alone', () => post(`x-a: 1\nx-b: 2\r\ncontent-length: ${BODY.length}`, BODY)],
    ['NUL in a header', () => post(`x-a: 1\0\r\ncontent-length: ${BODY.length}`, BODY)],
    ['headers of 20 KB', () => `GET /livez HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['an address of 20 KB', () => `GET /transactions?merchant=${'a'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
  ])('%s', async (_how, request) => {
    expect(await toldTo(request())).toMatch(/^HTTP\/1\.1 (?:4\d\d|501) (?!.*HTTP\/1\.1)/s);
  });

  test('a request that two servers read in the same way is not refused', async () => {
    const response = await toldTo(post(`connection: close\r\ncontent-length: ${BODY.length}`, BODY));
    expect(response).toMatch(/^HTTP\/1\.1 200 /);
  });

  /** Sends it and waits until the gateway closes; returns the response. */
  function toldTo(request: string): Promise<string> {
    const socket = connect(Number(new URL(installation.url).port), '127.0.0.1');
    socket.write(request);
    return text(socket);
  }
});

test('a repeated query parameter is refused', async () => {
  const lists = routes.filter(({ method, url }) => method === 'GET' && !url.includes(':') && credentials);
  const faults = await gather(
    lists.filter(({ facts }) => !facts.isAsset),
    async (route) => {
      const response = await fetch(new URL(`${route.url}?limit=1&limit=2`, installation.url), {
        headers: credentialFor(route),
      });
      const received = { status: response.status, text: await response.text(), headers: response.headers };
      return received.status === 400 && isProblem(received) ? undefined : described(route, 'limit twice', received);
    },
  );
  expect(faults).toEqual([]);
});

test('1 MB of a token is refused with the headers', async () => {
  const response = await fetch(new URL('/transactions', installation.url), {
    headers: bearer('a'.repeat(1_048_576)),
  }).catch(() => ({ status: 431 }));
  expect(response.status).toBe(431);
});
