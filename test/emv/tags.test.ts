import { describe, expect, test } from 'vitest';
import facts from '../../src/codecs/emv/emv-tags.json' with { type: 'json' };
import { isTag } from '../../src/codecs/emv/tag-number.ts';
import { kernelOf, mayShow, tagFacts, tagMeanings, tagName } from '../../src/codecs/emv/tags.ts';

describe('the dictionary', () => {
  test('has every fact, each with a tag that TLV can carry, once for each scheme', () => {
    for (const { tag, scheme, name } of facts.tags) {
      const number = Number.parseInt(tag, 16);
      expect(isTag(number)).toBe(true);
      expect(
        tagMeanings(number)
          .filter((meaning) => meaning.scheme === scheme)
          .map((meaning) => meaning.name),
      ).toEqual([name]);
    }
  });

  test('states the length of a value if the specification does', () => {
    expect(tagFacts(0x9f26)).toMatchObject({ format: 'b', min: 8, max: 8 });
    expect(tagFacts(0x57)).toMatchObject({ max: 19, secrecy: 'SAD' });
  });
});

describe('a tag that schemes use differently', () => {
  test.each([
    [0x9f6e, 'visa', 'Form Factor Indicator (FFI)'],
    [0x9f6e, 'amex', 'Enhanced Contactless Reader Capabilities'],
    [0x9f66, 'visa', 'Terminal Transaction Qualifiers (TTQ)'],
    [0x9f66, 'mastercard', 'PUNATC (Track2)'],
    [0x9f7c, 'mastercard', 'Merchant Custom Data'],
    [0x9f7c, 'visa', 'Customer Exclusive Data (CED)'],
    [0x9f67, 'amex', 'Form Factor'],
    [0x9f6d, 'mastercard', 'Mag-stripe Application Version Number (Reader)'],
  ] as const)('%i is to %s: %s', (tag, kernel, name) => {
    expect(tagName(tag, kernel)).toBe(name);
  });

  test('has no single meaning without a kernel, and is named with all of them', () => {
    expect(tagFacts(0x9f66)).toBeUndefined();
    expect(tagName(0x9f66)).toBe('PUNATC (Track2) (mastercard) or Terminal Transaction Qualifiers (TTQ) (visa)');
  });

  test('has the EMV meaning for other kernels, or its private use by cards', () => {
    expect(tagName(0x9f26, 'jcb')).toBe('Application Cryptogram (AC)');
    expect(tagFacts(0x9f51, 'visa')).toMatchObject({ scheme: 'proprietary' });
  });
});

test('tags of this project’s readers are known, and unknown tags are not', () => {
  expect(tagName(0xdf8a01)).toBe('Reader Id');
  expect([tagName(0xdf7e), tagFacts(0xdf7e), tagMeanings(0xdf7e)]).toEqual([undefined, undefined, []]);
});

describe('mayShow', () => {
  test.each([
    [0x9f02, 6, undefined],
    [0x95, 5, undefined],
    [0x84, 7, undefined],
    [0x9f66, 4, 'visa'],
    [0x9f6e, 5, 'mastercard'],
    [0xdf8a01, 8, undefined],
    [0x5f34, 1, undefined],
  ] as const)('%i of %i bytes may be shown', (tag, bytes, kernel) => {
    expect(mayShow(tag, bytes, kernel)).toBe(true);
  });

  test('nothing that any scheme marks as card data may be shown, for any kernel', () => {
    const marked = facts.tags.filter(({ pci }) => pci !== undefined).map(({ tag }) => Number.parseInt(tag, 16));
    expect(marked.length).toBeGreaterThan(10);
    for (const tag of marked) {
      for (const kernel of [undefined, 'visa', 'mastercard', 'amex', 'jcb', 'unionpay'] as const) {
        expect(mayShow(tag, 1, kernel)).toBe(false);
      }
    }
  });

  test.each([
    ['an unknown tag', 0xdf7e, 1, undefined],
    ['a PIN block of a reader', 0xdf8a11, 8, undefined],
    ['a tag without a kernel to say what it is', 0x9f66, 4, undefined],
    ['a private tag of cards: some are keys', 0xdf08, 16, undefined],
    ['a script, which can change a PIN', 0x86, 20, undefined],
    ['a card certificate, from which the PAN is recovered', 0x9f46, 128, undefined],
    ['a DS ID, which is PAN and sequence number', 0x9f5e, 10, 'mastercard'],
    ['a value longer than its tag may have', 0x9f02, 19, undefined],
    ['a date of a whole track', 0x9a, 17, undefined],
  ] as const)('%s is withheld', (_, tag, bytes, kernel) => {
    expect(mayShow(tag, bytes, kernel)).toBe(false);
  });
});

test.each([
  ['Visa', 'visa'],
  ['Mastercard', 'mastercard'],
  ['Maestro', 'mastercard'],
  ['Amex', 'amex'],
  ['JCB', 'jcb'],
  ['UnionPay', 'unionpay'],
  ['Interac', undefined],
  [undefined, undefined],
] as const)('cards of %s use kernel %s', (scheme, kernel) => {
  expect(kernelOf(scheme)).toBe(kernel);
});
