import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isPrivateFile } from '../../src/basics/files/change-file.ts';
import { createKeyRing } from '../../src/card/change-key-ring.ts';
import type { Config } from '../../src/start/config.ts';
import { tlsFiles } from '../../src/start/open-front.ts';
import { openKeyRing } from '../../src/start/open-key-ring.ts';

test.each([
  'qa',
  'prod',
] as const)('%s does not start with a key file that other users can read', async (environment) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-private-'));
  try {
    const path = join(folder, 'keys.json');
    await createKeyRing(path);
    const open = async () => {
      const config = { TAPWIRE_ENV: environment, TAPWIRE_KEYS_FILE: path, TAPWIRE_DATA: folder } as Config;
      (await openKeyRing(config)).close();
    };
    await open();
    chmodSync(path, 0o644);
    await expect(open()).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/TAPWIRE_KEYS_FILE: other users can access .* \(mode 644\).* Run: chmod 600/),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each(['qa', 'prod'] as const)('%s does not start with a TLS key that other users can read', (environment) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-private-'));
  try {
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(keyFile, 'a private key', { mode: 0o600 });
    const config = { TAPWIRE_ENV: environment, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } as Config;
    expect(tlsFiles(config)).toEqual({ certFile, keyFile });
    chmodSync(keyFile, 0o644);
    expect(() => tlsFiles(config)).toThrow(/TLS_KEY_FILE: other users can access .* \(mode 644\).* Run: chmod 600/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a mounted secret of root is private if only the group of the process reads it', () => {
  const uid = process.getuid!() + 1;
  expect(isPrivateFile({ uid, mode: 0o100440 })).toBe(true);
  expect(isPrivateFile({ uid, mode: 0o100444 })).toBe(false);
  expect(isPrivateFile({ uid: process.getuid!(), mode: 0o100440 })).toBe(false);
});
