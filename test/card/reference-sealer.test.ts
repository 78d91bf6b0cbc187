import { createPrivateKey, diffieHellman, type KeyObject, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { compactDecrypt, importJWK } from 'jose';
import { describe, expect, test } from 'vitest';
import { READER_TAGS } from '../../schemas/card-data.ts';
import { sealCardData } from '../../schemas/seal-card-data.ts';
import { CardDataError } from '../../src/basics/errors.ts';
import { indexTlv } from '../../src/codecs/emv/tlv.ts';
import { BINDING, freshKeyRing, openerOf, publicKeyOf, visaTap } from '../support/card-data.ts';

const ring = await freshKeyRing();
const opener = openerOf(ring);

describe.each(['X25519', 'P-256'] as const)('the reference sealer with a %s key', (curve) => {
  const recipient = publicKeyOf(ring, curve);

  test('seals what the gateway opens, byte for byte', async () => {
    const tap = visaTap();
    const sealed = await sealCardData(recipient, tap, BINDING);
    expect(sealed.merchantReference).toBe(BINDING.merchantReference);
    const { general, payment } = await opener.open({ ...BINDING, ...sealed });
    for (const [tag, value] of tap) {
      expect(Buffer.from((general.value(tag) ?? payment.value(tag))!), tag.toString(16)).toEqual(Buffer.from(value));
    }
    // Track 2 is only in the sealed blob.
    expect(general.value(0x57)).toBeUndefined();
    expect(payment.value(0x57)).toBeDefined();
  });

  test('accepts values of any length, and references of any text', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        text,
        text,
        fc.constantFrom(0, 1, 127, 128, 255, 256, 300),
        async (reference, device, length) => {
          const value = randomBytes(length);
          const binding = { deviceInstallationId: `d${device}`, merchantReference: `m${reference}` };
          const sealed = await sealCardData(recipient, new Map([...visaTap(), [0x9f7c, value]]), binding);
          const { payment } = await opener.open({ ...binding, ...sealed });
          expect(Buffer.from(payment.value(0x9f7c)!)).toEqual(value);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('binds the blobs to the device and the reference', async () => {
    const sealed = await sealCardData(recipient, visaTap(), BINDING);
    for (const other of [{ deviceInstallationId: 'another' }, { merchantReference: 'another' }]) {
      await expect(opener.open({ ...BINDING, ...sealed, ...other })).rejects.toThrow(CardDataError);
    }
  });
});

interface SealedSample {
  readonly name: string;
  readonly privateKey: {
    readonly kid: string;
    readonly crv: 'X25519' | 'P-256';
    readonly kty: string;
    readonly x: string;
    readonly d: string;
  };
  readonly deviceInstallationId: string;
  readonly merchantReference: string;
  readonly values: Readonly<Record<string, string>>;
  readonly generalCardData: string;
  readonly paymentCardData: string;
}

const file = new URL('../vectors/card-data/sealed-taps.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: SealedSample[] };

describe('the sealed samples for kernel teams', () => {
  test.each(
    cases,
  )('$name: an independent JWE library opens it, and finds the values that were read', async (sample) => {
    const key = await importJWK(sample.privateKey as never, 'ECDH-ES');
    const compact = Buffer.from(sample.paymentCardData, 'base64').toString();
    const { plaintext, protectedHeader } = await compactDecrypt(compact, key);
    expect(protectedHeader.kid).toBe(sample.privateKey.kid);
    expect(protectedHeader.apu).toBe(Buffer.from(sample.deviceInstallationId).toString('base64url'));
    expect(protectedHeader.apv).toBe(Buffer.from(sample.merchantReference).toString('base64url'));
    const general = indexTlv(Buffer.from(sample.generalCardData, 'base64'));
    const payment = indexTlv(plaintext);
    for (const [tag, hex] of Object.entries(sample.values)) {
      const value = general.value(Number.parseInt(tag, 16)) ?? payment.value(Number.parseInt(tag, 16));
      expect(Buffer.from(value!).toString('hex').toUpperCase(), tag).toBe(hex);
    }
    expect(payment.value(READER_TAGS.generalDigest)).toHaveLength(32);
  });

  test.each(cases)('$name: the gateway opens it', async (sample) => {
    const privateKey = createPrivateKey({ key: sample.privateKey, format: 'jwk' });
    const { kid, crv } = sample.privateKey;
    const ofCurve = ring.cardDataKey(publicKeyOf(ring, crv).kid)!;
    const own = { ...ofCurve, kid, agree: (publicKey: KeyObject) => diffieHellman({ privateKey, publicKey }) };
    const keys = { ...ring, cardDataKey: (asked: string) => (asked === kid ? own : undefined) };
    const { payment } = await openerOf(keys).open(sample);
    expect(Buffer.from(payment.value(0x57)!).toString('hex').toUpperCase()).toBe(sample.values['57']);
  });
});
