import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CardDataPublicKey, READER_TAGS } from '../../schemas/card-data.ts';
import { CardDataError, HsmUnavailable } from '../../src/basics/errors.ts';
import type { KeyRing } from '../../src/card/key-ring.ts';
import type { RefusedCardData } from '../../src/card/open-card-data.ts';
import { createCardDataSealer } from '../../src/card/sample-tap.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { encodeTlv } from '../../src/codecs/emv/tlv.ts';
import { loadReaders } from '../../src/kits/reader-kit/load-readers.ts';
import { freshSampleKeys } from '../../src/kits/reader-kit/sample-keys.ts';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { HsmCalls } from '../../src/switching/hsm/hsm-calls.ts';
import { anyText } from '../support/any-text.ts';
import { BINDING, digestOf, freshKeyRing, openerOf, publicKeyOf, sealMadeUp, visaTap } from '../support/card-data.ts';

const ring = await freshKeyRing();
const otherRing = await freshKeyRing();
const x25519 = publicKeyOf(ring, 'X25519');
const p256 = publicKeyOf(ring, 'P-256');
const GENERAL = encodeTlv([{ tag: 0x9f02, value: Buffer.from('000000001000', 'hex') }]);
const DIGEST = digestOf(GENERAL);
const TRACK2 = { tag: 0x57, value: Buffer.from('4111111111111111D31122010000000000', 'hex') };
const PLAINTEXT = encodeTlv([TRACK2, DIGEST]);

/** The refusal that the caller receives, and the reason that the operator receives. */
async function refusalOf(
  sealed: TapRequest,
  { keys = ring, ...options }: Parameters<typeof openerOf>[1] & { keys?: KeyRing } = {},
): Promise<RefusedCardData['reason'][]> {
  const reasons: RefusedCardData['reason'][] = [];
  const opener = openerOf(keys, { onRefused: ({ reason }) => reasons.push(reason), ...options });
  let caught: unknown;
  try {
    await opener.open(sealed);
  } catch (error) {
    caught = error;
  }
  expect(caught).toBeInstanceOf(CardDataError);
  expect(caught).toMatchObject({ code: 'CARD_DATA_UNREADABLE' });
  expect(caught).not.toHaveProperty('cause');
  expect((caught as Error).message).toBe('CARD_DATA_UNREADABLE');
  return reasons;
}

function madeUp(header: Record<string, unknown>, recipient: CardDataPublicKey = x25519): TapRequest {
  return sealMadeUp(recipient, { general: GENERAL, plaintext: PLAINTEXT, header });
}

/** Changes the parts of a blob's compact JWE and joins them again. */
function withParts(sealed: TapRequest, change: (parts: string[]) => string[]): TapRequest {
  const parts = Buffer.from(sealed.paymentCardData, 'base64').toString('latin1').split('.');
  return { ...sealed, paymentCardData: Buffer.from(change(parts).join('.')).toString('base64') };
}

