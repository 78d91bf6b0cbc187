import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { OutboundError } from '../../src/basics/errors.ts';
import { GuardedFetch, type GuardedRequest, type ResolveName } from '../../src/outbound/guarded-fetch.ts';
import { createIdentity } from '../connection/certificates.ts';
import { hang, ok, type Receiver, startReceiver, status } from './receiver.ts';

const PROD = { allowHttp: false, allowLoopback: false };
const DEV = { allowHttp: true, allowLoopback: true };
/** Public, and never connected to by these tests. */
const PUBLIC = '8.8.8.8';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function guarded(options: Partial<ConstructorParameters<typeof GuardedFetch>[0]> = {}): GuardedFetch {
  const fetcher = new GuardedFetch({ policy: DEV, resolve: async () => ['127.0.0.1'], ...options });
  closers.push(() => fetcher.close());
  return fetcher;
}

async function receiver(...how: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...how);
  closers.push(() => started.close());
  return started;
}

/** A server that sends raw bytes. */
async function rawServer(onConnection: (socket: net.Socket) => void): Promise<string> {
  const server = net.createServer(onConnection).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Returns one response after the other and records the requested names. */
function noting(asked: string[], responses: string[]): ResolveName {
  return async (name) => {
    asked.push(name);
    return [responses.shift()!];
  };
}

const post = (url: string, changes: Partial<GuardedRequest> = {}): GuardedRequest => ({
  url: new URL(url),
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{}',
  timeoutMs: 5_000,
  maxResponseBytes: 1_024,
  ...changes,
});

const refusal = (code: string) => expect.objectContaining({ name: OutboundError.name, code });

describe('the target of a request', () => {
  test.each([
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://169.254.169.254/',
    'http://shop.example/',
    'https://a:b@shop.example/',
  ])('is not %s, and no connection is opened to find out', async (url) => {
    const asked: string[] = [];
    const fetcher = guarded({ policy: PROD, resolve: noting(asked, [PUBLIC]) });
    await expect(fetcher.request(post(url))).rejects.toEqual(refusal('URL_REFUSED'));
    await expect(fetcher.check(new URL(url))).rejects.toEqual(refusal('URL_REFUSED'));
    expect(asked).toEqual([]);
  });

  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '::1',
    '::ffff:10.1.2.3',
    'fd00::1',
    '100.100.100.200',
  ])('is not a name that resolves to %s', async (address) => {
    const fetcher = guarded({ policy: PROD, resolve: async () => [address] });
    await expect(fetcher.request(post('https://shop.example/'))).rejects.toEqual(refusal('ADDRESS_REFUSED'));
    await expect(fetcher.check(new URL('https://shop.example/'))).rejects.toEqual(refusal('ADDRESS_REFUSED'));
  });

  test('is not a name with one private address among several', async () => {
    const fetcher = guarded({ policy: PROD, resolve: async () => [PUBLIC, '192.168.0.1'] });
    await expect(fetcher.request(post('https://shop.example/'))).rejects.toEqual(refusal('ADDRESS_REFUSED'));
  });

  test('can be checked in advance without a request', async () => {
    const fetcher = guarded({ policy: PROD, resolve: async () => [PUBLIC] });
    await expect(fetcher.check(new URL('https://shop.example/'))).resolves.toBeUndefined();
  });
});

describe('a name whose addresses change (DNS rebinding)', () => {
  test('is refused at the connection, whichever address it had when it was checked', async () => {
    const inside = await receiver();
    const responses = [PUBLIC, '127.0.0.1'];
    const fetcher = guarded({ policy: { ...PROD, allowHttp: true }, resolve: async () => [responses.shift()!] });
    const url = `http://shop.example:${inside.port}/`;
    await fetcher.check(new URL(url));
    await expect(fetcher.request(post(url))).rejects.toEqual(refusal('ADDRESS_REFUSED'));
    expect(inside.connections).toBe(0);
  });

  test('is resolved once for each connection, and the connection uses that address', async () => {
    const checked = await receiver(status(201));
    const asked: string[] = [];
    const responses = ['127.0.0.1', '10.0.0.1'];
    const fetcher = guarded({ resolve: noting(asked, responses) });
    const response = await fetcher.request(post(`http://shop.example:${checked.port}/`));
    expect(response.status).toBe(201);
    expect(asked).toEqual(['shop.example']);
    expect(checked.received[0]!.headers.host).toBe(`shop.example:${checked.port}`);
  });

  test('gains nothing from a kept connection, which keeps its address', async () => {
    const first = await receiver();
    const responses = ['127.0.0.1', '10.0.0.1'];
    const fetcher = guarded({ resolve: async () => [responses.shift()!] });
    const url = `http://shop.example:${first.port}/`;
    for (let n = 0; n < 3; n++) expect((await fetcher.request(post(url))).status).toBe(204);
    expect(first.connections).toBe(1);
    expect(responses).toEqual(['10.0.0.1']);
  });
});

