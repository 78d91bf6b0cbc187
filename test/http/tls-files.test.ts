import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { followTlsFiles, isHttps } from '../../src/http/listen.ts';
import { createServer, type Server } from '../../src/http/server.ts';
import { createIdentity, type Identity } from '../connection/certificates.ts';
import { eventually } from '../support/eventually.ts';

const first = createIdentity('first.example');
const second = createIdentity('second.example');

let folder: string;
let server: Server;
let stop: () => void;
let replaced: number;
let errors: unknown[];

const files = () => ({ certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-tls-'));
  write('cert', first);
  write('key', first);
  server = createServer({
    log: { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} },
    tls: files(),
  });
  await server.listen({ port: 0 });
  if (!isHttps(server.server)) throw new Error('serves no HTTPS');
  [replaced, errors] = [0, []];
  stop = followTlsFiles(server.server, files(), {
    everyMs: 5,
    onReplaced: () => replaced++,
    onError: (error) => errors.push(error),
  });
});
afterEach(async () => {
  stop();
  await server.close();
  rmSync(folder, { recursive: true });
});

function write(which: 'cert' | 'key', identity: Identity): void {
  writeFileSync(join(folder, `${which}.pem`), identity[which]);
}

/** The name on the certificate that a new connection receives. */
function shownName(): Promise<string> {
  const { port } = server.server.address() as { port: number };
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('a renewed certificate is served to new connections without a restart', async () => {
  expect(await shownName()).toBe('first.example');
  write('cert', second);
  write('key', second);
  await eventually(() => expect(replaced).toBe(1));
  expect(await shownName()).toBe('second.example');
  expect(errors).toEqual([]);
});

test('unusable files are reported once, the last good ones remain in use, and the next good ones are loaded', async () => {
  write('cert', second); // with the key of the first
  await eventually(() => expect(errors).toHaveLength(1));
  expect(await shownName()).toBe('first.example');
  rmSync(files().keyFile);
  await eventually(() => expect(errors).toHaveLength(2));
  expect(await shownName()).toBe('first.example');
  write('key', second);
  await eventually(() => expect(replaced).toBe(1));
  expect(await shownName()).toBe('second.example');
  expect(errors).toHaveLength(2);
});

test('no client before TLS 1.2 is served, neither at first nor after a renewal', async () => {
  write('cert', second);
  write('key', second);
  await eventually(() => expect(replaced).toBe(1));
  const { port } = server.server.address() as { port: number };
  const refusal = await new Promise((resolve) => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...old }, () => resolve('served')).on(
      'error',
      ({ code }: { code?: string }) => resolve(code),
    );
  });
  expect(refusal).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
});