describe.each(['X25519', 'P-256'] as const)('a blob sealed for a %s key', (curve) => {
  const recipient = publicKeyOf(ring, curve);
  const sealer = createCardDataSealer(recipient);
  const opener = openerOf(ring);

  test('opens to the sealed values, and states which half each came in', async () => {
    const values = visaTap();
    const { general, payment } = await opener.open(sealer.seal(values, BINDING));

    for (const [tag, value] of values) {
      const found = general.value(tag) ?? payment.value(tag);
      expect(Buffer.from(found!)).toEqual(Buffer.from(value));
    }
    expect(general.hex(0x9f02)).toBe('000000001000');
    expect(general.has(0x57)).toBe(false);
    expect(payment.has(0x9f02)).toBe(false);
  });

  test('opens repeatedly for one ephemeral key, each reference with its own content key', async () => {
    const session = createCardDataSealer(recipient, { keepEphemeral: true });
    for (let tap = 0; tap < 5; tap++) {
      const binding = { ...BINDING, merchantReference: `order-${tap}` };
      const { payment } = await opener.open(session.seal(visaTap(), binding));
      expect(payment.hex(0x57)).toMatch(/^4111111111111111D3112/);
    }
  });

  test('reuses no secret across keys: the same ephemeral key is refused with a kid that now names another key', async () => {
    const session = createCardDataSealer(recipient, { keepEphemeral: true });
    let keys: Pick<KeyRing, 'cardDataKey' | 'blobHmac'> = ring;
    const reasons: RefusedCardData['reason'][] = [];
    const followed = { ...ring, cardDataKey: (kid: string) => keys.cardDataKey(kid) };
    const renewed = openerOf(followed, { onRefused: ({ reason }) => reasons.push(reason) });
    await renewed.open(session.seal(visaTap(), BINDING));

    const other = otherRing.cardDataKey(publicKeyOf(otherRing, curve).kid);
    keys = { ...ring, cardDataKey: () => other };
    await expect(renewed.open(session.seal(visaTap(), BINDING))).rejects.toThrow(CardDataError);
    expect(reasons).toEqual(['decryption']);
  });

  test('cannot be replayed for another device or another reference', async () => {
    const sealed = sealer.seal(visaTap(), BINDING);
    expect(await refusalOf({ ...sealed, deviceInstallationId: 'another-phone' })).toEqual(['other-device']);
    expect(await refusalOf({ ...sealed, merchantReference: 'order-4712' })).toEqual(['other-reference']);
  });

  test('opens only for the merchant in its header, which no one can remove or replace', async () => {
    const merchant = { acquirerId: 1, merchantId: '1001' };
    await opener.open(sealer.seal(visaTap(), { ...BINDING, merchant }));
    const copied = sealer.seal(visaTap(), { ...BINDING, merchant: { ...merchant, merchantId: '1002' } });
    expect(await refusalOf(copied)).toEqual(['other-merchant']);
    const elsewhere = sealer.seal(visaTap(), { ...BINDING, merchant: { ...merchant, acquirerId: 2 } });
    expect(await refusalOf(elsewhere)).toEqual(['other-acquirer']);
    for (const other of [undefined, merchant]) {
      const forged = withParts(copied, ([first, ...rest]) => {
        const header = { ...JSON.parse(Buffer.from(first!, 'base64url').toString()), merchant: other };
        return [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest];
      });
      expect(await refusalOf(forged)).toEqual(['decryption']);
    }
  });

  test.each([
    ['without its acquirer', { merchantId: '1001' }],
    ['without an id', { acquirerId: 1 }],
    ['with another member', { acquirerId: 1, merchantId: '1001', name: 'x' }],
    ['with a number as its id', { acquirerId: 1, merchantId: 1001 }],
    ['that is a text', '1001'],
    ['that is null', null],
  ])('is refused with a merchant %s', async (_what, merchant) => {
    expect(await refusalOf(madeUp({ merchant }, recipient))).toEqual(['header']);
  });

  test('is refused without a merchant if the settings of the reader require one', async () => {
    const reader = { format: 'jwe', settings: { bindsMerchant: true } };
    const sealed = sealer.seal(visaTap(), BINDING);
    const refused: RefusedCardData[] = [];
    const strict = openerOf(ring, { onRefused: (each) => refused.push(each) });
    await expect(strict.open({ ...sealed, correlationId: 'c-1' }, reader)).rejects.toThrow(CardDataError);
    const about = { format: 'jwe', acquirerId: 1, merchantId: '1001', correlationId: 'c-1' };
    expect(refused).toEqual([{ ...about, reason: 'no-merchant' }]);
    await strict.open(sealer.seal(visaTap(), { ...BINDING, merchant: { acquirerId: 1, merchantId: '1001' } }), reader);
  });

  test('is refused if a bit of any part is inverted', async () => {
    const sealed = sealer.seal(visaTap(), BINDING);
    for (const part of [0, 2, 3, 4]) {
      const turned = withParts(sealed, (parts) => {
        const bytes = Buffer.from(parts[part]!, 'base64url');
        bytes[bytes.length >> 1]! ^= 0x01;
        return parts.with(part, bytes.toString('base64url'));
      });
      expect(await refusalOf(turned)).toHaveLength(1);
    }
  });

  test('is refused with a key that is not in the ring, and with the right kid of another ring', async () => {
    const foreign = publicKeyOf(otherRing, curve);
    expect(await refusalOf(createCardDataSealer(foreign).seal(visaTap(), BINDING))).toEqual(['unknown-key']);
    const misnamed = { ...foreign, kid: recipient.kid };
    expect(await refusalOf(createCardDataSealer(misnamed).seal(visaTap(), BINDING))).toEqual(['decryption']);
  });

  test('opens until its key retires and not a millisecond longer', async () => {
    const sealed = sealer.seal(visaTap(), BINDING);
    const key = { ...ring.cardDataKey(recipient.kid)!, retireAtMs: 5_000 };
    const keys = { ...ring, cardDataKey: () => key };
    const { payment } = await openerOf(keys, { nowMs: () => 4_999 }).open(sealed);
    expect(payment.has(0x57)).toBe(true);
    expect(await refusalOf(sealed, { keys, nowMs: () => 5_000 })).toEqual(['retired-key']);
  });
});

