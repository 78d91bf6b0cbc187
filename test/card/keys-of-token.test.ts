import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { HsmUnavailable, TokenError } from '../../src/basics/errors.ts';
import { createKeyRing, rotateKeys } from '../../src/card/change-key-ring.ts';
import { InstallationKeys } from '../../src/card/installation-keys.ts';
import type { CardDataKey } from '../../src/card/key-ring.ts';
import type { KeyToken } from '../../src/card/key-ring-file.ts';
import { openLiveKeyRing } from '../../src/card/live-key-ring.ts';
import type { EphemeralKey } from '../../src/kits/reader-kit/reader-format.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('a key that the token lacks is a fault of the installation, not of the card data', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const epk = publicKey.export({ format: 'jwk' }) as EphemeralKey;
  const agree = () => Promise.reject(new TokenError('KEY_MISSING'));
  const key = { kid: 'card-1', curve: 'P-256', retireAtMs: Number.POSITIVE_INFINITY, agree } as unknown as CardDataKey;
  const ring = { cardDataKey: () => key, publicCardDataKeys: () => ({ keys: [] }) } as never;
  const keys = new InstallationKeys({ keys: ring, nowMs: Date.now, readerHsm: undefined });
  await expect(keys.agree({ kid: 'card-1' }, epk)).rejects.toThrow(HsmUnavailable);
});

test('a rotation is followed when the key reaches the token later than the file', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-keys-of-token-'));
  const path = join(folder, 'keys.json');
  await createKeyRing(path);
  let isThere = false;
  const token = {
    createSecret: async () => {},
    seal: async (_id: string, plaintext: Uint8Array) => Buffer.concat([randomBytes(12), plaintext, randomBytes(16)]),
    openNow: (_id: string, sealed: Uint8Array) => {
      if (!isThere) throw new TokenError('KEY_MISSING');
      return Buffer.from(sealed.subarray(12, 44));
    },
  } as unknown as KeyToken;
  const ring = await openLiveKeyRing(path, () => {}, token);
  const { added } = await rotateKeys(path, 'pan-sealing', { nowMs: Date.now(), retireAfterMs: 0, token });
  vi.advanceTimersByTime(1_000);
  expect(ring.panSealing.find(added[0]!)).toBeUndefined();
  isThere = true;
  vi.advanceTimersByTime(31_000);
  expect(ring.panSealing.find(added[0]!)).toMatchObject({ id: added[0] });
  ring.close();
  rmSync(folder, { recursive: true });
});
