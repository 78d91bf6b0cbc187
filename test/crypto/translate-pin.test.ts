import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import type { EncipheredPin, TranslatePinRequest } from '../../src/codecs/crypto/hsm.ts';
import { decipherPin, encipherPin, type OnlinePinFormat, parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { blockKey, type KeyId, newHsm, READER_PAN, readerPin } from './test-keys.ts';

const PAN = '4111111111111111';
const hsm = newHsm();
const refusal = (code: CryptoError['code']) => new CryptoError(code);

const from = (keyId: KeyId, format: OnlinePinFormat, pin: string, pan = PAN): EncipheredPin => {
  return { keyId, format, block: encipherPin(format, parsePin(pin), pan, blockKey(keyId)) };
};

test('a published block of a DUKPT reader arrives under a zone key in formats 0 and 3, under an AES zone key in 4', async () => {
  for (const [keyId, format] of [
    ['zone', 0],
    ['zone', 3],
    ['aesZone', 4],
  ] as const) {
    const { block, ksn } = await hsm.translatePin({ from: readerPin, to: { keyId, format }, pan: READER_PAN });
    expect(decipherPin(format, block, READER_PAN, blockKey(keyId)).reveal().join('')).toBe('1234');
    expect(ksn).toBeUndefined();
  }
});

test('a published block of an AES DUKPT reader arrives under a zone key', async () => {
  const ksn = fromHex('123456789012345600000001');
  const block = fromHex('A912150391AB65A67E52883D81CE2D15');
  const translated = await hsm.translatePin({
    from: { keyId: 'aesBdk', ksn, format: 4, block },
    to: { keyId: 'zone', format: 0 },
    pan: PAN,
  });
  expect(decipherPin(0, translated.block, PAN, blockKey('zone')).reveal().join('')).toBe('1234');
});

test('a PIN is sent under DUKPT with the requested KSN, which opens it again', async () => {
  const outward = [
    { keyId: 'tdesBdk', ksn: fromHex('FFFF9876543210EFF801'), format: 0 },
    { keyId: 'aesBdk', ksn: fromHex('1234567890123456FFFF0000'), format: 4 },
    { keyId: 'aes256Bdk', ksn: fromHex('123456789012345600020001'), format: 4 },
    { keyId: 'aes256Bdk', ksn: fromHex('123456789012345600020001'), format: 4, keyType: 'AES128' },
    { keyId: 'aesBdk', ksn: fromHex('123456789012345600020001'), format: 3, keyType: '2TDEA' },
  ] as const;
  for (const to of outward) {
    const { block, ksn } = await hsm.translatePin({ from: from('zone', 0, '98765'), to, pan: PAN });
    expect(ksn).toEqual(to.ksn);
    const back = await hsm.translatePin({ from: { ...to, block }, to: { keyId: 'zone', format: 0 }, pan: PAN });
    expect(decipherPin(0, back.block, PAN, blockKey('zone')).reveal().join('')).toBe('98765');
  }
});

test('any PIN can be translated from any format to any allowed format', async () => {
  const pins = fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 4, maxLength: 12 })
    .map((digits) => digits.join(''));
  const keyFor = (format: OnlinePinFormat) => (format === 4 ? 'aesZone' : 'zone');
  await fc.assert(
    fc.asyncProperty(pins, fc.constantFrom(0, 1, 3, 4), fc.constantFrom(0, 3, 4), async (pin, source, target) => {
      const { block } = await hsm.translatePin({
        from: from(keyFor(source), source, pin),
        to: { keyId: keyFor(target), format: target },
        pan: PAN,
      });
      expect(
        decipherPin(target, block, PAN, blockKey(keyFor(target)))
          .reveal()
          .join(''),
      ).toBe(pin);
    }),
  );
});

test('no PIN is translated to format 1 or 2, from any format', async () => {
  for (const source of [0, 1, 3] as const) {
    for (const format of [1, 2, 5, -1]) {
      const to = { keyId: 'zone', format } as unknown as TranslatePinRequest['to'];
      const translated = hsm.translatePin({ from: from('zone', source, '1234'), to, pan: PAN });
      await expect(translated).rejects.toThrow(refusal('PIN_BLOCK'));
    }
  }
});

test('every fault of a block gives the same error', async () => {
  const to = { keyId: 'zone', format: 0 } as const;
  const good = from('zone', 0, '1234');
  const wrong: [EncipheredPin, string][] = [
    [{ ...good, block: blockKey('zone').encrypt(fromHex('0312310000000000')) }, PAN],
    [{ ...good, block: new Uint8Array(8) }, PAN],
    [{ ...good, block: new Uint8Array(0) }, PAN],
    [{ ...good, block: new Uint8Array(16) }, PAN],
    [{ ...good, format: 3 }, PAN],
    [{ ...good, format: 2 as 0, block: blockKey('zone').encrypt(fromHex('241234FFFFFFFFFF')) }, PAN],
    [{ ...good, keyId: 'aesZone', format: 4, block: new Uint8Array(16) }, PAN],
    [good, '5413330089010640'],
    [good, '411111'],
    [{ ...readerPin, ksn: fromHex('FFFF9876543210E00002') }, READER_PAN],
  ];
  const texts = new Set<string>();
  for (const [source, pan] of wrong) {
    const error = await hsm.translatePin({ from: source, to, pan }).catch((thrown: unknown) => thrown);
    texts.add(JSON.stringify({ text: String(error), ...(error as CryptoError) }));
  }
  const one = refusal('PIN_BLOCK');
  expect([...texts]).toEqual([JSON.stringify({ text: String(one), ...one })]);
});

test('a KSN of another length or with an impossible counter is refused', async () => {
  for (const ksn of ['', 'FFFF9876543210E000', 'FFFF9876543210E00000', '123456789012345600000001']) {
    const translated = hsm.translatePin({
      from: { ...readerPin, ksn: fromHex(ksn) },
      to: { keyId: 'zone', format: 0 },
      pan: READER_PAN,
    });
    await expect(translated).rejects.toThrow(refusal('KSN'));
  }
});

test('keys are used only for their purpose', async () => {
  const good = from('zone', 0, '1234');
  const attempts: [EncipheredPin, TranslatePinRequest['to']][] = [
    [
      { ...good, keyId: 'mac' },
      { keyId: 'zone', format: 0 },
    ],
    [
      { ...good, keyId: 'tdesBdk' },
      { keyId: 'zone', format: 0 },
    ],
    [good, { keyId: 'kek', format: 0 }],
    [good, { keyId: 'zone', format: 4 }],
    [good, { keyId: 'aesZone', format: 0 }],
    [good, { keyId: 'zone', ksn: fromHex('FFFF9876543210E00001'), format: 0 }],
    [good, { keyId: 'aesBdk', ksn: fromHex('123456789012345600000001'), format: 0 }],
  ];
  for (const [source, to] of attempts) {
    await expect(hsm.translatePin({ from: source, to, pan: PAN })).rejects.toThrow(refusal('KEY_USAGE'));
  }
  const unknown = hsm.translatePin({
    from: { ...good, keyId: 'toString' },
    to: { keyId: 'zone', format: 0 },
    pan: PAN,
  });
  await expect(unknown).rejects.toThrow(refusal('KEY_UNKNOWN'));
});