describe('the header of a blob', () => {
  test.each([
    ['alg', 'ECDH-ES+A256KW'],
    ['alg', 'dir'],
    ['alg', 'RSA-OAEP'],
    ['alg', 'PBES2-HS256+A128KW'],
    ['alg', 'none'],
    ['alg', undefined],
    ['alg', ['ECDH-ES']],
    ['enc', 'A128GCM'],
    ['enc', 'A128CBC-HS256'],
    ['enc', undefined],
  ])('is refused with %s %j', async (name, value) => {
    expect(await refusalOf(madeUp({ [name]: value }))).toEqual(['algorithm']);
  });

  test.each([
    ['zip', 'DEF'],
    ['crit', ['exp']],
    ['b64', false],
    ['p2c', 2_000_000_000],
    ['p2s', 'AAAA'],
    ['jku', 'https://example.com/keys'],
    ['jwk', {}],
    ['x5u', 'https://example.com/cert'],
    ['x5c', []],
    ['iv', 'AAAA'],
    ['tag', 'AAAA'],
    ['exp', 1],
  ])('is refused if it also holds %s, although the tag is right', async (name, value) => {
    expect(await refusalOf(madeUp({ [name]: value }))).toEqual(['header']);
  });

  test('may name its type and content type, which change nothing', async () => {
    const sealed = madeUp({ typ: 'JOSE', cty: 'octet-stream' });
    expect((await openerOf(ring).open(sealed)).payment.has(0x57)).toBe(true);
  });

  test.each([
    ['a path', '../../etc/passwd'],
    ['SQL', "' or 1=1 --"],
    ['a URL', 'https://example.com/key'],
    ['a property of objects', '__proto__'],
    ['nothing', ''],
    ['a number', 7],
    ['an object', {}],
    ['missing', undefined],
  ])('is refused if its kid is %s', async (_, kid) => {
    expect(await refusalOf(madeUp({ kid }))).toEqual(['unknown-key']);
  });

  test.each([
    ['missing', undefined],
    ['null', null],
    ['a text', 'AAAA'],
    ['an array', []],
    ['of another curve', { kty: 'EC', crv: 'P-256', x: p256.x, y: 'A'.repeat(43) }],
    ['of an unknown curve', { kty: 'OKP', crv: 'X448', x: x25519.x }],
    ['too short', { kty: 'OKP', crv: 'X25519', x: 'AAAA' }],
    ['too long', { kty: 'OKP', crv: 'X25519', x: 'A'.repeat(44) }],
    ['padded', { kty: 'OKP', crv: 'X25519', x: `${x25519.x}=` }],
    ['no text', { kty: 'OKP', crv: 'X25519', x: [x25519.x] }],
    ['carrying a private half', { kty: 'OKP', crv: 'X25519', x: x25519.x, d: x25519.x }],
    ['a point of order 1', { kty: 'OKP', crv: 'X25519', x: 'A'.repeat(43) }],
    ['a point of order 4', { kty: 'OKP', crv: 'X25519', x: `AQ${'A'.repeat(41)}` }],
  ])('is refused if its ephemeral key is %s', async (_, epk) => {
    expect(await refusalOf(madeUp({ epk }))).toEqual(['ephemeral-key']);
  });

  test('is refused if its ephemeral key is a point that is not on P-256', async () => {
    const { kty, crv, x } = p256;
    expect(await refusalOf(madeUp({ epk: { kty, crv, x, y: x } }, p256))).toEqual(['ephemeral-key']);
    expect(await refusalOf(madeUp({ epk: { kty, crv, x } }, p256))).toEqual(['ephemeral-key']);
  });

  test('is refused without apu and without apv', async () => {
    expect(await refusalOf(madeUp({ apu: undefined }))).toEqual(['header']);
    expect(await refusalOf(madeUp({ apv: undefined }))).toEqual(['header']);
  });

  test('is refused if apu and apv are the same (RFC 7518 4.6.2)', async () => {
    const binding = { deviceInstallationId: 'same', merchantReference: 'same' };
    expect(await refusalOf(createCardDataSealer(x25519).seal(visaTap(), binding))).toEqual(['header']);
  });

  test.each(['[]', 'null', '7', '"eyJ"', '{', '', '{"alg":"ECDH-ES"'])('is refused if it is %s', async (text) => {
    const sealed = withParts(madeUp({}), (parts) => parts.with(0, Buffer.from(text).toString('base64url')));
    expect(await refusalOf(sealed)).toEqual(['header']);
  });

  test('is refused above 4,096 characters', async () => {
    expect(await refusalOf(madeUp({ typ: 'x'.repeat(4_096) }))).toEqual(['header']);
  });
});

