import tls from 'node:tls';
import { describe, expect, test } from 'vitest';
import type { SwitchTls } from '../../src/switching/connection/switch-socket.ts';
import { createIdentity } from './certificates.ts';
import { ask, eventThat, ToySwitch, WatchedPool } from './toy-switch.ts';

const authority = createIdentity('Test authority');
const switchIdentity = createIdentity('switch', authority);
const gateway = createIdentity('gateway', authority);
const stranger = createIdentity('Another authority');

const ours: SwitchTls = { ca: authority.cert, serverName: 'localhost' };

function secureSwitch(options: tls.TlsOptions = {}): ToySwitch {
  const server = tls.createServer({ cert: switchIdentity.cert, key: switchIdentity.key, ...options });
  server.on('tlsClientError', () => {});
  return new ToySwitch(undefined, { server });
}

async function poolTo(toy: ToySwitch, secure: SwitchTls): Promise<WatchedPool> {
  return new WatchedPool({ addresses: [await toy.listen()], tls: secure });
}

describe('TLS to a switch', () => {
  test('carries requests after the switch has authenticated', async () => {
    const toy = secureSwitch();
    const watched = await (await poolTo(toy, ours)).untilReady();
    expect(await watched.ask('1', 'sealed')).toMatchObject({ kind: 'responded', response: { text: 'sealed' } });
    const { socket } = toy.peer;
    expect((socket as tls.TLSSocket).getProtocol()).toMatch(/^TLSv1\.[23]$/);
  });

  test('verifies the address in the certificate if no name is configured', async () => {
    const watched = await (await poolTo(secureSwitch(), { ca: authority.cert })).untilReady();
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
  });

  test.each([
    [
      'whose authority is not trusted',
      { ca: stranger.cert, serverName: 'localhost' },
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
    ['that has another name', { ca: authority.cert, serverName: 'switch.example' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('is not used with a switch %s', async (_, secure, detail) => {
    const watched = await poolTo(secureSwitch(), secure);
    const request = watched.ask('1');
    expect((await watched.untilState('down')).reason).toEqual({ cause: 'socketError', detail });
    expect(await request).toMatchObject({ kind: 'refused' });
  });

  test('is not used in a version below 1.2', async () => {
    const watched = await poolTo(
      secureSwitch({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }),
      ours,
    );
    expect((await watched.untilState('down')).reason).toMatchObject({ cause: 'socketError' });
  });

  test('is given up in time if the other side never completes the handshake', async () => {
    const toy = new ToySwitch();
    const watched = await poolTo(toy, ours);
    await eventThat(toy, 'peer');
    const down = watched.untilState('down');
    watched.clock.advance(5_010);
    expect((await down).reason).toEqual({ cause: 'connectTimeout' });
  });
});

describe('TLS to a switch that does not read', () => {
  test('is reset with all it holds when a deadline passes while the bytes of its request are unsent', async () => {
    const toy = secureSwitch();
    const watched = new WatchedPool({
      addresses: [await toy.listen()],
      tls: ours,
      limits: { inFlight: 1_000, unsentBytes: 2 ** 30 },
    });
    await watched.untilReady();
    await toy.untilPeers(1);
    toy.peer.socket.pause();
    for (let n = 0; n < 600; n++) void watched.ask(`${n}`, 'x'.repeat(60_000));
    const last = watched.request(ask('last'), watched.in(5_000));
    await new Promise(setImmediate);
    const down = watched.untilState('down');
    watched.clock.advance(5_010);
    expect(await last).toMatchObject({ kind: 'failed', written: true, reason: 'deadline' });
    expect((await down).reason).toEqual({ cause: 'unsentAtDeadline' });
    const failed = eventThat(toy.peer.socket, 'error');
    toy.peer.socket.resume();
    expect(await failed).toMatchObject({ code: 'ECONNRESET' });
    expect(toy.notes.map(({ key }) => key)).not.toContain('last');
  });
});

describe('mutual TLS to a switch', () => {
  const mutual = { requestCert: true, rejectUnauthorized: true, ca: authority.cert };

  test('presents the gateway’s certificate', async () => {
    const toy = secureSwitch(mutual);
    const watched = await (await poolTo(toy, { ...ours, cert: gateway.cert, key: gateway.key })).untilReady();
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
    expect((toy.peer.socket as tls.TLSSocket).getPeerCertificate().subject.CN).toBe('gateway');
  });

  test.each([
    ['without a certificate', ours],
    ['with a certificate of another authority', { ...ours, cert: stranger.cert, key: stranger.key }],
  ])('is refused by the switch %s, and no request receives a response', async (_, secure) => {
    const watched = await poolTo(secureSwitch(mutual), secure);
    expect(await watched.untilState('down')).toMatchObject({ reason: { cause: expect.any(String) } });
    expect(watched.pool.stats.responded).toBe(0);
  });
});
