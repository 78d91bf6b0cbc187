import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CardError } from '../../src/basics/errors.ts';
import { isLuhnValid, maskPan, parsePan, parseTrack2, readCard } from '../../src/codecs/emv/card.ts';
import { type ChipObject, tapOf } from './tap-of.ts';

const PAN = '5413330089010640';
const TRACK2: ChipObject = [0x57, `${PAN}D2512201000000000F`];
const PAN_5A: ChipObject = [0x5a, PAN];
const OTHER_PAN: ChipObject = [0x5a, '4111111111111111'];

/** The code with which a card is refused. */
function refusal(...objects: ChipObject[]): string {
  try {
    readCard(tapOf(...objects));
  } catch (error) {
    if (error instanceof CardError) return error.code;
    throw error;
  }
  return 'accepted';
}

describe('readCard', () => {
  test('reads PAN, expiry and service code from track 2', () => {
    const card = readCard(tapOf(TRACK2, [0x5f34, '01']));
    expect(card.pan).toBe(PAN);
    expect(card.expiry).toBe('2512');
    expect(card.serviceCode).toBe('201');
    expect(card.sequenceNumber).toBe('001');
    expect(card.track2!.text('D')).toBe(`${PAN}D2512201000000000`);
    expect(card.track2!.text('=')).toBe(`${PAN}=2512201000000000`);
  });

  test('reads PAN and expiry from 5A and 5F24 if there is no track 2', () => {
    const card = readCard(tapOf(PAN_5A, [0x5f24, '251231']));
    expect([card.pan, card.expiry]).toEqual([PAN, '2512']);
    expect([card.track2, card.serviceCode, card.sequenceNumber]).toEqual([undefined, undefined, undefined]);
  });

  test('prefers the expiry of track 2 to that of 5F24', () => {
    expect(readCard(tapOf(TRACK2, [0x5f24, '301231'])).expiry).toBe('2512');
  });

  test("does not judge an expiry: long past or not a month is the issuer's to decline", () => {
    expect(readCard(tapOf([0x57, `${PAN}D0099 2FF`])).expiry).toBe('0099');
  });

  test('accepts 57 and 5A that agree, and the same value twice', () => {
    expect(readCard(tapOf(TRACK2, [0x5a, `${PAN}FFFF`], TRACK2)).pan).toBe(PAN);
  });

  test('accepts a PAN with an odd number of digits, padded with F', () => {
    expect(readCard(tapOf([0x5a, '378282246310005F'])).pan).toBe('378282246310005');
  });

  test.each<[string, ChipObject[], string]>([
    ['no PAN at all', [[0x9f27, '80']], 'PAN_MISSING'],
    ['5A that is another PAN than 57', [TRACK2, OTHER_PAN], 'PAN_MISMATCH'],
    ['5A that is the beginning of 57', [TRACK2, [0x5a, PAN.slice(0, 14)]], 'PAN_MISMATCH'],
    ['a PAN with a wrong check digit', [[0x5a, '5413330089010641']], 'PAN_LUHN'],
    ['a PAN of 7 digits', [[0x5a, '4111111F']], 'PAN_MALFORMED'],
    ['a PAN of 20 digits', [[0x5a, '54133300890106405413']], 'PAN_MALFORMED'],
    ['a PAN with a hex digit', [[0x5a, '541333008901064A']], 'PAN_MALFORMED'],
    ['a PAN with padding inside', [[0x5a, '5413F30089010640']], 'PAN_MALFORMED'],
    ['an empty 5A', [[0x5a, '']], 'PAN_MALFORMED'],
    ['an empty 57', [[0x57, '']], 'TRACK2_MALFORMED'],
    ['track 2 without a separator', [[0x57, PAN]], 'TRACK2_MALFORMED'],
    ['track 2 with two separators', [[0x57, `${PAN}D2512 D2012`]], 'TRACK2_MALFORMED'],
    ['track 2 without an expiry', [[0x57, `${PAN}D251`]], 'TRACK2_MALFORMED'],
    ['track 2 with padding inside', [[0x57, `${PAN}D2512F01`]], 'TRACK2_MALFORMED'],
    ['track 2 of 38 characters', [[0x57, `${PAN}D${'2'.repeat(21)}`]], 'TRACK2_TOO_LONG'],
    ['track 2 of 48 bytes', [[0x57, '12'.repeat(48)]], 'TRACK2_TOO_LONG'],
    ['5F24 that is not digits', [PAN_5A, [0x5f24, '25123A']], 'EXPIRY_MALFORMED'],
    ['5F24 of two bytes', [PAN_5A, [0x5f24, '2512']], 'EXPIRY_MALFORMED'],
    ['5F34 that is not digits', [TRACK2, [0x5f34, '0A']], 'SEQUENCE_NUMBER_MALFORMED'],
    ['5F34 of two bytes', [TRACK2, [0x5f34, '0001']], 'SEQUENCE_NUMBER_MALFORMED'],
    ['an empty 5F34', [TRACK2, [0x5f34, '']], 'SEQUENCE_NUMBER_MALFORMED'],
  ])('refuses %s', (_, objects, code) => {
    expect(refusal(...objects)).toBe(code);
  });

  test('refuses two different tracks or PANs', () => {
    const otherTrack2: ChipObject = [0x57, `${PAN}D2612201`];
    expect(() => readCard(tapOf(TRACK2, otherTrack2))).toThrow(
      expect.objectContaining({ code: 'CONFLICTING_VALUES', tag: 0x57 }),
    );
    expect(() => readCard(tapOf(PAN_5A, OTHER_PAN))).toThrow(
      expect.objectContaining({ code: 'CONFLICTING_VALUES', tag: 0x5a }),
    );
  });

  test('no error contains digits of the card', () => {
    for (const objects of [[[0x5a, '5413330089010641']], [[0x57, PAN]], [TRACK2, OTHER_PAN]] as ChipObject[][]) {
      try {
        readCard(tapOf(...objects));
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(CardError);
        expect(`${(error as Error).stack}${inspect(error)}${JSON.stringify(error)}`).not.toMatch(/54133300|41111111/);
      }
    }
  });
});

