import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SealError } from '../../src/basics/errors.ts';
import { createCardVault } from '../../src/card/card-vault.ts';
import { sealBytes } from '../../src/card/seal-bytes.ts';
import { freshKeyRing, freshSecretKey, secretKeysOf } from '../support/card-data.ts';

const ID = '7d8f4d1e-3f53-4a0f-9a3e-3f8f5c9d2b10';
const OTHER_ID = '7d8f4d1e-3f53-4a0f-9a3e-3f8f5c9d2b11';
const CARD = { pan: '4111111111111111', expiry: '3112', original: { stan: '000123', mti: '0200' } };
const ring = await freshKeyRing();
const vault = createCardVault(ring);

/** A card without fields. */
const ENCODED = '\u0001\u0000\u000241\u0000\u00043112';

function sealText(plaintext: string): Uint8Array {
  return sealBytes(ring.panSealing, { purpose: 'card', owner: ID }, Buffer.from(plaintext, 'latin1'));
}

describe('a stored card', () => {
  test('opens for its transaction and for no other', () => {
    const sealed = vault.seal(ID, CARD);
    expect(vault.open(ID, sealed)).toEqual(CARD);
    expect(() => vault.open(OTHER_ID, sealed)).toThrow(new SealError('SEAL_BROKEN'));
  });

  test('is opened once for its expiry, which is then cached', () => {
    const sealed = createCardVault(ring).seal(ID, CARD);
    const reading = createCardVault(ring);
    expect(() => reading.expiryOf(OTHER_ID, sealed)).toThrow(SealError);
    expect(reading.expiryOf(ID, sealed)).toBe(CARD.expiry);
    expect(reading.expiryOf(ID, new Uint8Array())).toBe(CARD.expiry);
  });

  test('reveals neither the PAN nor that it was sealed before', () => {
    const [first, second] = [vault.seal(ID, CARD), vault.seal(ID, CARD)];
    expect(Buffer.from(first).toString('latin1')).not.toContain(CARD.pan);
    expect(Buffer.compare(first, second)).not.toBe(0);
  });

  test('opens after its key was rotated, until that key is removed from the ring', () => {
    const [old, current] = [freshSecretKey('pan-old'), freshSecretKey('pan-new')];
    const sealed = createCardVault({ ...ring, panSealing: secretKeysOf(old) }).seal(ID, CARD);
    expect(createCardVault({ ...ring, panSealing: secretKeysOf(current, old) }).open(ID, sealed)).toEqual(CARD);
    const withoutOld = createCardVault({ ...ring, panSealing: secretKeysOf(current) });
    expect(() => withoutOld.open(ID, sealed)).toThrow(new SealError('KEY_GONE'));
  });

  test('does not open if any one bit is inverted, and the error quotes nothing', () => {
    const sealed = vault.seal(ID, CARD);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const turned = Uint8Array.from(sealed);
      turned[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => vault.open(ID, turned)).toThrow(/^(SEAL_BROKEN|KEY_GONE)$/);
    }
  });

  test('does not open if it is truncated anywhere', () => {
    const sealed = vault.seal(ID, CARD);
    for (let length = 0; length < sealed.length; length++) {
      expect(() => vault.open(ID, sealed.subarray(0, length))).toThrow(SealError);
    }
  });

  test('does not open as anything but a card', () => {
    const others = [
      '',
      '{"pan":7}',
      JSON.stringify(CARD),
      '\u0001',
      '\u0001\u0000\u0003411',
      `${ENCODED}\u00ff`,
      `${ENCODED}\u0001\u0000\u0009`,
    ];
    for (const other of others) expect(() => vault.open(ID, sealText(other))).toThrow(new SealError('SEAL_BROKEN'));
    expect(vault.open(ID, sealText(ENCODED))).toEqual({ pan: '41', expiry: '3112', original: {} });
  });

  test('takes little more than its values', () => {
    const original = { mti: '0200', transmissionDateTime: '1122134500', acceptorNameLocation: 'COFFEE', ownField: 'x' };
    const overhead = vault.seal(ID, { ...CARD, original }).length - vault.seal(ID, { ...CARD, original: {} }).length;
    expect(overhead).toBe(4 + 10 + 6 + 1 + 4 * 3 + 'ownField'.length + 2);
  });

  test('lacks a field without a value, as a processor in plain JavaScript may give it', () => {
    const original = { ...CARD.original, panSequence: undefined } as never;
    expect(vault.open(ID, vault.seal(ID, { ...CARD, original }))).toEqual(CARD);
  });

  test('is refused above 8 KB', () => {
    expect(() => vault.seal(ID, { ...CARD, original: { field: 'x'.repeat(8_192) } })).toThrow(
      new SealError('TOO_LARGE'),
    );
  });

  test('opens to the sealed value, with any content', () => {
    const texts = fc.record({
      pan: fc.string(),
      expiry: fc.string(),
      original: fc.dictionary(fc.stringMatching(/^[a-z][A-Za-z0-9]*$/), fc.string()),
    });
    fc.assert(
      fc.property(texts, (card) => {
        expect(vault.open(ID, vault.seal(ID, card))).toEqual(card);
      }),
      { numRuns: 200 },
    );
  });

  test('a stored card from any bytes is a card or a SealError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => vault.open(ID, bytes)).toThrow(SealError);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a PAN's hash", () => {
  test('is the same for the same PAN, names its key and depends on it', () => {
    const hash = vault.hashPan(CARD.pan);
    expect(hash).toBe(vault.hashPan(CARD.pan));
    expect(hash).toMatch(new RegExp(`^${ring.panHash.current.id}:[A-Za-z0-9_-]{43}$`));
    expect(hash).not.toBe(vault.hashPan('5413330089010640'));
    const other = createCardVault({
      ...ring,
      panHash: secretKeysOf({ ...freshSecretKey(''), id: ring.panHash.current.id }),
    });
    expect(other.hashPan(CARD.pan)).not.toBe(hash);
  });

  test('is searched for with every key, newest first', () => {
    const [old, current] = [freshSecretKey('hash-old'), freshSecretKey('hash-new')];
    const before = createCardVault({ ...ring, panHash: secretKeysOf(old) }).hashPan(CARD.pan);
    const rotated = createCardVault({ ...ring, panHash: secretKeysOf(current, old) });
    expect(rotated.panHashes(CARD.pan)).toEqual([rotated.hashPan(CARD.pan), before]);
    for (const hash of [before, rotated.hashPan(CARD.pan)]) expect(rotated.isHashOf(hash, CARD.pan)).toBe(true);
    expect(rotated.isHashOf(before, '5413330089010640')).toBe(false);
  });
});