describe('a request', () => {
  test('sends its headers and its body byte for byte', async () => {
    const target = await receiver(status(200, { 'retry-after': '7' }, 'thanks'));
    const body = '{"name":"Zoë","amount":10.1}';
    const response = await guarded().request(post(target.url, { body, headers: { 'webhook-id': 'one' } }));
    expect(target.received).toMatchObject([{ path: '/hook', headers: { 'webhook-id': 'one' } }]);
    expect(target.received[0]!.body.toString()).toBe(body);
    expect(response).toMatchObject({ status: 200, headers: { 'retry-after': '7' }, isCut: false });
    expect(response.body.toString()).toBe('thanks');
  });

  test('does not follow a redirect', async () => {
    const elsewhere = await receiver();
    const target = await receiver(status(307, { location: elsewhere.url }));
    expect((await guarded().request(post(target.url))).status).toBe(307);
    expect(elsewhere.received).toEqual([]);
  });

  test('is repeated once if a kept connection was closed during it', async () => {
    let connections = 0;
    const url = await rawServer((socket) => {
      const isFirst = connections++ === 0;
      let requests = 0;
      socket.on('error', () => {});
      socket.on('data', () => {
        if (isFirst && requests++ > 0) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const fetcher = guarded();
    expect((await fetcher.request(post(url))).status).toBe(200);
    expect((await fetcher.request(post(url))).status).toBe(200);
    expect(connections).toBe(2);
  });

  test('a request over TLS is refused if no trusted authority vouches for the receiver', async () => {
    const root = createIdentity('root');
    const target = await receiver(ok, createIdentity('receiver', root));
    const url = `https://localhost:${target.port}/`;
    await expect(guarded().request(post(url))).rejects.toEqual(refusal('TLS_FAILED'));
    expect((await guarded({ ca: root.cert }).request(post(url))).status).toBe(204);
    const other = `https://other.example:${target.port}/`;
    await expect(guarded({ ca: root.cert }).request(post(other))).rejects.toEqual(refusal('TLS_FAILED'));
    expect(target.received).toHaveLength(1);
  });
});

describe('a response', () => {
  test('a response of any length is truncated at the limit, and its status counts', async () => {
    let isGone = false;
    const target = await receiver((response) => {
      response.writeHead(200);
      const more = () => {
        while (!isGone && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more).on('close', () => (isGone = true));
      more();
    });
    const response = await guarded().request(post(target.url, { maxResponseBytes: 1_024 }));
    expect(response).toMatchObject({ status: 200, isCut: true });
    expect(response.body).toHaveLength(1_024);
    await expect.poll(() => isGone).toBe(true);
  });

  test('a response that never ends is truncated at the deadline, and its status counts', async () => {
    const target = await receiver((response) => void response.writeHead(200).write('wait'));
    const response = await guarded().request(post(target.url, { timeoutMs: 3_000 }));
    expect(response).toMatchObject({ status: 200, isCut: true });
    expect(response.body.toString()).toBe('wait');
  });

  test('a response of exactly the limit is complete', async () => {
    const target = await receiver(status(200, {}, 'x'.repeat(1_024)));
    expect(await guarded().request(post(target.url))).toMatchObject({ isCut: false });
  });

  test('a response that breaks off after its status is truncated', async () => {
    const url = await rawServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
    });
    const response = await guarded().request(post(url));
    expect(response).toMatchObject({ status: 200, isCut: true });
    expect(response.body.toString()).toBe('half');
  });
});

describe('without a response the reason is reported', () => {
  test('no server listens', async () => {
    const gone = await startReceiver();
    await gone.close();
    await expect(guarded().request(post(gone.url))).rejects.toEqual(refusal('CONNECTION_REFUSED'));
  });

  test('the receiver sends nothing', async () => {
    const target = await receiver(hang);
    await expect(guarded().request(post(target.url, { timeoutMs: 100 }))).rejects.toEqual(refusal('TIMEOUT'));
  });

  test('the name server sends nothing', async () => {
    const fetcher = guarded({ resolve: () => new Promise(() => {}) });
    const request = post('http://shop.example:8080/', { timeoutMs: 100 });
    await expect(fetcher.request(request)).rejects.toEqual(refusal('TIMEOUT'));
  });

  test.each(['NAME_NOT_FOUND', 'NAME_LOOKUP_FAILED'] as const)('%s', async (code) => {
    const resolve = () => Promise.reject(new OutboundError(code));
    await expect(guarded({ resolve }).request(post('http://shop.example:8080/'))).rejects.toEqual(refusal(code));
  });

  test('the gateway stopped, before or during the request', async () => {
    const target = await receiver(hang);
    const stop = new AbortController();
    const running = guarded().request(post(target.url, { signal: stop.signal }));
    await expect.poll(() => target.received.length).toBe(1);
    stop.abort();
    await expect(running).rejects.toEqual(refusal('CANCELLED'));
    await expect(guarded().request(post(target.url, { signal: stop.signal }))).rejects.toEqual(refusal('CANCELLED'));
    expect(target.received).toHaveLength(1);
  });

  test.each([
    ['not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'RESPONSE_BROKEN'],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'x-pad: 1\r\n'.repeat(10_000)}`, 'RESPONSE_BROKEN'],
    ['nothing at all', '', 'CONNECTION_LOST'],
  ])('the receiver responds with %s', async (_what, bytes, code) => {
    const url = await rawServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(bytes));
    });
    await expect(guarded().request(post(url))).rejects.toEqual(refusal(code));
  });
});
