import { once } from 'node:events';
import { connect, createServer as createTcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { TapLoad } from '../../src/basics/limits/concurrency-limit.ts';
import { admitTaps } from '../../src/http/admit-taps.ts';
import { bindSockets, listen } from '../../src/http/listen.ts';
import { createServer, type Server } from '../../src/http/server.ts';

const CONNECTIONS = 400;
/** One connection per turn would take as many turns as there are connections. */
const MAX_TURNS = CONNECTIONS / 10;
/** A server that waits for no request closes in less; otherwise the time has no effect. */
const CLOSES_WITHIN_MS = 1_000;
const HERE = { host: '127.0.0.1', port: 0 };

let server: Server | undefined;
afterEach(() => server?.close());

/** @param load of a process that has as many taps as it can work on, unless it is given */
async function start(load = fullLoad(), handled = Promise.resolve()): Promise<number> {
  const log = { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} };
  server = createServer({ log });
  admitTaps(server, { load, log, requiresHttps: false, monotonicMs: () => 0 });
  const facts = { summary: 'Do', section: 'extension', takes: [] } as const;
  server.post('/transactions/mobile', { config: { facts } }, async () => {
    await handled;
    return {};
  });
  return Number(new URL(await listen(server, HERE, bindSockets(HERE))).port);
}

function fullLoad(): TapLoad {
  const load = new TapLoad(1);
  for (let count = 0; count < 2; count++) load.begin();
  return load;
}

/**
 * Clients in another thread, because this one is blocked: each opens a connection and sends a tap. The flag is set when all
 * have sent theirs, which the kernel accepts before the process does.
 */
const CLIENTS = `
const { connect } = require('node:net');
const { parentPort, workerData: { port, count, flag } } = require('node:worker_threads');
const body = '{}';
const tap = 'POST /transactions/mobile HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\ncontent-type: application/json\\r\\n' +
  'content-length: 2\\r\\n\\r\\n{}';
const responses = [];
let sent = 0;
for (let n = 0; n < count; n++) {
  let text = '';
  const socket = connect(port, '127.0.0.1', () => socket.write(tap, () => {
    if (++sent < count) return;
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  }));
  socket.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  socket.on('error', ({ code }) => (text = code));
  socket.on('close', () => {
    responses.push(text.split('\\r\\n', 1)[0]);
    if (responses.length === count) parentPort.postMessage(responses);
  });
}`;

test('connections that were opened while the event loop was blocked are accepted in few turns, and each receives a response', async () => {
  const port = await start();
  const turns = new Set<number>();
  let turn = 0;
  const countTurn = () => {
    turn++;
    counting = setImmediate(countTurn);
  };
  let counting = setImmediate(countTurn);
  onTestFinished(() => clearImmediate(counting));
  server!.server.on('connection', () => turns.add(turn));
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const clients = new Worker(CLIENTS, { eval: true, workerData: { port, count: CONNECTIONS, flag } });
  await once(clients, 'online');
  Atomics.wait(flag, 0, 0); // the event loop is blocked until every client has sent its tap
  const [responses] = (await once(clients, 'message')) as [string[]];
  expect(responses).toEqual(Array.from({ length: CONNECTIONS }, () => 'HTTP/1.1 503 Service Unavailable'));
  expect(turns.size).toBeLessThan(MAX_TURNS);
});

test('a port is refused on which another program listens, or another gateway', async () => {
  const port = await start();
  expect(() => bindSockets({ ...HERE, port })).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
  const other = createTcpServer().listen(0, HERE.host);
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port: taken } = other.address() as { readonly port: number };
  expect(() => bindSockets({ ...HERE, port: taken })).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
});

test('a server that has stopped accepts no connection on any of its sockets', async () => {
  const port = await start(new TapLoad());
  const tap = () =>
    fetch(`http://127.0.0.1:${port}/transactions/mobile`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', connection: 'close' },
    });
  expect((await tap()).status).toBe(200);
  await server!.close();
  const codes = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => tap().catch(({ cause }) => (cause as { code: string }).code)),
  );
  expect(new Set(codes)).toEqual(new Set(['ECONNREFUSED']));
});

test('a server that stops waits for the requests in progress on all of its sockets, and for no client that says nothing', async () => {
  const { promise: handled, resolve: handle } = Promise.withResolvers<void>();
  const port = await start(new TapLoad(), handled);
  const silent = connect(port, HERE.host);
  onTestFinished(() => void silent.destroy());
  await once(silent, 'connect');
  let arrived = 0;
  let ended = 0;
  server!.server.on('request', (_request, response) => {
    arrived++;
    response.once('close', () => ended++);
  });
  const request =
    'POST /transactions/mobile HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
  const clients = Array.from({ length: 20 }, () => {
    const client = connect(port, HERE.host, () => client.write(request));
    onTestFinished(() => void client.destroy());
    return client.resume();
  });
  await expect.poll(() => arrived).toBe(clients.length);
  let isClosed = false;
  const closing = server!.close().then(() => {
    isClosed = true;
  });
  await once(silent, 'close');
  await Promise.race([closing, sleep(CLOSES_WITHIN_MS)]);
  expect([isClosed, ended]).toEqual([false, 0]);
  handle();
  await closing;
  expect(ended).toBe(clients.length);
});
