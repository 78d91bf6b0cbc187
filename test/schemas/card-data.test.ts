import { describe, expect, test } from 'vitest';
import {
  deviceInstallationId,
  generalCardData,
  MAX_GENERAL_CARD_DATA_CHARS,
  MAX_MERCHANT_REFERENCE_CHARS,
  MAX_PAYMENT_CARD_DATA_CHARS,
  merchantReference,
  paymentCardData,
} from '../../schemas/card-data.ts';

describe('a merchant reference', () => {
  test.each(['a', 'order 4711/ü-€', '\u{1f4b3}', 'x'.repeat(255)])('may be %j', (text) => {
    expect(merchantReference.parse(text)).toBe(text);
  });

  test.each([
    ['empty', ''],
    ['longer than 255 characters', 'x'.repeat(256)],
    ['with NUL, which no text column accepts', 'a\u0000b'],
    ['with a line break, which would split a log line', 'a\nb'],
    ['with a control character of Latin-1', 'a\u0085b'],
    ['with DEL', 'a\u007f'],
    ['with half a surrogate pair, which no UTF-8 has', 'a\ud800'],
    ['a number', 4711],
    ['missing', undefined],
  ])('is refused if it is %s', (_, text) => {
    expect(merchantReference.safeParse(text).success).toBe(false);
  });
});

describe('the body of a tap', () => {
  test('fits into 192 KB with both blobs at their longest', () => {
    const blobBytes = MAX_GENERAL_CARD_DATA_CHARS + MAX_PAYMENT_CARD_DATA_CHARS;
    // A character of the reference takes up to 3 bytes of UTF-8; names and punctuation take 100.
    expect(blobBytes + 3 * MAX_MERCHANT_REFERENCE_CHARS + 100).toBeLessThan(192 * 1_024);
  });

  test('refuses blobs that are empty or longer', () => {
    for (const blob of [generalCardData, paymentCardData]) {
      expect(blob.safeParse('').success).toBe(false);
      expect(blob.safeParse('A'.repeat(blob.maxLength! + 1)).success).toBe(false);
    }
  });

  test('comes from a device with a name of at most 128 characters', () => {
    expect(deviceInstallationId.safeParse('d'.repeat(128)).success).toBe(true);
    expect(deviceInstallationId.safeParse('d'.repeat(129)).success).toBe(false);
  });
});
