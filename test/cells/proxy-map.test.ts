import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setBackend, withFileLock } from '../../src/tools/cells/proxy-map.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-proxy-map-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The runtime API of HAProxy 2.6, as far as maps go. */
async function startRuntime(entries: Map<string, string>, socket: string) {
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connection.on('data', (chunk) => {
      const [verb, , , host = '', backend = ''] = chunk.toString().trim().split(' ');
      if (verb === 'show') connection.end([...entries].map(([key, value]) => `0x55 ${key} ${value}\n`).join(''));
      else if (verb === 'set' && !entries.has(host)) connection.end('entry not found.\n');
      else {
        entries.set(host, backend);
        connection.end('\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return server;
}

test('an acquirer’s hosts are changed in the file and in the running proxy, and other hosts are kept', async () => {
  const map = join(folder, 'cells.map');
  const socket = join(folder, 'admin.sock');
  writeFileSync(map, 'a1.example cell-a\na12.example cell-a\n');
  const running = new Map([
    ['a1.example', 'cell-a'],
    ['a12.example', 'cell-a'],
  ]);
  const server = await startRuntime(running, socket);
  const settings = { map, sockets: [socket], hosts: ['a{acquirer}.example', 'A{acquirer}.other.example'] };
  await setBackend(settings, 1, 'cell-b');
  await setBackend(settings, 1, 'cell-b'); // may be repeated
  server.close();
  const expected = { 'a12.example': 'cell-a', 'a1.example': 'cell-b', 'a1.other.example': 'cell-b' };
  expect(Object.fromEntries(running)).toEqual(expected);
  const lines = readFileSync(map, 'utf8').trim().split('\n');
  expect(Object.fromEntries(lines.map((line) => line.split(' ')))).toEqual(expected);
});

test('a running proxy that does not respond is named, so that the move is continued', async () => {
  const settings = {
    map: join(folder, 'cells.map'),
    sockets: [join(folder, 'no.sock')],
    hosts: ['a{acquirer}.example'],
  };
  await expect(setBackend(settings, 1, 'cell-b')).rejects.toThrow('no.sock does not respond');
});

test('commands that move different acquirers at the same time all change the map', async () => {
  const map = join(folder, 'cells.map');
  const settings = { map, sockets: [], hosts: ['a{acquirer}.example'] };
  const ids = Array.from({ length: 20 }, (_, at) => at + 1);
  await Promise.all(ids.map((id) => setBackend(settings, id, `cell-${id}`)));
  const lines = readFileSync(map, 'utf8').trim().split('\n');
  expect(new Set(lines)).toEqual(new Set(ids.map((id) => `a${id}.example cell-${id}`)));
});

test('a lock that a dead command has left is named, with what to do', async () => {
  const path = join(folder, 'cells.map');
  writeFileSync(`${path}.lock`, 'host-1 4711');
  await expect(withFileLock(path, async () => {}, 2)).rejects.toThrow(/process host-1 4711 .* remove the lock/);
  rmSync(`${path}.lock`);
  expect(await withFileLock(path, async () => 'changed')).toBe('changed');
  expect(await withFileLock(path, async () => 'again')).toBe('again');
});
