import { describe, expect, test } from 'vitest';
import { CardError } from '../../src/basics/errors.ts';
import { cryptogramType, decideOnline } from '../../src/codecs/emv/cryptogram.ts';
import { type ChipObject, tapOf } from './tap-of.ts';

const CRYPTOGRAM: ChipObject = [0x9f26, '1122334455667788'];
const TRACK2: ChipObject = [0x57, '4111111111111111D2512201'];

describe('decideOnline', () => {
  test('an ARQC is sent online, with any low bits', () => {
    for (const information of ['80', '88', 'BF']) {
      expect(decideOnline(tapOf(CRYPTOGRAM, [0x9f27, information]))).toBe('goOnline');
    }
  });

  test("an AAC is the card's own decline and is not sent", () => {
    expect(decideOnline(tapOf(CRYPTOGRAM, [0x9f27, '00']))).toBe('declinedOffline');
    expect(cryptogramType(tapOf([0x9f27, '3F']))).toBe('AAC');
  });

  test.each<[string, ChipObject[], string]>([
    ['a TC', [CRYPTOGRAM, [0x9f27, '40']], 'APPROVED_OFFLINE'],
    ['the reserved fourth value', [CRYPTOGRAM, [0x9f27, 'C0']], 'CRYPTOGRAM_RFU'],
    ['9F27 of no byte', [CRYPTOGRAM, [0x9f27, '']], 'CRYPTOGRAM_RFU'],
    ['9F27 of two bytes', [CRYPTOGRAM, [0x9f27, '8000']], 'CRYPTOGRAM_RFU'],
    ['a cryptogram without a known type', [CRYPTOGRAM, TRACK2], 'CRYPTOGRAM_MISSING'],
    ['nothing of a card', [[0x9f02, '000000001000']], 'CRYPTOGRAM_MISSING'],
    ['a track without a cryptogram', [TRACK2], 'MAGSTRIPE_MODE'],
    ["Mastercard's magstripe track", [[0x9f6b, '4111111111111111D2512201']], 'MAGSTRIPE_MODE'],
    ['track 1 alone', [[0x56, '42']], 'MAGSTRIPE_MODE'],
  ])('%s is refused', (_, objects, code) => {
    const decide = () => decideOnline(tapOf(...objects));
    expect(decide).toThrow(CardError);
    expect(decide).toThrow(expect.objectContaining({ code }));
  });

  test('two different cryptogram information values are refused, in either order', () => {
    for (const [first, second] of [
      ['80', '00'],
      ['00', '80'],
    ] as const) {
      expect(() => decideOnline(tapOf([0x9f27, first], [0x9f27, second]))).toThrow(
        expect.objectContaining({ code: 'CONFLICTING_VALUES' }),
      );
    }
  });
});
