import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TapRefused } from '../../../src/basics/errors.ts';
import { sampleTap } from '../../../src/card/sample-tap.ts';
import { encodeTlv, indexTlv } from '../../../src/codecs/emv/tlv.ts';
import { TransactionType, type TransactionTypeId } from '../../../src/payments/model/transaction.ts';
import { findUnsupported } from '../../../src/payments/taps/find-unsupported.ts';
import { readTap } from '../../../src/payments/taps/read-tap.ts';

/** By tag, upper-case hex; undefined removes the tag. */
type Announced = Readonly<Record<number, string | undefined>>;

/** `sent`: as a purchase; `declinedOffline`: the card's own decline; or the code of the refusal. */
function fateOf(announced: Announced, type: TransactionTypeId = TransactionType.Tap): string {
  const values = sampleTap({ amountMinor: 1_000, currencyNumeric: '710', at: new Date('2026-03-01T10:00:00Z') });
  for (const [tag, hex] of Object.entries(announced)) {
    if (hex === undefined) values.delete(Number(tag));
    else values.set(Number(tag), Buffer.from(hex, 'hex'));
  }
  const index = indexTlv(encodeTlv([...values].map(([tag, value]) => ({ tag, value }))));
  try {
    const tap = readTap({ general: index, payment: indexTlv(new Uint8Array()) });
    const unsupported = findUnsupported(tap, type);
    if (unsupported) return unsupported.code;
    return tap.decision === 'goOnline' ? 'sent' : tap.decision;
  } catch (error) {
    if (error instanceof TapRefused) return error.code;
    throw error;
  }
}

const hexByte = (value: number) => value.toString(16).padStart(2, '0').toUpperCase();

test('only a purchase is sent, of all one-byte values of 9C', () => {
  for (let value = 0; value < 256; value++) {
    expect(fateOf({ 156: hexByte(value) })).toBe(value === 0 ? 'sent' : 'TRANSACTION_TYPE_UNSUPPORTED');
  }
});

describe('a purchase is sent', () => {
  test.each<[string, Announced]>([
    ['without more', {}],
    ['with amounts of zero in 9F03 and 9F04', { 40707: '000000000000', 40708: '00000000' }],
    ['with its amount in binary, too', { 129: '000003E8' }],
    ['with an amount that the binary form cannot hold', { 40706: '999999999999', 129: 'FFFFFFFF' }],
    ['with the exponent of its currency', { 24374: '02' }],
  ])('%s', (_what, announced) => {
    expect(fateOf(announced)).toBe('sent');
  });
});

test('an amount of zero is for mandates only', () => {
  expect(fateOf({ 40706: '000000000000' })).toBe('AMOUNT_ZERO');
  expect(fateOf({ 40706: '000000000000' }, TransactionType.TT3)).toBe('sent');
  expect(fateOf({ 40706: '000000000000', 156: '20' }, TransactionType.TT3)).toBe('TRANSACTION_TYPE_UNSUPPORTED');
});

describe('any data of a reader', () => {
  const hex = (bytes: number) =>
    fc
      .uint8Array({ minLength: bytes, maxLength: bytes })
      .map((value) => Buffer.from(value).toString('hex').toUpperCase());
  /** Mostly valid values, so that a sixth of all taps are good; otherwise anything, or nothing. */
  const mostly = (good: string | undefined, ...others: fc.Arbitrary<string | undefined>[]) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(good) }, fc.oneof(fc.constant(undefined), ...others));
  const digits = fc.integer({ min: 0, max: 2_000 }).map((amount) => String(amount).padStart(12, '0'));

  const announcement = fc.record({
    156: mostly('00', fc.constantFrom('01', '09', '17', '20', '30', '38'), hex(1), hex(2), hex(0)),
    40706: mostly('000000001000', digits, hex(6), hex(5)),
    40707: mostly('000000000000', digits, hex(6), hex(3)),
    40708: mostly(undefined, hex(4), fc.constant('00000000')),
    129: mostly(undefined, hex(4), fc.constant('000003E8')),
    24374: mostly('02', fc.constantFrom('00', '03'), hex(1)),
    40743: mostly('80', fc.constantFrom('00', '40', 'C0'), hex(1)),
    40742: mostly('0011223344556677', hex(8), hex(3)),
  });

  const areZeros = (hex: string | undefined) => /^0*$/.test(hex ?? '');
  /** What may be sent, expressed independently of the code. */
  function isPurchase(announced: Announced): boolean {
    const { 0x9c: kind, 0x9f02: amount = '', 0x9f27: information = '00', 0x9f26: cryptogram } = announced;
    const { 0x81: binary, 0x5f36: exponent = '02' } = announced;
    return [
      kind === '00',
      /^\d{12}$/.test(amount) && Number(amount) > 0,
      areZeros(announced[0x9f03]) && areZeros(announced[0x9f04]),
      binary === undefined || Number.parseInt(binary, 16) === Math.min(Number(amount), 0xffff_ffff),
      exponent === '02',
      Number.parseInt(information, 16) >> 6 === 2, // an ARQC
      cryptogram?.length === 16,
    ].every(Boolean);
  }

  test('exactly the purchases of one amount, with a cryptogram for the issuer, are sent', () => {
    const property = fc.property(announcement, (announced) => {
      expect(fateOf(announced) === 'sent').toBe(isPurchase(announced));
    });
    fc.assert(property, { numRuns: 5_000 });
  });
});