describe('the form of a blob', () => {
  const sealed = createCardDataSealer(x25519).seal(visaTap(), BINDING);
  const compact = Buffer.from(sealed.paymentCardData, 'base64').toString('latin1');

  test.each([
    ['no Base64', '!!!!'],
    ['Base64url', Buffer.from([0xfb, 0xff]).toString('base64url')],
    ['Base64 without its padding', sealed.paymentCardData.replace(/=+$/, '').slice(0, -1)],
    ['Base64 with a line break', `${sealed.paymentCardData.slice(0, 76)}\n${sealed.paymentCardData.slice(76)}`],
    ['Base64 with a blank', ` ${sealed.paymentCardData}`],
    ['Base64 whose unused bits are set', 'QR=='],
    ['beyond ASCII', 'é'.repeat(8)],
    ['nothing', ''],
  ])('is refused if it is %s', async (_, paymentCardData) => {
    expect(await refusalOf({ ...sealed, paymentCardData })).toEqual(['not-base64']);
    expect(await refusalOf({ ...sealed, generalCardData: paymentCardData })).toEqual(['not-base64']);
  });

  test.each([
    ['four parts', (parts: string[]) => parts.slice(0, 4)],
    ['six parts', (parts: string[]) => [...parts, 'AAAA']],
    ['an encrypted key', (parts: string[]) => parts.with(1, 'AAAA')],
    ['a short initialization vector', (parts: string[]) => parts.with(2, 'AAAA')],
    ['a short tag', (parts: string[]) => parts.with(4, parts[4]!.slice(0, 16))],
    ['no tag', (parts: string[]) => parts.with(4, '')],
    ['padding in a part', (parts: string[]) => parts.with(3, `${parts[3]}=`)],
    ['a part that is not Base64url', (parts: string[]) => parts.with(3, '+/+/')],
  ])('is refused with %s', async (_, change) => {
    expect(await refusalOf(withParts(sealed, change))).toEqual(['not-of-format']);
  });

  test('is refused as a JWE in JSON', async () => {
    const [header, , iv, ciphertext, tag] = compact.split('.');
    const json = JSON.stringify({ protected: header, iv, ciphertext, tag });
    expect(await refusalOf({ ...sealed, paymentCardData: Buffer.from(json).toString('base64') })).toEqual([
      'not-of-format',
    ]);
  });

  test('is refused for its length before anything is decoded', async () => {
    expect(await refusalOf({ ...sealed, paymentCardData: 'A'.repeat(98_308) })).toEqual(['too-large']);
    expect(await refusalOf({ ...sealed, generalCardData: 'A'.repeat(87_388) })).toEqual(['too-large']);
  });
});

