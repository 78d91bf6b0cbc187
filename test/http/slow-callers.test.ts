import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createServer, type Server } from '../../src/http/server.ts';

/** Instead of 10 s and 20 s: the test only needs them to end, at the first check after their time. */
const TIMES = { headersTimeout: 300, requestTimeout: 600 };
const IDLE_SOCKETS = 1_000;

let server: Server;
let port: number;
const responded: number[] = [];
beforeAll(async () => {
  server = createServer({
    log: {
      responded: (_request, { statusCode }) => void responded.push(statusCode),
      unforeseen: () => {},
      overloaded: () => {},
      refused: () => {},
    },
  });
  const facts = { summary: 'Look', section: 'extension', takes: [] } as const;
  server.post('/things', { config: { facts } }, async () => ({}));
  port = Number(new URL(await server.listen({ port: 0 })).port);
  Object.assign(server.server, TIMES);
});
afterAll(() => server.close());

/** Sends that text and waits; returns what was received before the connection was closed. */
async function toldTo(text: string, andThen?: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(text);
  const timer = andThen && setInterval(() => andThen(socket), 50);
  let reported = '';
  socket
    .setEncoding('utf8')
    .on('data', (chunk: string) => (reported += chunk))
    .on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve)); // `once` would reject for a write that came too late
  clearInterval(timer);
  return reported;
}

const POST = 'POST /things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

describe.concurrent('a request whose handler never returns', () => {
  const never = () => new Promise<never>(() => {});
  const facts = { section: 'extension', takes: [] } as const;
  let patient: Server;
  let url: string;
  beforeAll(async () => {
    patient = createServer({
      log: { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} },
      // The time for a switch is negative, so only the time for commits remains.
      responseTimes: { plainMs: 300, switchWaitMs: () => -19_700 },
    });
    patient.post('/things', { config: { facts: { ...facts, summary: 'Wait' } } }, never);
    patient.post('/taps', { config: { facts: { ...facts, summary: 'Tap', waitsForSwitch: true } } }, never);
    patient.get('/read', { config: { facts: { ...facts, summary: 'Read' } }, onRequest: never }, never);
    patient.post('/deaf', { config: { facts: { ...facts, summary: 'Say' } }, onSend: never }, async () => ({}));
    url = await patient.listen({ port: 0 });
  });
  afterAll(() => patient.close());

  test('is 503 after its time', async () => {
    const response = await fetch(new URL('/things', url), { method: 'POST' });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await response.json()).toMatchObject({ errorCode: 203, detail: expect.stringContaining('may have been') });
  });

  test('is 503 if only its credential has been verified', async () => {
    expect((await fetch(new URL('/read', url))).status).toBe(503);
  });

  test('is 500 with errorCode 201 if the outcome of a switch is unknown', async () => {
    const response = await fetch(new URL('/taps', url), { method: 'POST' });
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ errorCode: 201, detail: expect.stringContaining('not known yet') });
  });

  test('is closed if even its problem cannot be sent', async () => {
    await expect(fetch(new URL('/deaf', url), { method: 'POST' })).rejects.toThrow();
  });
});

describe.concurrent('a connection is closed in time', () => {
  test('a connection is closed in time on which nothing is sent, without a response that a later request could take for its own', async () => {
    expect(await toldTo('')).toBe('');
  });

  test('a connection is closed in time whose headers are sent byte by byte', async () => {
    expect(await toldTo(POST, (socket) => socket.write('x'))).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a connection is closed in time whose body is sent byte by byte', async () => {
    const start = `${POST}content-length: 1000\r\n\r\n{`;
    expect(await toldTo(start, (socket) => socket.write(' '))).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a connection is closed in time whose chunked body never ends', async () => {
    const start = `${POST}transfer-encoding: chunked\r\n\r\n`;
    expect(await toldTo(start, (socket) => socket.write('1\r\n \r\n'))).toMatch(/^HTTP\/1\.1 408 /);
  });
});

test('a request that cannot be read is refused, even if the response to the one before it was early', async () => {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  let received = '';
  socket.on('data', (chunk: string) => (received += chunk));
  socket.write('POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n');
  await expect.poll(() => received).toMatch(/^HTTP\/1\.1 404 /);
  received = '';
  socket.write('{}');
  socket.write('no request\r\n\r\n');
  await once(socket, 'close');
  expect(received).toMatch(/^HTTP\/1\.1 400 /);
});

test(`${IDLE_SOCKETS} idle connections do not prevent other responses, and are closed`, async () => {
  const sockets = Array.from({ length: IDLE_SOCKETS }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume(),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const before = responded.length;
  const response = await fetch(`http://127.0.0.1:${port}/things`, { method: 'POST' });
  expect(response.status).toBe(200);
  await Promise.all(sockets.map((socket) => (socket.closed ? undefined : once(socket, 'close'))));
  expect(responded.slice(before)).toEqual([200]);
});
