import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBase64, decodeBase64Url } from '../../src/codecs/bytes/hex.ts';
import { anyText } from '../support/any-text.ts';

describe.each([
  [
    'Base64',
    decodeBase64,
    'base64',
    ['QQ', 'QQ=', 'QR==', 'QQ==\n', ' QQ==', 'QQ==QQ==', '-_-_', 'Q', '====', 'é', 'QQ\u0000=='],
  ],
  ['base64url', decodeBase64Url, 'base64url', ['QQ==', 'QR', 'QQ\n', '+/+/', 'Q', '=', 'é']],
] as const)('%s', (_, decode, encoding, malformed) => {
  test('round-trips any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decode(Buffer.from(bytes).toString(encoding))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test.each(malformed)('the malformed text %j decodes to undefined', (text) => {
    expect(decode(text)).toBeUndefined();
  });

  test('has one spelling for a value: a text that is read is written as the same text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.base64String(), anyText()), (text) => {
        const bytes = decode(text);
        if (bytes !== undefined) expect(bytes.toString(encoding)).toBe(text);
      }),
    );
  });
});
