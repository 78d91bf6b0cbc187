import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createServer, type Server } from '../../src/http/server.ts';
import { eventually } from '../support/eventually.ts';

let server: Server;
let port: number;
/** Names of the requests that reached their handler. */
let handled: string[];
/** How many requests the server has read. */
let arrived: number;
let release: () => void;
let closing: Promise<unknown> | undefined;

beforeEach(async () => {
  handled = [];
  arrived = 0;
  closing = undefined;
  server = createServer({
    log: { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} },
  });
  const facts = { summary: 'Look', section: 'extension', takes: [] } as const;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const name of ['slow', 'one', 'two'])
    server.post(`/${name}`, { config: { facts } }, async () => {
      handled.push(name);
      if (name === 'slow') await released;
      return { name };
    });
  server.server.on('request', () => {
    arrived++;
  });
  port = Number(new URL(await server.listen({ port: 0 })).port);
});
afterEach(async () => {
  release();
  await (closing ?? server.close());
});

const post = (name: string) => `POST /${name} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;
const CONNECT = 'CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n';

class Client {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #text = '';

  constructor() {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk) => {
      this.#text += chunk;
    });
    this.socket.on('error', () => {}); // `closed` follows
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
  }

  /** The statuses of the responses, and the names in their bodies. */
  get responses(): string {
    return [...this.#text.matchAll(/HTTP\/1\.1 (\d+)|"name":"(\w+)"/g)].map((match) => match[1] ?? match[2]).join(' ');
  }
}

const untilHandled = (...names: string[]) => eventually(() => expect(handled).toEqual(names));

describe('CONNECT behind a request in progress', () => {
  test('is refused after the response to that request', async () => {
    const client = new Client();
    client.socket.write(post('slow') + post('one') + CONNECT);
    await untilHandled('slow', 'one');
    release();
    await client.closed;
    expect(client.responses).toBe('200 slow 200 one 405');
  });

  test('ends with a client that resets the connection, and the server goes on', async () => {
    const client = new Client();
    client.socket.write(post('slow') + CONNECT);
    await untilHandled('slow');
    client.socket.resetAndDestroy();
    await client.closed;
    await eventually(async () => expect(await openConnections()).toBe(0));
    release();
    const next = new Client();
    next.socket.write(post('one'));
    await eventually(() => expect(next.responses).toBe('200 one'));
    next.socket.destroy();
  });
});

test('a client that resets its connection after CONNECT does not end the process', async () => {
  const client = new Client();
  server.server.prependListener('connect', () => client.socket.resetAndDestroy());
  client.socket.write(CONNECT);
  await client.closed;
  await eventually(async () => expect(await openConnections()).toBe(0));
});

describe('a server that stops', () => {
  async function stop(): Promise<void> {
    closing = server.close();
    await eventually(() => expect(server.server.listening).toBe(false));
  }

  test('sends the responses to all requests of a connection that it has handled', async () => {
    const client = new Client();
    client.socket.write(post('slow') + post('one'));
    await untilHandled('slow', 'one');
    await stop();
    release();
    await client.closed;
    expect(client.responses).toBe('200 slow 200 one');
  });

  test('refuses what arrives behind a request in progress, after the response to that', async () => {
    const client = new Client();
    client.socket.write(post('slow'));
    await untilHandled('slow');
    await stop();
    client.socket.write(post('one'));
    await eventually(() => expect(arrived).toBe(2));
    release();
    await client.closed;
    expect(client.responses).toBe('200 slow 503');
    expect(handled).toEqual(['slow']);
  });
});

test('a client that closes its direction has hung up, so its requests get no response', async () => {
  const client = new Client();
  client.socket.end(post('slow'));
  await untilHandled('slow');
  await client.closed;
  release();
  expect(client.responses).toBe('');
});

function openConnections(): Promise<number> {
  return new Promise((resolve, reject) =>
    server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
