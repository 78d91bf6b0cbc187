import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TlvError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { describeTlv, tlvRows } from '../../src/codecs/emv/describe-tlv.ts';
import { indexTlv } from '../../src/codecs/emv/tlv.ts';
import { tapOf } from './tap-of.ts';
import { anyBytes } from './tlv-arbitraries.ts';

const PAN = '4111111111111111';

test('a template is a tree of names and values, with decoded text, lists and bits', () => {
  const fci = indexTlv(
    fromHex('6F22 8407A0000000031010 A517 500456495341 9F3806 9F6604 9F0206 5F2D02656E BF0C00'.replaceAll(' ', '')),
  );
  expect(describeTlv(fci)).toEqual([
    '6F     File Control Information (FCI) Template',
    '  84     Dedicated File (DF) Name  A0000000031010',
    '  A5     File Control Information (FCI) Proprietary Template',
    '    50     Application Label  56495341',
    '           - "VISA"',
    '    9F38   Processing Options Data Object List (PDOL)  9F66049F0206',
    '           - 9F66 Terminal Transaction Qualifiers (TTQ), 4 bytes',
    '           - 9F02 Amount, Authorised (Numeric), 6 bytes',
    '    5F2D   Language Preference  656E',
    '           - "en"',
    '    BF0C   File Control Information (FCI) Issuer Discretionary Data',
  ]);
});

test('bits are rows under their value', () => {
  expect(describeTlv(tapOf([0x95, '0000048000']))).toEqual([
    '95     Terminal Verification Results (TVR)  0000048000',
    '       - byte 3 bit 3: Online PIN entered',
    '       - byte 4 bit 8: Transaction exceeds floor limit',
  ]);
});

describe('card data', () => {
  const tap = tapOf(
    [0x57, `${PAN}D25122010000000F`],
    [0x5a, PAN],
    [0x5f20, '4A2F534D495448'],
    [0x5f24, '251231'],
    [0xdf8a11, '0412AC89ABCDEF67'],
    [0xdf7e, PAN],
    [0x9f02, '000000001000'],
  );

  test('is withheld: a PAN is masked, for other values only the length is shown', () => {
    expect(describeTlv(tap)).toEqual([
      '57     Track 2 Equivalent Data  [withheld, 16 bytes]',
      '       - PAN 411111******1111',
      '5A     Application Primary Account Number (PAN)  [withheld, 8 bytes]',
      '       - PAN 411111******1111',
      '5F20   Cardholder Name  [withheld, 7 bytes]',
      '5F24   Application Expiration Date  [withheld, 3 bytes]',
      'DF8A11 PIN Block  [withheld, 8 bytes]',
      'DF7E   Unknown  [withheld, 8 bytes]',
      '9F02   Amount, Authorised (Numeric)  000000001000',
    ]);
  });

  test('is shown only on request', () => {
    const rows = tlvRows(tap, { unmasked: true });
    expect(rows.map(({ value }) => value)).toContain(PAN);
    expect(rows.every(({ withheld }) => !withheld)).toBe(true);
  });

  test('is not shown in a tag that is not card data but has a longer value than allowed', () => {
    expect(describeTlv(tapOf([0x9a, PAN], [0x5f2a, PAN])).join()).not.toContain(PAN);
  });

  test('card data that is malformed has no masked PAN, and no error either', () => {
    expect(describeTlv(tapOf([0x5a, 'AB'], [0x57, '12']))).toEqual([
      '5A     Application Primary Account Number (PAN)  [withheld, 1 byte]',
      '57     Track 2 Equivalent Data  [withheld, 1 byte]',
    ]);
  });

  test('is not in the description of a template kept as bytes', () => {
    const response = indexTlv(fromHex(`70085A09${PAN.slice(0, 12)}`), { onBadChild: 'opaque' });
    expect(tlvRows(response)[0]).toMatchObject({ tag: '70', value: undefined, withheld: true });
    expect(describeTlv(response).join()).not.toContain(PAN.slice(0, 12));
  });
});

describe('the kernel', () => {
  const qualifiers = [0x9f66, '36C04000'] as const;

  test('follows from the AID of the blob', () => {
    expect(tlvRows(tapOf([0x84, 'A0000000031010'], qualifiers))[1]).toMatchObject({
      name: 'Terminal Transaction Qualifiers (TTQ)',
      value: '36C04000',
    });
  });

  test('can be named, and without a kernel a tag with two meanings is withheld', () => {
    expect(tlvRows(tapOf(qualifiers), { kernel: 'visa' })[0]).toMatchObject({ value: '36C04000' });
    expect(tlvRows(tapOf(qualifiers))[0]).toMatchObject({ value: undefined, withheld: true });
  });
});

test('text is quoted only if all of it is printable', () => {
  expect(tlvRows(tapOf([0x50, '1B5B324A']))[0]!.details).toEqual([]);
  expect(tlvRows(tapOf([0x50, '']))[0]!.details).toEqual([]);
});

test('an invalid list is shown without details', () => {
  expect(tlvRows(tapOf([0x9f38, '9F66']))[0]).toMatchObject({ value: '9F66', details: [] });
});

test('everything that can be indexed can be described', () => {
  fc.assert(
    fc.property(anyBytes, fc.boolean(), (bytes, unmasked) => {
      try {
        const index = indexTlv(bytes, { onBadChild: 'opaque' });
        expect(describeTlv(index, { unmasked }).length).toBeGreaterThanOrEqual(index.count);
      } catch (error) {
        if (!(error instanceof TlvError)) throw error;
      }
    }),
  );
});
