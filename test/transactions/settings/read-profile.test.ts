import { describe, expect, test } from 'vitest';
import {
  type NewTerminalProfile,
  newTerminalProfile,
  terminalProfileSettings,
} from '../../../schemas/terminal-profile.ts';
import { RequestRejected } from '../../../src/basics/errors.ts';
import { readNewProfile, readProfileChange } from '../../../src/payments/settings/read-profile.ts';

type Body = Omit<NewTerminalProfile, 'name'>;

function pointersOf(body: Body): readonly string[] {
  try {
    readNewProfile(body);
  } catch (error) {
    if (error instanceof RequestRejected) return error.errors!.map(({ pointer }) => pointer);
    throw error;
  }
  return [];
}

const KERNEL = { aid: 'A0000000031010', kernelID: '03' };
const withTlv = (...tlvDatabase: { tag: string; value?: string; remove?: true }[]): Body => ({
  overrides: [{ ...KERNEL, transactionTypeConfigs: [{ transactionType: '00', tlvDatabase }] }],
});
const TLV = '/overrides/0/transactionTypeConfigs/0/tlvDatabase/0';

describe('a profile has one canonical form', () => {
  test('the simple format becomes the advanced one', () => {
    const config = [{ transactionType: '00', countryCode: 'ZA', currencyCode: '0710', floorLimit: '5000' }];
    expect(readNewProfile({ terminalCurrencyCode: 'zar', configList: [{ ...KERNEL, kernelID: '3', config }] })).toEqual(
      {
        terminalCurrencyCode: '710',
        overrides: [
          {
            ...KERNEL,
            transactionTypeConfigs: [
              {
                transactionType: '00',
                tlvDatabase: [
                  { tag: '9F1A', value: '0710' },
                  { tag: '5F2A', value: '0710' },
                  { tag: 'DF8123', value: '000000005000' },
                ],
              },
            ],
          },
        ],
      },
    );
  });

  test('hex is written in capitals, and removals are kept', () => {
    const body: Body = {
      overrides: [
        { aid: 'a0000000043060', kernelID: '2', remove: true },
        {
          ...KERNEL,
          transactionTypeConfigs: [
            { transactionType: '20', remove: true },
            {
              transactionType: '00',
              tlvDatabase: [
                { tag: '9f33', value: 'e0f8c8' },
                { tag: '9f66', remove: true },
              ],
            },
          ],
        },
      ],
    };
    expect(readNewProfile(body)).toEqual({
      overrides: [
        { aid: 'A0000000043060', kernelID: '02', remove: true },
        {
          ...KERNEL,
          transactionTypeConfigs: [
            { transactionType: '20', remove: true },
            {
              transactionType: '00',
              tlvDatabase: [
                { tag: '9F33', value: 'E0F8C8' },
                { tag: '9F66', remove: true },
              ],
            },
          ],
        },
      ],
    });
  });

  test('the canonical form of a profile is read again unchanged, and is what is shown', () => {
    for (const example of newTerminalProfile.meta()!.examples as NewTerminalProfile[]) {
      const { name: _, ...body } = newTerminalProfile.parse(example);
      const canonical = readNewProfile(body);
      expect(readNewProfile(canonical)).toEqual(canonical);
      expect(terminalProfileSettings.parse(canonical)).toEqual(canonical);
    }
  });

  test('a profile with neither format accepts everything', () => {
    expect(readNewProfile({})).toEqual({ overrides: [] });
  });

  test('an update changes only what it names', () => {
    expect(readProfileChange({ terminalCurrencyCode: 'EUR' })).toEqual({ terminalCurrencyCode: '978' });
    expect(readProfileChange({ overrides: [] })).toEqual({ overrides: [] });
  });
});

describe('faults are reported with their position', () => {
  test.each<[string, Body, string]>([
    ['an invalid currency', { terminalCurrencyCode: '999' }, '/terminalCurrencyCode'],
    [
      'an invalid country',
      { configList: [{ ...KERNEL, config: [{ transactionType: '00', countryCode: 'XX' }] }] },
      '/configList/0/config/0/countryCode',
    ],
    [
      'an invalid currency of the simple format',
      { configList: [{ ...KERNEL, config: [{ transactionType: '00', currencyCode: '000' }] }] },
      '/configList/0/config/0/currencyCode',
    ],
    ['a tag that EMV cannot have', withTlv({ tag: '9F', value: '00' }), `${TLV}/tag`],
    ['padding for a tag', withTlv({ tag: '00', value: '00' }), `${TLV}/tag`],
    ['a leading zero', withTlv({ tag: '009F1A', value: '0710' }), `${TLV}/tag`],
    ['a PAN', withTlv({ tag: '5A', value: '4111111111111111' }), `${TLV}/tag`],
    ['track 2, even to be removed', withTlv({ tag: '57', remove: true }), `${TLV}/tag`],
    ['a PAN inside a template', withTlv({ tag: '70', value: '5A084111111111111111' }), `${TLV}/value`],
    ['a template that has no data objects', withTlv({ tag: '70', value: '9F' }), `${TLV}/value`],
    ['a country tag without a country', withTlv({ tag: '9F1A', value: '0999' }), `${TLV}/value`],
    ['a currency tag that is too short', withTlv({ tag: '5F2A', value: '10' }), `${TLV}/value`],
    ['a value longer than its tag allows', withTlv({ tag: '9F33', value: 'E0F8C8C8' }), `${TLV}/value`],
    ['letters where the tag has digits', withTlv({ tag: 'DF8123', value: '00000000500A' }), `${TLV}/value`],
    [
      'a tag twice',
      withTlv({ tag: '9F33', value: 'E0F8C8' }, { tag: '9f33', remove: true }),
      '/overrides/0/transactionTypeConfigs/0/tlvDatabase/1',
    ],
    [
      'a transaction type twice',
      {
        overrides: [
          {
            ...KERNEL,
            transactionTypeConfigs: [
              { transactionType: '00', tlvDatabase: [] },
              { transactionType: '00', remove: true },
            ],
          },
        ],
      },
      '/overrides/0/transactionTypeConfigs/1',
    ],
    [
      'an application twice, written in two ways',
      {
        overrides: [
          { ...KERNEL, remove: true },
          { aid: 'a0000000031010', kernelID: '3', remove: true },
        ],
      },
      '/overrides/1',
    ],
    [
      'an application twice in the simple format',
      {
        configList: [
          { ...KERNEL, config: [] },
          { ...KERNEL, config: [] },
        ],
      },
      '/configList/1',
    ],
  ])('%s', (_what, body, pointer) => {
    expect(pointersOf(body)).toEqual([pointer]);
  });

  test('all of them at once', () => {
    expect(pointersOf({ terminalCurrencyCode: 'ZZZ', ...withTlv({ tag: '5A', value: '00' }) })).toEqual([
      '/terminalCurrencyCode',
      `${TLV}/tag`,
    ]);
  });
});
