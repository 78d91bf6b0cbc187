/**
 * Terminal configuration profiles (interface 4.17): what an acquirer allows its readers to take, and in which way.
 */
import { z } from 'zod';
import { acquirerPath, searchablePageOf, storableObject, times } from './admin.ts';
import { plainText } from './plain-text.ts';

/** Limit of a profile's name, from the contract. */
const MAX_NAME_CHARS = 255;
/** A reader has one application per scheme and product; the largest kernels have forty. */
const MAX_OVERRIDES = 64;
/** ISO 8583 processing codes 00 to 99; a reader uses five of them. */
const MAX_TRANSACTION_TYPES = 32;
/** A kernel's database has about a hundred objects that an acquirer may set. */
const MAX_TLVS = 128;
/** Terminal data objects are short; the longest lists of EMV (DOLs, TAC lists) are below this. */
const MAX_VALUE_BYTES = 252;

const name = plainText(MAX_NAME_CHARS)
  // RFC 3986 5.2.4: clients remove these two from a URL, so such a profile could not be addressed.
  .refine((text) => text !== '.' && text !== '..', 'cannot be used in a URL')
  .describe('Name of the profile, as used in tokens (claim `spCfg`) and terminals')
  .meta({ examples: ['retail'] });

const currencyCode = z
  .string()
  .regex(/^(?:[A-Za-z]{3}|0?\d{3})$/, 'must be a currency code of ISO 4217')
  .describe('ISO 4217 currency, numeric (`710`) or alphabetic (`ZAR`)')
  .meta({ examples: ['710'] });
const countryCode = z
  .string()
  .regex(/^(?:[A-Za-z]{2}|0?\d{3})$/, 'must be a country code of ISO 3166')
  .describe('ISO 3166 country of the terminal (tag 9F1A), numeric (`710`) or alphabetic (`ZA`)')
  .meta({ examples: ['710'] });

const aid = z
  .string()
  .regex(/^(?:[0-9A-Fa-f]{2}){5,16}$/, 'must be an AID: 5 to 16 bytes in hexadecimal')
  .describe('Application identifier (AID) in hexadecimal; a shorter value matches every AID that begins with it')
  .meta({ examples: ['A0000000031010'] });
const kernelID = z
  .string()
  .regex(
    /^(?:[0-9A-Fa-f]{1,2}|[0-9A-Fa-f]{6})$/,
    'must be a kernel identifier: 1 byte in hexadecimal, or 3 for a domestic kernel',
  )
  .describe(
    'EMV kernel identifier (tag 9F2A) in hexadecimal: 02 Mastercard, 03 Visa, 04 Amex, 05 JCB, 06 Discover, 07 UnionPay',
  )
  .meta({ examples: ['03'] });
const transactionType = z
  .string()
  .regex(/^\d{2}$/, 'must be two digits')
  .describe('EMV transaction type (tag 9C), two digits: 00 purchase, 01 cash, 09 cashback, 20 refund')
  .meta({ examples: ['00'] });
const remove = z
  .literal(true)
  .optional()
  .describe('Removal of the entry from the built-in configuration of the reader; only `true` is allowed');

const tlv = z
  .object({
    tag: z
      .string()
      .regex(/^(?:[0-9A-Fa-f]{2}){1,3}$/, 'must be a tag: 1 to 3 bytes in hexadecimal')
      .describe('EMV tag in hexadecimal')
      .meta({ examples: ['9F1A'] }),
    value: z
      .string()
      .regex(/^(?:[0-9A-Fa-f]{2})*$/, 'must be hexadecimal with two digits per byte')
      .max(MAX_VALUE_BYTES * 2)
      .optional()
      .describe('Value of the data object in hexadecimal; absent with remove')
      .meta({ examples: ['0710'] }),
    remove,
  })
  .refine(({ value, remove }) => (value === undefined) !== (remove === undefined), 'must have either value or remove');

const transactionTypeConfig = z
  .object({
    transactionType,
    tlvDatabase: z
      .array(tlv)
      .max(MAX_TLVS)
      .optional()
      .describe('Data objects of the kernel for the transaction type; absent with remove'),
    remove,
  })
  .refine(
    ({ tlvDatabase, remove }) => (tlvDatabase === undefined) !== (remove === undefined),
    'must have either tlvDatabase or remove',
  );

const override = z
  .object({
    aid,
    kernelID,
    transactionTypeConfigs: z
      .array(transactionTypeConfig)
      .max(MAX_TRANSACTION_TYPES)
      .optional()
      .describe(
        'Transaction types that the application accepts or, with remove, excludes. If no entry accepts a type, the application accepts every type that is not excluded; absent with remove',
      ),
    remove,
  })
  .refine(
    ({ transactionTypeConfigs, remove }) => (transactionTypeConfigs === undefined) !== (remove === undefined),
    'must have either transactionTypeConfigs or remove',
  );

/** A format's own schema checks its settings; this bounds what is stored. */
const MAX_READER_SETTINGS_CHARS = 8_192;

