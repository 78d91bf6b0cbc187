import { generateKeyPairSync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { CompactEncrypt, compactDecrypt, importJWK } from 'jose';
import { describe, expect, test } from 'vitest';
import { type CardDataPublicKey, READER_TAGS } from '../../schemas/card-data.ts';
import { createCardDataSealer } from '../../src/card/sample-tap.ts';
import { encodeTlv, indexTlv } from '../../src/codecs/emv/tlv.ts';
import { BINDING, digestOf, freshKeyRing, openerOf, publicKeyOf, visaTap } from '../support/card-data.ts';

const ring = await freshKeyRing();
const opener = openerOf(ring);

/** References and devices as untrusted clients choose them, and TLV of any content. */
const bindings = fc
  .record({
    deviceInstallationId: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 }),
    merchantReference: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 }),
  })
  .filter(({ deviceInstallationId, merchantReference }) => deviceInstallationId !== merchantReference);
const values = fc.uint8Array({ maxLength: 300 });

describe.each(['X25519', 'P-256'] as const)('with a %s key, the package jose', (curve) => {
  const recipient = publicKeyOf(ring, curve);

  test('opens what the reference sealer seals', async () => {
    const { privateKey, publicKey } =
      curve === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const sealer = createCardDataSealer({ ...recipient, ...publicKey.export({ format: 'jwk' }) } as CardDataPublicKey);
    await fc.assert(
      fc.asyncProperty(bindings, values, async (binding, value) => {
        const sealed = sealer.seal(new Map([...visaTap(), [0x9f7c, value]]), binding);
        const compact = Buffer.from(sealed.paymentCardData, 'base64');
        const { plaintext, protectedHeader } = await compactDecrypt(compact, privateKey);
        const payment = indexTlv(plaintext);
        expect(Buffer.from(payment.value(0x9f7c)!)).toEqual(Buffer.from(value));
        expect(Buffer.from(payment.value(READER_TAGS.generalDigest)!)).toEqual(
          digestOf(Buffer.from(sealed.generalCardData, 'base64')).value,
        );
        expect(Object.keys(protectedHeader).sort()).toEqual(['alg', 'apu', 'apv', 'enc', 'epk', 'kid']);
      }),
      { numRuns: 150 },
    );
  });

  test('seals what the gateway opens', async () => {
    const publicKey = await importJWK(recipient);
    await fc.assert(
      fc.asyncProperty(bindings, values, async (binding, value) => {
        const general = encodeTlv([{ tag: 0x9f02, value: randomBytes(6) }]);
        const plaintext = encodeTlv([{ tag: 0x9f7c, value }, digestOf(general)]);
        const compact = await new CompactEncrypt(plaintext)
          .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: recipient.kid })
          .setKeyManagementParameters({
            apu: Buffer.from(binding.deviceInstallationId),
            apv: Buffer.from(binding.merchantReference),
          })
          .encrypt(publicKey);
        const opened = await opener.open({
          ...binding,
          generalCardData: Buffer.from(general).toString('base64'),
          paymentCardData: Buffer.from(compact).toString('base64'),
        });
        expect(Buffer.from(opened.payment.value(0x9f7c)!)).toEqual(Buffer.from(value));
        expect(Buffer.from(opened.bytes.payment)).toEqual(Buffer.from(plaintext));
        expect(Buffer.from(opened.bytes.general)).toEqual(Buffer.from(general));
      }),
      { numRuns: 150 },
    );
  });
});

describe('a reader', () => {
  const recipient = publicKeyOf(ring, 'X25519');
  const epkOf = ({ paymentCardData }: { paymentCardData: string }): string => {
    const [header] = Buffer.from(paymentCardData, 'base64').toString('latin1').split('.', 1);
    return JSON.parse(Buffer.from(header!, 'base64url').toString()).epk.x;
  };

  test('uses a new ephemeral key for each tap, unless it keeps one for its session', () => {
    const each = createCardDataSealer(recipient);
    const session = createCardDataSealer(recipient, { keepEphemeral: true });
    expect(epkOf(each.seal(visaTap(), BINDING))).not.toBe(epkOf(each.seal(visaTap(), BINDING)));
    expect(epkOf(session.seal(visaTap(), BINDING))).toBe(epkOf(session.seal(visaTap(), BINDING)));
  });

  test('puts nothing of the card into the open blob', () => {
    const sealed = createCardDataSealer(recipient).seal(visaTap(), BINDING);
    const general = indexTlv(Buffer.from(sealed.generalCardData, 'base64'));
    for (const tag of [0x57, 0x5a, 0x5f24, 0x5f34, 0x9f26, 0x9f10, READER_TAGS.pinBlock, READER_TAGS.ksn]) {
      expect(general.has(tag)).toBe(false);
    }
  });

  test('seals the PIN block and its KSN', async () => {
    const pin = { block: Buffer.alloc(8, 0xa5), ksn: Buffer.from('FFFF9876543210E00001', 'hex') };
    const { general, payment } = await opener.open(createCardDataSealer(recipient).seal(visaTap(pin), BINDING));
    expect(payment.hex(READER_TAGS.pinBlock)).toBe('A5A5A5A5A5A5A5A5');
    expect(payment.hex(READER_TAGS.ksn)).toBe('FFFF9876543210E00001');
    expect(payment.hex(0x9f34)).toBe('420300');
    expect(general.has(READER_TAGS.pinBlock)).toBe(false);
  });
});
