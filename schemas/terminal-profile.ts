/** Terminal configuration profiles (interface 4.17): what an acquirer lets its readers take, and how they take it. */
import { z } from 'zod';
import { acquirerPath, pageOf, times } from './admin.ts';
import { plainText } from './plain-text.ts';

/** As the contract has it. */
const MAX_NAME_CHARS = 255;
/** A reader holds an application per scheme and product: the largest kernels ship with forty. */
const MAX_OVERRIDES = 64;
/** ISO 8583 processing codes 00 to 99; a reader uses five of them. */
const MAX_TRANSACTION_TYPES = 32;
/** A kernel's database has about a hundred objects that an acquirer may set. */
const MAX_TLVS = 128;
/** Terminal data objects are short; the longest lists of EMV (DOLs, TAC lists) stay below this. */
const MAX_VALUE_BYTES = 252;

const name = plainText(MAX_NAME_CHARS)
  // RFC 3986 5.2.4: clients take these two out of an address, so such a profile could never be named again.
  .refine((text) => text !== '.' && text !== '..', 'cannot stand in an address')
  .describe('The name by which tokens (`spCfg`) and terminals choose the profile')
  .meta({ examples: ['retail'] });

const currencyCode = z
  .string()
  .regex(/^(?:[A-Za-z]{3}|0?\d{3})$/, 'not a currency of ISO 4217')
  .describe('ISO 4217, by digits (`710`) or letters (`ZAR`)')
  .meta({ examples: ['710'] });
const countryCode = z
  .string()
  .regex(/^(?:[A-Za-z]{2}|0?\d{3})$/, 'not a country of ISO 3166')
  .describe('ISO 3166, by digits (`710`) or letters (`ZA`): what 9F1A is')
  .meta({ examples: ['710'] });

const aid = z
  .string()
  .regex(/^(?:[0-9A-Fa-f]{2}){5,16}$/, 'not an AID: 5 to 16 bytes in hex')
  .describe('Application identifier, hex; one that is shorter than the card’s stands for all that begin with it')
  .meta({ examples: ['A0000000031010'] });
const kernelID = z
  .string()
  .regex(/^(?:[0-9A-Fa-f]{1,2}|[0-9A-Fa-f]{6})$/, 'not a kernel identifier: 1 byte in hex, or 3 for a domestic one')
  .describe('EMV kernel identifier (9F2A), hex: 02 Mastercard, 03 Visa, 04 Amex, 05 JCB, 06 Discover, 07 UnionPay')
  .meta({ examples: ['03'] });
const transactionType = z
  .string()
  .regex(/^\d{2}$/, 'not two digits')
  .describe('What 9C is: 00 purchase, 01 cash, 09 cashback, 20 refund')
  .meta({ examples: ['00'] });
const remove = z.literal(true).optional().describe('Takes it away from what the reader has by itself');

const tlv = z
  .object({
    tag: z
      .string()
      .regex(/^(?:[0-9A-Fa-f]{2}){1,3}$/, 'not a tag: 1 to 3 bytes in hex')
      .describe('EMV tag, hex')
      .meta({ examples: ['9F1A'] }),
    value: z
      .string()
      .regex(/^(?:[0-9A-Fa-f]{2})*$/, 'not hex')
      .max(MAX_VALUE_BYTES * 2)
      .optional()
      .describe('Hex')
      .meta({ examples: ['0710'] }),
    remove,
  })
  .refine(({ value, remove }) => (value === undefined) !== (remove === undefined), 'has either a value or remove');

const transactionTypeConfig = z
  .object({
    transactionType,
    tlvDatabase: z.array(tlv).max(MAX_TLVS).optional().describe('Data objects of the kernel for this transaction type'),
    remove,
  })
  .refine(
    ({ tlvDatabase, remove }) => (tlvDatabase === undefined) !== (remove === undefined),
    'has either a tlvDatabase or remove',
  );

const override = z
  .object({
    aid,
    kernelID,
    transactionTypeConfigs: z
      .array(transactionTypeConfig)
      .max(MAX_TRANSACTION_TYPES)
      .optional()
      .describe('Transaction types that the application takes; every type when none is given'),
    remove,
  })
  .refine(
    ({ transactionTypeConfigs, remove }) => (transactionTypeConfigs === undefined) !== (remove === undefined),
    'has either transactionTypeConfigs or remove',
  );

const overrides = z
  .array(override)
  .max(MAX_OVERRIDES)
  .describe('Applications that the profile takes (every application when none is given), and those that it takes away');