describe('a printed card', () => {
  const card = readCard(tapOf(TRACK2, [0x5f34, '01']));

  test.each([
    ['console.log', (value: unknown) => inspect(value, { depth: 9, showHidden: true })],
    ['JSON', (value: unknown) => JSON.stringify({ value })],
    ['a template', (value: unknown) => `${value}`],
  ])('shows the masked PAN and nothing else in %s', (_, print) => {
    expect(print(card)).toContain('541333******0640');
    expect(print(card)).not.toMatch(/541333008|2512/);
    expect(print(card.track2)).toContain('[track 2]');
    expect(print(card.track2)).not.toContain('5413');
  });
});

describe('parseTrack2', () => {
  test('accepts either separator, and any padding at the end', () => {
    for (const text of [`${PAN}D2512201`, `${PAN}=2512201`, `${PAN}D2512201FFF`]) {
      const track = parseTrack2(text);
      expect([track.pan, track.expiry, track.serviceCode]).toEqual([PAN, '2512', '201']);
    }
  });

  test('accepts at most 37 characters, not counting padding', () => {
    const longest = `${PAN}D${'2'.repeat(20)}`;
    expect(parseTrack2(`${longest}F`).text('=')).toHaveLength(37);
    expect(() => parseTrack2(`${longest}2`)).toThrow(expect.objectContaining({ code: 'TRACK2_TOO_LONG' }));
  });

  test('a track that ends after the expiry has no service code', () => {
    expect(parseTrack2(`${PAN}D2512`).serviceCode).toBeUndefined();
    expect(parseTrack2(`${PAN}D251220`).serviceCode).toBeUndefined();
  });

  test('any text is a track or a CardError', () => {
    const texts = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789DF='), maxLength: 60 }));
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(parseTrack2(text).text('D').length).toBeLessThanOrEqual(37);
        } catch (error) {
          if (!(error instanceof CardError)) throw error;
        }
      }),
    );
  });
});

describe('maskPan', () => {
  test.each([
    ['4111111111111111', '411111******1111'],
    ['6799990100000000019', '679999*********0019'],
    ['4222222222222', '422222***2222'],
    ['411111111111', '********1111'],
    ['41111111', '****1111'],
    ['4111', '****'],
    ['', ''],
  ])('%s is shown as %s', (pan, masked) => {
    expect(maskPan(pan)).toBe(masked);
  });
});

describe('isLuhnValid', () => {
  test.each([
    '4111111111111111',
    '5413330089010640',
    '378282246310005',
    '30569309025904',
    '6011111111111117',
    '0',
  ])('%s has a right check digit', (pan) => {
    expect(isLuhnValid(pan)).toBe(true);
  });

  test('changing any one digit makes the check digit wrong', () => {
    for (let position = 0; position < PAN.length; position++) {
      for (let step = 1; step <= 9; step++) {
        const digit = (Number(PAN[position]) + step) % 10;
        expect(isLuhnValid(PAN.slice(0, position) + digit + PAN.slice(position + 1))).toBe(false);
      }
    }
  });

  test('an empty PAN is not valid', () => {
    expect(isLuhnValid('')).toBe(false);
    expect(() => parsePan('')).toThrow(CardError);
  });
});
