import { describe, expect, test } from 'vitest';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { describeBits } from '../../src/codecs/emv/bits.ts';
import type { Kernel } from '../../src/codecs/emv/tags.ts';

/** Rows as `place: meaning`. */
function rows(tag: number, hex: string, kernel?: Kernel): string[] | undefined {
  return describeBits(tag, fromHex(hex), kernel)?.map(({ at, meaning }) => `${at}: ${meaning}`);
}

describe('terminal verification results', () => {
  test('each set bit has a row, in order', () => {
    expect(rows(0x95, '8000048000')).toEqual([
      'byte 1 bit 8: Offline data authentication was not performed',
      'byte 3 bit 3: Online PIN entered',
      'byte 4 bit 8: Transaction exceeds floor limit',
    ]);
  });

  test('a value without set bits has no row, and reserved bits are named as reserved', () => {
    expect(rows(0x95, '0000000000')).toEqual([]);
    expect(rows(0x95, '0001000000')).toEqual(['byte 2 bit 1: Reserved']);
  });

  test('every bit of the five bytes has a row, and further bytes have none', () => {
    expect(rows(0x95, 'FFFFFFFFFF')).toHaveLength(40);
    expect(rows(0x95, 'FFFFFFFFFFFF')).toHaveLength(40);
    expect(rows(0x95, 'FF')).toHaveLength(8);
    expect(rows(0x95, '')).toEqual([]);
  });

  test('action codes are masks over the same bits', () => {
    for (const tag of [0x9f0d, 0x9f0e, 0x9f0f]) expect(rows(tag, '0000008000')).toEqual(rows(0x95, '0000008000'));
  });
});

test("byte 2 of the AIP has the meaning of the card's kernel", () => {
  expect(rows(0x82, '1980', 'mastercard')).toEqual([
    'byte 1 bit 5: Cardholder verification is supported',
    'byte 1 bit 4: Terminal risk management is to be performed',
    'byte 1 bit 1: CDA supported',
    'byte 2 bit 8: EMV mode is supported',
  ]);
  expect(rows(0x82, '0080', 'visa')).toEqual(['byte 2 bit 8: MSD is supported']);
  expect(rows(0x82, '2080')).toEqual(['byte 1 bit 6: DDA supported', "byte 2 bit 8: Defined by the card's kernel"]);
});

test('reader and card qualifiers are read for the kernels that have them', () => {
  expect(rows(0x9f66, '36C04000', 'visa')).toEqual([
    'byte 1 bit 6: EMV mode supported',
    'byte 1 bit 5: EMV contact chip supported',
    'byte 1 bit 3: Online PIN supported',
    'byte 1 bit 2: Signature supported',
    'byte 2 bit 8: Online cryptogram required',
    'byte 2 bit 7: CVM required',
    'byte 3 bit 7: Consumer device CVM supported',
  ]);
  expect(rows(0x9f6c, '8080')).toEqual([
    'byte 1 bit 8: Online PIN required',
    'byte 2 bit 8: Consumer device CVM performed',
  ]);
  expect(rows(0x9f66, '36C0', 'mastercard')).toBeUndefined();
});

describe('CVM results', () => {
  test('state method, condition and result', () => {
    expect(rows(0x9f34, '1F0302')).toEqual([
      'byte 1: No CVM required',
      'byte 2: If the terminal supports the CVM',
      'byte 3: Successful',
    ]);
    expect(rows(0x9f34, '420300')![0]).toBe(
      'byte 1: Enciphered PIN verified online; if unsuccessful, apply the next rule',
    );
  });

  test('undefined codes are reserved, and missing bytes have no row', () => {
    expect(rows(0x9f34, '20FF09')).toEqual(['byte 1: Reserved', 'byte 2: Reserved', 'byte 3: Reserved']);
    expect(rows(0x9f34, '')).toEqual([]);
  });
});

test('9F27 states which cryptogram, and why', () => {
  expect(rows(0x9f27, '80')).toEqual(['byte 1 bits 8-7: ARQC: asks the issuer']);
  expect(rows(0x9f27, '0A')).toEqual([
    'byte 1 bits 8-7: AAC: declined by the card',
    'byte 1 bit 4: Advice required',
    'byte 1 bits 3-1: PIN try limit exceeded',
  ]);
  expect(rows(0x9f27, '')).toEqual([]);
});

test('transaction status and terminal capabilities have their tables', () => {
  expect(rows(0x9b, 'E800')).toHaveLength(4);
  expect(rows(0x9f33, '0000E8')).toEqual([
    'byte 3 bit 8: SDA',
    'byte 3 bit 7: DDA',
    'byte 3 bit 6: Card capture',
    'byte 3 bit 4: CDA',
  ]);
});

test('other tags have no table', () => {
  expect(rows(0x9f02, '000000001000')).toBeUndefined();
});