describe('the combination of two blobs', () => {
  const opened = (general: Uint8Array, plaintext: Uint8Array) => sealMadeUp(x25519, { general, plaintext });
  test('is refused if the sealed digest is missing, of another blob, too short, or present twice with two values', async () => {
    const other = digestOf(Buffer.from('9F0100', 'hex'));
    const short = { tag: READER_TAGS.generalDigest, value: DIGEST.value.subarray(0, 31) };
    expect(await refusalOf(opened(GENERAL, encodeTlv([TRACK2])))).toEqual(['digest']);
    expect(await refusalOf(opened(GENERAL, encodeTlv([TRACK2, other])))).toEqual(['digest']);
    expect(await refusalOf(opened(GENERAL, encodeTlv([TRACK2, short])))).toEqual(['digest']);
    expect(await refusalOf(opened(GENERAL, encodeTlv([TRACK2, DIGEST, other])))).toEqual(['tlv']);
  });

  test('is refused if the open blob was exchanged after sealing', async () => {
    const sealed = createCardDataSealer(x25519).seal(visaTap(), BINDING);
    const cheaper = createCardDataSealer(x25519).seal(
      new Map([...visaTap(), [0x9f02, Buffer.from('000000000001', 'hex')]]),
      BINDING,
    );
    expect(await refusalOf({ ...sealed, generalCardData: cheaper.generalCardData })).toEqual(['digest']);
  });

  test('is refused if a tag is in both with two values, nested or not, first or later', async () => {
    const amount = (hex: string) => ({ tag: 0x9f02, value: Buffer.from(hex, 'hex') });
    const [ten, one] = [amount('000000001000'), amount('000000000001')];
    for (const [general, payment] of [
      [[ten], [one]],
      [[ten], [{ tag: 0x77, children: [one] }]],
      [[ten], [ten, one]],
      [[ten, one], [ten]],
    ]) {
      const open = encodeTlv(general!);
      expect(await refusalOf(opened(open, encodeTlv([...payment!, TRACK2, digestOf(open)])))).toEqual(['tags-differ']);
    }
  });

  test('is accepted if a tag is in both with one value, and if templates differ in a tag that only one of them has', async () => {
    const ten = { tag: 0x9f02, value: Buffer.from('000000001000', 'hex') };
    const open = encodeTlv([{ tag: 0x77, children: [ten] }]);
    const plaintext = encodeTlv([{ tag: 0x77, children: [ten, TRACK2] }, digestOf(open)]);
    const { payment } = await openerOf(ring).open(opened(open, plaintext));
    expect(payment.has(0x57)).toBe(true);
  });

  test('is refused if either is not TLV', async () => {
    const broken = Buffer.from('5A8480000000', 'hex');
    expect(await refusalOf(opened(broken, encodeTlv([TRACK2, digestOf(broken)])))).toEqual(['tlv']);
    expect(await refusalOf(opened(GENERAL, broken))).toEqual(['tlv']);
  });
});

describe('bare TLV', () => {
  const bare: TapRequest = {
    ...BINDING,
    generalCardData: Buffer.from(GENERAL).toString('base64'),
    paymentCardData: Buffer.from(encodeTlv([TRACK2])).toString('base64'),
  };

  test('is refused unless the opener was configured to accept it', async () => {
    expect(await refusalOf(bare)).toEqual(['not-of-format']);
  });

  test('opens if it is allowed, and sealed blobs still do', async () => {
    const opener = openerOf(ring, { allowBare: true });
    expect((await opener.open(bare)).payment.has(0x57)).toBe(true);
    const sealed = createCardDataSealer(x25519).seal(visaTap(), BINDING);
    expect((await opener.open(sealed)).payment.has(0x57)).toBe(true);
  });

  test('must match its digest, and equal tags must match', async () => {
    const withWrongDigest = encodeTlv([TRACK2, { ...DIGEST, value: Buffer.alloc(32) }]);
    const withOtherAmount = encodeTlv([TRACK2, { tag: 0x9f02, value: Buffer.alloc(6) }]);
    const submit = (payment: Uint8Array) =>
      refusalOf({ ...bare, paymentCardData: Buffer.from(payment).toString('base64') }, { allowBare: true });
    expect(await submit(withWrongDigest)).toEqual(['digest']);
    expect(await submit(withOtherAmount)).toEqual(['tags-differ']);
  });

  test('does not exempt a JWE from its digest', async () => {
    const sealed = sealMadeUp(x25519, { general: GENERAL, plaintext: encodeTlv([TRACK2]) });
    expect(await refusalOf(sealed, { allowBare: true })).toEqual(['digest']);
  });
});