/** The format of a reader's card data, and its settings. */
const profileReader = z
  .object({
    format: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be the name of a reader format')
      .describe('Name of an installed reader format, such as `jwe` or `dukpt`')
      .meta({ examples: ['dukpt'] }),
    settings: storableObject
      .refine((settings) => JSON.stringify(settings).length <= MAX_READER_SETTINGS_CHARS, 'is too long')
      .describe('Settings of the format; each format has its own'),
  })
  .describe('Format of the card data that readers with this profile send. Without it, the format is `jwe`');

export type ProfileReader = z.infer<typeof profileReader>;

const overrides = z
  .array(override)
  .max(MAX_OVERRIDES)
  .describe(
    'Applications that the profile accepts or, with remove, excludes. If no entry accepts an application, the profile accepts every application that is not excluded',
  );

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
          .regex(/^\d{1,12}$/, 'must be 1 to 12 digits')
          .optional()
          .describe('Floor limit in minor units; a tap at or above the limit needs an online authorisation')
          .meta({ examples: ['0'] }),
      }),
    )
    .max(MAX_TRANSACTION_TYPES)
    .describe('Transaction types that the application accepts'),
});

const terminalCurrencyCode = currencyCode
  .optional()
  .describe('Only currency that the profile accepts, ISO 4217; every currency if omitted');

/**
 * The body of a creation in either format: *advanced* with `overrides`, *simple* with `configList`. With neither, it
 * is an advanced one.
 */
export const newTerminalProfile = z
  .object({
    name,
    terminalCurrencyCode,
    reader: profileReader.optional(),
    overrides: overrides.optional(),
    configList: z
      .array(simpleEntry)
      .max(MAX_OVERRIDES)
      .optional()
      .describe('Applications in the simple format; cannot be combined with overrides'),
  })
  .refine(({ overrides, configList }) => overrides === undefined || configList === undefined, {
    path: ['configList'],
    message: 'cannot be combined with overrides',
  })
  .meta({
    id: 'TerminalProfileCreation',
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

/**
 * The body of an update: the advanced format without the name. Each given field is replaced completely; the others
 * stay.
 */
export const terminalProfileChange = z
  .object({
    terminalCurrencyCode,
    reader: profileReader
      .nullable()
      .optional()
      .describe('Format of the card data that readers with this profile send; `null` stands for `jwe`'),
    overrides: overrides.optional(),
  })
  .refine(
    (change) => Object.values(change).some((value) => value !== undefined),
    'must have terminalCurrencyCode, reader or overrides',
  )
  .meta({ id: 'TerminalProfileChange' });

export type NewTerminalProfile = z.infer<typeof newTerminalProfile>;
export type TerminalProfileChange = z.infer<typeof terminalProfileChange>;

/** The content of a profile in its canonical form: the advanced one, hex in capitals, codes as digits. */
export const terminalProfileSettings = z.object({ terminalCurrencyCode, reader: profileReader.optional(), overrides });
export type TerminalProfileSettings = z.infer<typeof terminalProfileSettings>;

/** A profile as it is stored and returned. */
export const storedTerminalProfile = z
  .object({
    name,
    ...terminalProfileSettings.shape,
    ...times,
  })
  .meta({ id: 'TerminalProfile' });

export type StoredTerminalProfile = z.infer<typeof storedTerminalProfile>;

export const profilePath = acquirerPath.extend({
  profile: plainText(MAX_NAME_CHARS).describe('Name of the terminal profile'),
});

/** A page of profiles, by name. */
export const profilePage = searchablePageOf(plainText(MAX_NAME_CHARS));

/** The configuration that a reader gets for its proximity token (extension). */
export const terminalConfig = z
  .object({
    profile: z.string().nullable().describe('Name of the terminal profile in force; null if there are no restrictions'),
    xTid: z.string().describe('Terminal id, as in the claim `x-tid`'),
    canTakePin: z.boolean().describe('Whether a PIN can be entered at the terminal'),
    merchantName: z.string().describe('Merchant name and location for tag 9F4E'),
    merchantCategoryCode: z.string().describe('Merchant category code for tag 9F15, four digits'),
    terminalCurrencyCode: z
      .string()
      .describe('Transaction currency for tag 5F2A, ISO 4217 numeric code with three digits'),
    terminalCurrencyExponent: z.int().describe('Number of decimals of the currency, for tag 5F36'),
    terminalCountryCode: z
      .string()
      .describe(
        'Terminal country for tag 9F1A unless an override sets another, ISO 3166 numeric code with three digits',
      ),
    floorLimits: z
      .array(
        z.object({
          aid: z.string().describe('Application identifier (AID) in hexadecimal'),
          kernelID: z.string().describe('EMV kernel identifier in hexadecimal'),
          transactionType: z.string().describe('EMV transaction type (tag 9C), two digits'),
          floorLimit: z.int().describe('Floor limit in minor units'),
        }),
      )
      .describe('Floor limits that the overrides set'),
    overrides,
    cardDataKeysUrl: z.url().describe('URL of the public keys for the encryption of card data'),
  })
  .meta({ id: 'TerminalConfig' });

export type TerminalConfig = z.infer<typeof terminalConfig>;
