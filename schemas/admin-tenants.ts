/** Tenants: acquirers, their integrators, merchants and terminals, and blocked devices. */
import { z } from 'zod';
import { blocked, name, numberedId, storableObject, times } from './admin.ts';
import { deviceInstallationId } from './card-data.ts';
import { plainText, plainTextOrNone } from './plain-text.ts';

/** DE41 is ans 8, DE42 ans 15 (ISO 8583:1987 4.4.1): printable ASCII, padded with spaces on the right. */
const MAX_TID_CHARS = 8;
const MAX_MID_CHARS = 15;
const PRINTABLE = /^[!-~](?:[ -~]*[!-~])?$/;
/** Length of an address on a receipt. */
const MAX_ADDRESS_CHARS = 255;
/** No fee of one transaction reaches a million. */
const MAX_FEE = 1_000_000;

export const newAcquirer = z.object({ name, blocked: blocked.default(false) });
export const acquirerChange = z.object({ name, blocked }).partial();
export const storedAcquirer = z
  .object({ id: numberedId.describe('Id of the acquirer, from 1'), name, blocked, ...times })
  .meta({ id: 'Acquirer' });

export const newIntegrator = z.object({ name, blocked: blocked.default(false) });
export const integratorChange = z.object({ name, blocked }).partial();
export const storedIntegrator = z
  .object({ id: numberedId.describe('Id of the integrator within the acquirer, from 1'), name, blocked, ...times })
  .meta({ id: 'Integrator' });

/** Unreserved characters of URLs (RFC 3986 2.3). */
const merchantId = z
  .string()
  .regex(/^[A-Za-z0-9._~-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, hyphens, underscores or tildes')
  .describe('Id of the merchant, as used in tokens (`sub`) and links (`merchantId`); an integer is stored as text')
  .meta({ examples: ['1001'] });

const addressLine = plainTextOrNone(MAX_ADDRESS_CHARS);

const merchantFields = {
  name: name
    .describe('Name of the merchant on receipts and in messages to the switch')
    .meta({ examples: ['Corner Coffee'] }),
  street: addressLine
    .describe('Street of the merchant, for receipts; may be empty')
    .meta({ examples: ['1 Long Street'] }),
  city: addressLine.describe('City of the merchant, for receipts; may be empty').meta({ examples: ['Cape Town'] }),
  mcc: z
    .string()
    .regex(/^\d{4}$/, 'must be four digits')
    .describe('Merchant category code: the line of business, four digits (ISO 18245)')
    .meta({ examples: ['5814'] }),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'must be two capital letters')
    .describe('Country of the merchant, ISO 3166-1 alpha-2 code')
    .meta({ examples: ['ZA'] }),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be three capital letters')
    .describe('Currency of the merchant, ISO 4217 alphabetic code')
    .meta({ examples: ['ZAR'] }),
  timeZone: plainText(64)
    .describe('IANA time zone for the local times in receipts and messages')
    .meta({ examples: ['Africa/Johannesburg'] }),
  feesConfigId: numberedId
    .nullable()
    .describe('Value of transactionFeesConfigId in transactions of the merchant; null for no fees'),
  fee: z
    .number()
    .min(0)
    .max(MAX_FEE)
    .nullable()
    .describe(
      'Value of transactionFee in transactions of the merchant, in major units of the currency; null for no fees',
    ),
  settings: storableObject.describe(
    'Custom settings of the acquirer; stored and returned, not interpreted by the gateway',
  ),
  blocked,
};

export const newMerchant = z.object({
  id: merchantId
    .or(z.int().nonnegative().transform(String))
    .describe('Id of the merchant, as used in tokens (`sub`) and links (`merchantId`); an integer is stored as text'),
  integratorId: numberedId
    .describe('Id of the integrator of the merchant; cannot be changed later')
    .meta({ examples: [1] }),
  ...merchantFields,
  street: merchantFields.street.default(''),
  city: merchantFields.city.default(''),
  feesConfigId: merchantFields.feesConfigId.default(null),
  fee: merchantFields.fee.default(null),
  settings: merchantFields.settings.default({}),
  blocked: blocked.default(false),
});
export const merchantChange = z.object(merchantFields).partial();
export const storedMerchant = z
  .object({
    id: merchantId,
    integratorId: numberedId.describe('Id of the integrator of the merchant'),
    ...merchantFields,
    settings: z.record(z.string(), z.unknown()).describe('Custom settings of the acquirer, as stored'),
    ...times,
  })
  .meta({ id: 'Merchant' });

const terminalFields = {
  tid: z
    .string()
    .max(MAX_TID_CHARS)
    .regex(PRINTABLE, 'must be printable ASCII')
    .describe('Terminal id at the switch (ISO 8583 DE41), at most 8 characters')
    .meta({ examples: ['TW000001'] }),
  mid: z
    .string()
    .max(MAX_MID_CHARS)
    .regex(PRINTABLE, 'must be printable ASCII')
    .describe('Merchant id at the switch (ISO 8583 DE42), at most 15 characters')
    .meta({ examples: ['SHOP00000000001'] }),
  canTakePin: z.boolean().describe('Whether a PIN can be entered at the terminal'),
  profile: plainText(255)
    .nullable()
    .describe(
      'Name of the terminal profile for taps at the terminal, unless the token names another (`spCfg`); null for no profile',
    )
    .meta({ examples: [null] }),
  merchantId: merchantId
    .nullable()
    .describe(
      'Id of the only merchant that may use the terminal; its links and intents also use it if neither request nor token names one. Null for a terminal that every merchant of the acquirer may use',
    ),
};
const xTid = plainText(255)
  .describe('Terminal id in tokens (claim `x-tid`); unique within the acquirer')
  .meta({ examples: ['TERM0001'] });

export const newTerminal = z.object({
  xTid,
  ...terminalFields,
  canTakePin: terminalFields.canTakePin.default(true),
  profile: terminalFields.profile.default(null),
  merchantId: terminalFields.merchantId.default(null),
});
export const terminalChange = z.object(terminalFields).partial();
export const storedTerminal = z.object({ xTid, ...terminalFields, ...times }).meta({ id: 'Terminal' });

export const newBlockedDevice = z.object({ deviceInstallationId });
export const storedBlockedDevice = z.object({ deviceInstallationId, ...times }).meta({ id: 'BlockedDevice' });

export type NewAcquirer = z.output<typeof newAcquirer>;
export type StoredAcquirer = z.output<typeof storedAcquirer>;
export type NewIntegrator = z.output<typeof newIntegrator>;
export type StoredIntegrator = z.output<typeof storedIntegrator>;
export type NewMerchant = z.output<typeof newMerchant>;
export type StoredMerchant = z.output<typeof storedMerchant>;
export type NewTerminal = z.output<typeof newTerminal>;
export type StoredTerminal = z.output<typeof storedTerminal>;
export type NewBlockedDevice = z.output<typeof newBlockedDevice>;
export type StoredBlockedDevice = z.output<typeof storedBlockedDevice>;
