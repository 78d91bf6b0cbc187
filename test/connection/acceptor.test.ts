import net from 'node:net';
import tls from 'node:tls';
import { describe, expect, test } from 'vitest';
import { listenForSwitch, type ServerTls } from '../../src/switching/connection/acceptor.ts';
import { createIdentity } from './certificates.ts';
import { eventThat, isSilent, ToySwitch, WatchedPool } from './toy-switch.ts';

async function open(options: { from?: string[]; maxConnections?: number; tls?: ServerTls } = {}) {
  const server = await listenForSwitch({ host: '127.0.0.1', port: 0 }, options.tls);
  const { port } = server.address() as net.AddressInfo;
  const accept = { server, from: options.from, maxConnections: options.maxConnections ?? 4 };
  const watched = new WatchedPool({ accept });
  return { watched, server, port };
}

describe('a switch that connects to the gateway', () => {
  test('is sent requests on its connection', async () => {
    const { watched, port } = await open({ from: ['127.0.0.1'] });
    expect(watched.pool.availability).toBe('down');
    const toy = new ToySwitch();
    toy.adopt(net.connect(port, '127.0.0.1'));
    await watched.untilReady();
    expect(await watched.ask('1', 'hello')).toMatchObject({ kind: 'responded', response: { text: 'hello' } });
  });

  test('is not connected to after it has left, and is removed', async () => {
    const { watched, port } = await open();
    const socket = net.connect(port, '127.0.0.1');
    await watched.untilReady();
    const down = watched.untilState('down');
    socket.destroy();
    await down;
    watched.clock.advance(3_600_000);
    expect(watched.pool.stats).toMatchObject({ down: 0, connecting: 0, reconnects: 0 });
  });

  test('is refused if it connects from elsewhere', async () => {
    const { watched, port } = await open({ from: ['192.0.2.1'] });
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    await eventThat(socket, 'close');
    expect(watched.pool.stats).toMatchObject({ ready: 0, connecting: 0 });
  });

  test('has at most its allowed number of connections', async () => {
    const { watched, port } = await open({ maxConnections: 1 });
    const first = net.connect(port, '127.0.0.1');
    await watched.untilReady();
    const second = net.connect(port, '127.0.0.1');
    second.on('error', () => {});
    await eventThat(second, 'close');
    expect(watched.pool.stats.ready).toBe(1);
    first.destroy();
  });

  test('is not kept out by strangers that connect and say nothing', async () => {
    const { cert, key } = createIdentity('gateway');
    const { watched, port } = await open({ maxConnections: 1, tls: { cert, key } });
    const strangers = Array.from({ length: 100 }, () => net.connect(port, '127.0.0.1'));
    let closed = 0;
    for (const stranger of strangers) stranger.on('error', () => {}).on('close', () => closed++);
    await Promise.all(strangers.map((stranger) => stranger.connecting && eventThat(stranger, 'connect')));
    const toy = new ToySwitch();
    toy.adopt(tls.connect({ port, rejectUnauthorized: false }));
    await watched.untilReady();
    expect(await watched.ask('1', 'hello')).toMatchObject({ kind: 'responded' });
    expect(closed).toBeGreaterThanOrEqual(60);
    for (const stranger of strangers) stranger.destroy();
  });

  test.each([['over TCP'], ['over TLS']])('is reset %s when its request is given up', async (over) => {
    const identity = createIdentity('gateway');
    const isTls = over === 'over TLS';
    const { watched, port } = await open(isTls ? { tls: { cert: identity.cert, key: identity.key } } : {});
    const toy = new ToySwitch(isSilent);
    const dialled = isTls ? tls.connect({ port, rejectUnauthorized: false }) : net.connect(port, '127.0.0.1');
    const ended = eventThat(dialled, 'error');
    toy.adopt(dialled);
    await watched.untilReady();
    const result = watched.ask('1');
    await eventThat(toy, 'note');
    watched.pool.destroy();
    expect(await result).toMatchObject({ written: true, reason: 'closed' });
    expect(await ended).toMatchObject({ code: 'ECONNRESET' });
  });

  test('remains connected if others cannot be accepted because the process has no room for them', async () => {
    const { watched, server, port } = await open();
    const toy = new ToySwitch();
    toy.adopt(net.connect(port, '127.0.0.1'));
    await watched.untilReady();
    const logged = eventThat<{ code?: string }>(watched, 'log', ({ code }) => code === 'EMFILE');
    server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    expect(await logged).toMatchObject({ code: 'EMFILE' });
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
  });

  test('finds no listener after the pool is closed', async () => {
    const { watched, port } = await open();
    const socket = net.connect(port, '127.0.0.1');
    await watched.untilReady();
    await watched.pool.close(watched.in(1_000));
    if (!socket.destroyed) await eventThat(socket, 'close');
    expect(await eventThat(net.connect(port, '127.0.0.1'), 'error')).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('authenticates with a certificate if one is required', async () => {
    const authority = createIdentity('Test authority');
    const ours = createIdentity('gateway', authority);
    const theirs = createIdentity('switch', authority);
    const { watched, port } = await open({ tls: { cert: ours.cert, key: ours.key, ca: authority.cert } });

    const nobody = tls.connect({ port, host: '127.0.0.1', ca: authority.cert });
    nobody.on('error', () => {});
    await eventThat(nobody, 'close');
    expect(watched.pool.stats.ready).toBe(0);

    const toy = new ToySwitch();
    toy.adopt(tls.connect({ port, host: '127.0.0.1', ca: authority.cert, cert: theirs.cert, key: theirs.key }));
    await watched.untilReady();
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
  });
});

describe('listening for a switch', () => {
  test('fails with the reason of the system if the address is in use', async () => {
    const { port } = await open();
    await expect(listenForSwitch({ host: '127.0.0.1', port })).rejects.toThrow(
      expect.objectContaining({ code: 'EADDRINUSE' }),
    );
  });
});
