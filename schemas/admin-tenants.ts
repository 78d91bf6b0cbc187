/** Tenants: acquirers, their integrators, merchants and terminals, and the devices that they keep out. */
import { z } from 'zod';
import { blocked, name, numberedId, storableObject, times } from './admin.ts';
import { deviceInstallationId } from './card-data.ts';
import { plainText, plainTextOrNone } from './plain-text.ts';

/** DE41 is ans 8, DE42 ans 15 (ISO 8583:1987 4.4.1): printable ASCII, shorter ones are padded with blanks at the right. */
const MAX_TID_CHARS = 8;
const MAX_MID_CHARS = 15;
const PRINTABLE = /^[!-~](?:[ -~]*[!-~])?$/;
/** An address on a receipt. */
const MAX_ADDRESS_CHARS = 255;
/** No fee of one transaction is a million. */
const MAX_FEE = 1_000_000;

export const newAcquirer = z.object({ name, blocked: blocked.default(false) });
export const acquirerChange = z.object({ name, blocked }).partial();
export const storedAcquirer = z
  .object({ id: numberedId.describe('Its number, from 1'), name, blocked, ...times })
  .meta({ id: 'Acquirer' });

export const newIntegrator = z.object({ name, blocked: blocked.default(false) });
export const integratorChange = z.object({ name, blocked }).partial();
export const storedIntegrator = z
  .object({ id: numberedId.describe('Its number among those of the acquirer'), name, blocked, ...times })
  .meta({ id: 'Integrator' });

/** Of the unreserved characters of addresses (RFC 3986 2.3). */
const merchantId = z
  .string()
  .regex(/^[A-Za-z0-9._~-]{1,64}$/, 'not 1 to 64 letters, digits, dots, hyphens, underscores')
  .describe('As tokens and links name it (`sub`, `merchantId`); an integer is kept as its text')
  .meta({ examples: ['1001'] });

const addressLine = plainTextOrNone(MAX_ADDRESS_CHARS).describe('May be empty');

const merchantFields = {
  name: name.describe('As receipts show it, and as the switch is told').meta({ examples: ['Corner Coffee'] }),
  street: addressLine.meta({ examples: ['1 Long Street'] }),
  city: addressLine.meta({ examples: ['Cape Town'] }),
  mcc: z
    .string()
    .regex(/^\d{4}$/, 'not four digits')
    .describe('Merchant category code (ISO 18245)')
    .meta({ examples: ['5814'] }),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'not two capital letters')
    .describe('ISO 3166-1, alpha-2')
    .meta({ examples: ['ZA'] }),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'not three capital letters')
    .describe('ISO 4217, letters')
    .meta({ examples: ['ZAR'] }),
  timeZone: plainText(64)
    .describe('Of the IANA time zone database: local times of messages and receipts are in it')
    .meta({ examples: ['Africa/Johannesburg'] }),
  feesConfigId: numberedId.nullable().describe('transactionFeesConfigId of its transactions (2.1)'),
  fee: z
    .number()
    .min(0)
    .max(MAX_FEE)
    .nullable()
    .describe('transactionFee of its transactions (2.1), in major units of its currency'),
  settings: storableObject.describe('Of the acquirer’s own making: kept and shown, without a meaning here'),
  blocked,
};

export const newMerchant = z.object({
  id: merchantId.or(z.int().nonnegative().transform(String)),
  integratorId: numberedId.describe('The integrator that it belongs to, for good').meta({ examples: [1] }),
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
    integratorId: numberedId.describe('The integrator that it belongs to'),
    ...merchantFields,
    settings: z.record(z.string(), z.unknown()).describe('As they were given'),
    ...times,
  })
  .meta({ id: 'Merchant' });

const terminalFields = {
  tid: z
    .string()
    .max(MAX_TID_CHARS)
    .regex(PRINTABLE, 'not printable ASCII')
    .describe('DE41: its name at the switch, at most 8 characters')
    .meta({ examples: ['TW000001'] }),
  mid: z
    .string()
    .max(MAX_MID_CHARS)
    .regex(PRINTABLE, 'not printable ASCII')
    .describe('DE42: the merchant’s name at the switch, at most 15 characters')
    .meta({ examples: ['SHOP00000000001'] }),
  canTakePin: z.boolean().describe('Whether a PIN can be entered there (DE22, tag 9F33)'),
  profile: plainText(255)
    .nullable()
    .describe('The terminal profile that holds for its taps, unless their token names another one (`spCfg`)')
    .meta({ examples: [null] }),
  merchantId: merchantId
    .nullable()
    .describe('The merchant whose links and intents are paid there, where nothing else names a terminal'),
};
const xTid = plainText(255)
  .describe('Its name in tokens (`x-tid`), unique among those of the acquirer')
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