describe('any input', () => {
  const text = fc.oneof(
    anyText(400),
    fc.base64String({ maxLength: 400 }),
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    fc
      .array(fc.oneof(fc.json(), fc.base64String()), { minLength: 4, maxLength: 6 })
      .map((parts) => parts.map((part) => Buffer.from(part).toString('base64url')).join('.'))
      .map((compact) => Buffer.from(compact).toString('base64')),
  );

  test.each([
    false,
    true,
  ])('any input as blobs is opened or refused with one error (bare TLV allowed: %s)', async (allowBare) => {
    const opener = openerOf(ring, { allowBare });
    await fc.assert(
      fc.asyncProperty(text, text, anyText(), async (generalCardData, paymentCardData, named) => {
        const binding = { deviceInstallationId: named, merchantReference: `${named}x` };
        try {
          await opener.open({ ...binding, generalCardData, paymentCardData });
        } catch (error) {
          expect(error).toBeInstanceOf(CardDataError);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('any input as a header over a sealed blob is refused with one error', async () => {
    const names = fc.constantFrom('alg', 'enc', 'kid', 'epk', 'apu', 'apv', 'zip', 'crit', '__proto__', 'typ');
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, fc.jsonValue(), { minKeys: 1, maxKeys: 4 }), async (header) => {
        fc.pre(Object.keys(header).some((name) => name !== 'typ'));
        expect(await refusalOf(madeUp(header))).toHaveLength(1);
      }),
      { numRuns: 200 },
    );
  });
});

test('an acquirer whose reader keys respond slowly keeps no tap of another acquirer out', async () => {
  const { baseKeys } = freshSampleKeys().ofReaders;
  const owned = baseKeys.flatMap((key) => [1, 2].map((owner) => ({ ...key, keyId: `acquirer/${owner}/${key.keyId}` })));
  const keys = owned.map(({ bytes, ...key }) => ({ ...key, usage: 'dukptBase' as const, bytes: new Secret(bytes) }));
  const hsm = new SoftHsm({ environment: 'qa', keys });
  const released = Promise.withResolvers<void>();
  const slow = {
    verifyDukptMac: async (request: Parameters<typeof hsm.verifyDukptMac>[0]) => {
      if (request.keyId.startsWith('acquirer/1/')) await released.promise;
      return hsm.verifyDukptMac(request);
    },
    decipherDukpt: hsm.decipherDukpt.bind(hsm),
  };
  const clock = { monotonicMs: () => 0 };
  const calls = new HsmCalls({ purpose: 'card data', clock, log: { warn: () => {} }, limitMs: 600_000 });
  const opener = openerOf(ring, { readerHsm: { hsm: slow, calls } });
  const dukpt = (await loadReaders()).get('dukpt')!;
  const tapOf = (acquirerId: number) => {
    const own = owned.find(({ keyId }) => keyId.startsWith(`acquirer/${acquirerId}/`))!;
    const [reader] = dukpt.sampleReaders({ publicKeys: [], baseKeys: [own] });
    const sealed = createCardDataSealer(reader!).seal(visaTap(), BINDING);
    return opener.open(sealed, { format: 'dukpt', settings: reader!.settings as Record<string, unknown> }, acquirerId);
  };
  const waiting = Array.from({ length: 600 }, () => tapOf(1));
  const ends = Promise.allSettled(waiting);
  await expect(Promise.any(waiting.map((tap) => tap.catch((error) => error)))).resolves.toBeInstanceOf(HsmUnavailable);
  await expect(tapOf(2)).resolves.toBeDefined();
  released.resolve();
  expect(Map.groupBy(await ends, ({ status }) => status).get('fulfilled')).toHaveLength(512);
});
