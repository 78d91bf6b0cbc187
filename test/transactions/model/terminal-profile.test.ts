import { describe, expect, test } from 'vitest';
import { fitProfile, type ProfiledTap, type TerminalProfile } from '../../../src/payments/model/terminal-profile.ts';

const VISA: ProfiledTap = {
  aid: 'A0000000031010',
  kernelId: '03',
  transactionType: '00',
  currency: '0710',
  country: '0710',
};
const MAESTRO: ProfiledTap = { ...VISA, aid: 'A0000000043060', kernelId: '02' };

function profile(overrides: TerminalProfile['overrides'], terminalCurrencyCode?: string): TerminalProfile {
  return { name: 'p', overrides, ...(terminalCurrencyCode !== undefined && { terminalCurrencyCode }) };
}

const outsideOf = (of: TerminalProfile, tap: Partial<ProfiledTap>) => fitProfile(of, { ...VISA, ...tap }).outside;
const visa = { aid: 'A000000003', kernelID: '03' };
const mastercard = { aid: 'A000000004', kernelID: '02' };
const any = { transactionTypeConfigs: [] };

describe('applications', () => {
  test('are all accepted if none is named', () => {
    expect(outsideOf(profile([]), {})).toBeNull();
    expect(outsideOf(profile([]), { aid: undefined, kernelId: undefined })).toBeNull();
  });

  test('applications that are named are accepted, and no others', () => {
    const onlyVisa = profile([{ ...visa, ...any }]);
    expect(outsideOf(onlyVisa, {})).toBeNull();
    expect(outsideOf(onlyVisa, MAESTRO)).toBe('application');
    expect(outsideOf(onlyVisa, { aid: undefined })).toBe('application');
  });

  test('match with a named AID as their prefix, never the reverse', () => {
    const exact = profile([{ aid: 'A000000003101001', kernelID: '03', ...any }]);
    expect(outsideOf(exact, { aid: 'A00000000310100102' })).toBeNull();
    expect(outsideOf(exact, {})).toBe('application');
  });

  test('differ on another kernel', () => {
    const onlyVisa = profile([{ ...visa, ...any }]);
    expect(outsideOf(onlyVisa, { kernelId: '01' })).toBe('application');
    expect(outsideOf(onlyVisa, { kernelId: undefined })).toBeNull();
  });

  test('applications that are removed are not accepted, all others are', () => {
    const withoutMaestro = profile([{ aid: MAESTRO.aid!, kernelID: '02', remove: true }]);
    expect(outsideOf(withoutMaestro, MAESTRO)).toBe('application');
    expect(outsideOf(withoutMaestro, {})).toBeNull();
  });

  test('are decided by the longest AID: Maestro is removed from among Mastercard’s, in any order', () => {
    const overrides = [
      { ...mastercard, ...any },
      { aid: MAESTRO.aid!, kernelID: '02', remove: true as const },
    ];
    for (const of of [profile(overrides), profile(overrides.toReversed())]) {
      expect(outsideOf(of, MAESTRO)).toBe('application');
      expect(outsideOf(of, { ...MAESTRO, aid: 'A0000000041010' })).toBeNull();
    }
  });
});

describe('transaction types', () => {
  const types = (
    ...transactionTypeConfigs: NonNullable<TerminalProfile['overrides'][number]['transactionTypeConfigs']>
  ) => profile([{ ...visa, transactionTypeConfigs }]);

  test('transaction types that are named are accepted, and no others', () => {
    const purchases = types({ transactionType: '00', tlvDatabase: [] });
    expect(outsideOf(purchases, {})).toBeNull();
    expect(outsideOf(purchases, { transactionType: '09' })).toBe('transactionType');
    expect(outsideOf(purchases, { transactionType: undefined })).toBe('transactionType');
  });

  test('transaction types that are removed are not accepted, all others are', () => {
    const noRefunds = types({ transactionType: '20', remove: true });
    expect(outsideOf(noRefunds, { transactionType: '20' })).toBe('transactionType');
    expect(outsideOf(noRefunds, {})).toBeNull();
  });
});

describe('currency and country', () => {
  const type = (...tlvDatabase: { tag: string; value: string }[]) => [
    { ...visa, transactionTypeConfigs: [{ transactionType: '00', tlvDatabase }] },
  ];

  test('the profile’s currency is the accepted one', () => {
    expect(outsideOf(profile([], '710'), {})).toBeNull();
    expect(outsideOf(profile([], '978'), {})).toBe('currency');
  });

  test('the currency and country of a transaction type have priority over the profile’s', () => {
    const of = profile(type({ tag: '5F2A', value: '0710' }), '978');
    expect(outsideOf(of, {})).toBeNull();
    expect(outsideOf(of, { currency: '0978' })).toBe('currency');
  });

  test('another country is outside', () => {
    const of = profile(type({ tag: '9F1A', value: '0276' }));
    expect(outsideOf(of, {})).toBe('country');
    expect(outsideOf(of, { country: '0276' })).toBeNull();
  });

  test('what the reader left out is taken from the profile, and reported', () => {
    const of = profile(type({ tag: '9F1A', value: '0710' }), '710');
    expect(fitProfile(of, { ...VISA, currency: undefined, country: undefined })).toEqual({
      outside: null,
      currency: '0710',
      country: '0710',
    });
  });
});
