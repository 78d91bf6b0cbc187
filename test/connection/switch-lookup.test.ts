import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { guardedLookup, type MayDial } from '../../src/outbound/switch-lookup.ts';
import { dialSwitch } from '../../src/switching/connection/switch-socket.ts';

const isPublic: MayDial = (address) => !address.startsWith('127.') && address !== '::1';

function lookUp(addresses: readonly string[], all: boolean): Promise<unknown> {
  const resolve = (_name: string, _options: object, done: (error: null, found: never) => void) =>
    done(null, addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })) as never);
  const lookup = guardedLookup(9101, isPublic, resolve);
  return new Promise((settle, refuse) => {
    lookup('switch.example', { all }, (error, found) => (error ? refuse(error) : settle(found)));
  });
}

describe('the addresses of a host name', () => {
  test('are those that were checked', async () => {
    expect(await lookUp(['8.8.8.8', '2606:4700::1111'], true)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ]);
    expect(await lookUp(['8.8.8.8'], false)).toBe('8.8.8.8');
  });

  test.each([
    [['127.0.0.1']],
    [['8.8.8.8', '127.0.0.1']],
    [['8.8.8.8', '::1']],
  ])('%j are refused', async (addresses) => {
    for (const all of [true, false])
      await expect(lookUp(addresses, all)).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
  });
});

describe('a connection', () => {
  let server: Server;
  let port: number;
  let connections = 0;
  beforeEach(async () => {
    connections = 0;
    server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as { port: number });
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  // `localhost` resolves to this machine, as any host name in a tenant's own zone can at any time.
  test.each(['localhost', '127.0.0.1'])('a connection to %s is not opened if it is not allowed', async (host) => {
    const asked: string[] = [];
    const { stream } = dialSwitch({ host, port }, undefined, (address) => {
      asked.push(address);
      return false;
    });
    const error = await new Promise((resolve) => stream.once('error', resolve));
    expect(error).toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(asked[0]).toMatch(/^(127\.0\.0\.1|::1)$/);
    expect(connections).toBe(0);
  });

  test.each(['localhost', '127.0.0.1'])('a connection to %s is opened if it is allowed', async (host) => {
    const { stream } = dialSwitch({ host, port }, undefined, () => true);
    stream.on('error', () => {});
    await new Promise((resolve) => stream.once('connect', resolve));
    stream.destroy();
  });
});
