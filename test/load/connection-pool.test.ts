import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ConnectionPool } from '../../src/tools/load/connection-pool.ts';

/** A server that responds to each request with 200, and the pool of connections to it. */
async function poolTo(onConnection: (socket: Socket, number: number) => void) {
  let number = 0;
  const server = createServer((socket) => {
    onConnection(socket, ++number);
    socket.on('error', () => {}).on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, isTls: false };
  const pool = new ConnectionPool({ target, kept: 1, most: 2, isNewEach: false, maxIdleMs: 60_000 });
  onTestFinished(() => {
    pool.close();
    server.close();
  });
  expect(await pool.fill()).toBeUndefined();
  return pool;
}

function statusOn(pool: ConnectionPool): Promise<number | string> {
  const connection = pool.take()!;
  return new Promise((resolve) => {
    connection.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'), (end) => {
      pool.putBack(connection);
      resolve(end.kind === 'responded' ? end.status : end.reason);
    });
  });
}

test('a response that no request asked for is not taken for that of the next one', async () => {
  const sockets: Socket[] = [];
  const pool = await poolTo((socket) => sockets.push(socket));
  const [first] = sockets;
  first!.end('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n');
  await once(first!, 'close');
  expect(await statusOn(pool)).toBe(200);
  expect(sockets).toHaveLength(2);
});

test('a connection that has never been used is not used after the time that servers allow for the first request', async () => {
  let connections = 0;
  const pool = await poolTo(() => connections++);
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 9_000);
  onTestFinished(() => now.mockRestore());
  expect(await statusOn(pool)).toBe(200);
  expect(connections).toBe(2);
  now.mockReturnValue(performance.now() + 9_000);
  expect(await statusOn(pool)).toBe(200);
  expect(connections).toBe(2);
});
