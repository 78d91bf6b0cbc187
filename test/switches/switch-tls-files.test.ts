import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dialSwitch } from '../../src/switching/connection/switch-socket.ts';
import { SwitchTlsFiles } from '../../src/switching/switches/transport-options.ts';
import { createIdentity, type Identity } from '../connection/certificates.ts';
import { eventually } from '../support/eventually.ts';

const authority = createIdentity('Test authority');
const theirs = createIdentity('switch', authority);
const first = createIdentity('first', authority);
const renewed = createIdentity('renewed', authority);

let root: string;
let folder: string;
let files: SwitchTlsFiles;
let lines: string[];
let replaced: number;

const names = { caFile: 'ca.pem', certFile: 'cert.pem', keyFile: 'key.pem', serverName: 'localhost' };
const log = {
  info: (_: object, text: string) => lines.push(text),
  warn: (_: object, text: string) => lines.push(text),
};

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'tapwire-switch-tls-'));
  folder = join(root, '1');
  mkdirSync(folder);
  writeFileSync(join(folder, 'ca.pem'), authority.cert);
  write(first);
  [lines, replaced] = [[], 0];
  files = await SwitchTlsFiles.read(names, folder, 'processor 1');
  files.follow(log, () => replaced++, 5);
});
afterEach(() => {
  files.close();
  rmSync(root, { recursive: true });
});

function write({ cert, key }: Identity): void {
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
}

/** The name on the certificate that the gateway presents with a new connection. */
async function presentedName(): Promise<string> {
  const server = tls.createServer({ ...theirs, ca: authority.cert, requestCert: true, rejectUnauthorized: true });
  const peer = new Promise<string>((resolve) => {
    server.once('secureConnection', (socket) => resolve(String(socket.getPeerCertificate().subject.CN)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const socket = dialSwitch({ host: '127.0.0.1', port }, files);
  try {
    return await peer;
  } finally {
    socket.destroy();
    server.close();
  }
}

test('a renewed client certificate is presented with the next connection', async () => {
  expect(await presentedName()).toBe('first');
  write(renewed);
  await eventually(() => expect(replaced).toBe(1));
  expect(await presentedName()).toBe('renewed');
  expect(files.certificates).toMatchObject([{ use: 'own' }, { use: 'authority' }]);
});

test('a certificate without its key changes nothing, until the key follows', async () => {
  writeFileSync(join(folder, 'cert.pem'), renewed.cert);
  await eventually(() => expect(lines).toEqual([expect.stringContaining('previous files remain in use')]));
  expect(await presentedName()).toBe('first');
  writeFileSync(join(folder, 'key.pem'), renewed.key);
  await eventually(() => expect(replaced).toBe(1));
  expect(await presentedName()).toBe('renewed');
});

test('a file that leads out of the folder of the acquirer is not read later either', async () => {
  mkdirSync(join(root, '2'));
  writeFileSync(join(root, '2', 'key.pem'), first.key);
  rmSync(join(folder, 'key.pem'));
  symlinkSync(join(root, '2', 'key.pem'), join(folder, 'key.pem'));
  await eventually(() => expect(lines).toEqual([expect.stringContaining('previous files remain in use')]));
  expect(replaced).toBe(0);
});

test('a server to which the switch connects presents the renewed certificate', async () => {
  const server = tls.createServer(files.context);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });
  expect(await shown()).toBe('first');
  write(renewed);
  await eventually(() => expect(replaced).toBe(1));
  server.setSecureContext(files.context);
  expect(await shown()).toBe('renewed');
  server.close();
});