/** The simple format: the three values that most acquirers set, each for an application and a transaction type. */
const simpleEntry = z.object({
  aid,
  kernelID,
  config: z
    .array(
      z.object({
        transactionType,
        countryCode: countryCode.optional(),
        currencyCode: currencyCode.optional(),
        floorLimit: z
          .string()
          .regex(/^\d{1,12}$/, 'not 1 to 12 digits')
          .optional()
          .describe('Minor units: from here on a tap needs the issuer')
          .meta({ examples: ['0'] }),
      }),
    )
    .max(MAX_TRANSACTION_TYPES)
    .describe('Transaction types that the application takes'),
});

const terminalCurrencyCode = currencyCode.optional().describe('The one currency that the profile takes, ISO 4217');

/**
 * The body of a creation, in either format: *advanced* with `overrides`, *simple* with `configList`; with neither it is an
 * advanced one.
 */
export const newTerminalProfile = z
  .object({
    name,
    terminalCurrencyCode,
    overrides: overrides.optional(),
    configList: z.array(simpleEntry).max(MAX_OVERRIDES).optional().describe('The simple format, instead of overrides'),
  })
  .refine(({ overrides, configList }) => overrides === undefined || configList === undefined, {
    path: ['configList'],
    message: 'stands beside overrides: a body has one format',
  })
  .meta({
    id: 'NewTerminalProfile',
    examples: [
      {
        name: 'retail',
        terminalCurrencyCode: '710',
        overrides: [
          {
            aid: 'A0000000031010',
            kernelID: '03',
            transactionTypeConfigs: [{ transactionType: '00', tlvDatabase: [{ tag: '9F1A', value: '0710' }] }],
          },
          { aid: 'A0000000043060', kernelID: '02', remove: true },
        ],
      },
      {
        name: 'kiosk',
        terminalCurrencyCode: '710',
        configList: [
          {
            aid: 'A0000000041010',
            kernelID: '02',
            config: [{ transactionType: '00', countryCode: '710', currencyCode: '710', floorLimit: '0' }],
          },
        ],
      },
    ],
  });

/** The body of an update: the advanced format without the name. What it names is replaced whole, the rest stays. */
export const terminalProfileChange = z
  .object({ terminalCurrencyCode, overrides: overrides.optional() })
  .refine(
    ({ terminalCurrencyCode, overrides }) => terminalCurrencyCode !== undefined || overrides !== undefined,
    'has neither terminalCurrencyCode nor overrides',
  )
  .meta({ id: 'TerminalProfileChange' });

export type NewTerminalProfile = z.infer<typeof newTerminalProfile>;
export type TerminalProfileChange = z.infer<typeof terminalProfileChange>;

/** What a profile says, in its one canonical form: the advanced one, hex in capitals, codes as digits. */
export const terminalProfileSettings = z.object({ terminalCurrencyCode, overrides });
export type TerminalProfileSettings = z.infer<typeof terminalProfileSettings>;

/** A profile as it is stored and shown. */
export const storedTerminalProfile = z
  .object({
    name,
    ...terminalProfileSettings.shape,
    ...times,
  })
  .meta({ id: 'TerminalProfile' });

export type StoredTerminalProfile = z.infer<typeof storedTerminalProfile>;

export const profilePath = acquirerPath.extend({ profile: plainText(MAX_NAME_CHARS).describe('Name of the profile') });

/** By name. */
export const profilePage = pageOf(plainText(MAX_NAME_CHARS));

/** What a reader gets by its proximity token (extension): how to take cards here. */
export const terminalConfig = z
  .object({
    profile: z.string().nullable().describe('Name of the profile in force; null: nothing is restricted'),
    xTid: z.string().describe('The terminal, as the token names it'),
    canTakePin: z.boolean().describe('Whether PINs can be taken on from here'),
    merchantName: z.string().describe('What 9F4E is'),
    merchantCategoryCode: z.string().describe('What 9F15 is, four digits'),
    terminalCurrencyCode: z.string().describe('What 5F2A is: ISO 4217, three digits'),
    terminalCurrencyExponent: z.int().describe('What 5F36 is'),
    terminalCountryCode: z.string().describe('What 9F1A is where no override says otherwise: ISO 3166, three digits'),
    floorLimits: z
      .array(
        z.object({
          aid: z.string().describe('Application identifier, hex'),
          kernelID: z.string().describe('EMV kernel identifier, hex'),
          transactionType: z.string().describe('What 9C is, two digits'),
          floorLimit: z.int().describe('Minor units'),
        }),
      )
      .describe('Every floor limit that the overrides set'),
    overrides,
    cardDataKeysUrl: z.url().describe('Where the public keys are that card data are sealed for'),
  })
  .meta({ id: 'TerminalConfig' });

export type TerminalConfig = z.infer<typeof terminalConfig>;
