import { expect, test } from 'vitest';
import { SealError } from '../../src/basics/errors.ts';
import { createSecretVault, createWebhookSecret } from '../../src/webhooks/webhook-signature.ts';
import { freshKeyRing, freshSecretKey, secretKeysOf } from '../support/card-data.ts';

const ENDPOINT = '7d8f4d1e-3f53-4a0f-9a3e-3f8f5c9d2b10';
const OTHER = '7d8f4d1e-3f53-4a0f-9a3e-3f8f5c9d2b11';
const ring = await freshKeyRing();
const secret = createWebhookSecret();

test('a secret opens for its endpoint and for no other', () => {
  const vault = createSecretVault(ring);
  const sealed = vault.seal(ENDPOINT, secret);
  expect(vault.open(ENDPOINT, sealed).reveal()).toBe(secret.reveal());
  expect(() => vault.open(OTHER, sealed)).toThrow(new SealError('SEAL_BROKEN'));
  expect(Buffer.from(sealed).toString('latin1')).not.toContain('whsec_');
});

test('a secret survives a rotation of the key that sealed it, until that key is removed', () => {
  const [old, current] = [freshSecretKey('old'), freshSecretKey('new')];
  const sealed = createSecretVault({ webhookSealing: secretKeysOf(old) }).seal(ENDPOINT, secret);
  const rotated = createSecretVault({ webhookSealing: secretKeysOf(current, old) });
  expect(rotated.open(ENDPOINT, sealed).reveal()).toBe(secret.reveal());
  expect(() => createSecretVault({ webhookSealing: secretKeysOf(current) }).open(ENDPOINT, sealed)).toThrow(
    new SealError('KEY_GONE'),
  );
});

test.each([[[]], [[1]], [[1, 200, 1, 2]], [[2, 1, 65]]])('bytes that were never sealed do not open: %j', (bytes) => {
  expect(() => createSecretVault(ring).open(ENDPOINT, Uint8Array.from(bytes))).toThrow(SealError);
});
