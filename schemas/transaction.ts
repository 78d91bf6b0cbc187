import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { day } from './moment.ts';
import { plainText } from './plain-text.ts';

/** One data object of the chip. */
export const tagValue = z
  .object({
    tag: z
      .string()
      .describe('EMV tag in hex')
      .meta({ examples: ['9F26'] }),
    value: z
      .string()
      .describe('Its value in hex')
      .meta({ examples: ['A1B2C3D4E5F60718'] }),
  })
  .meta({ id: 'TagValue' });

/** 2.2; empty before an outcome. */
const receiptData = z
  .object({
    effectiveDate: z.string().describe('When the card becomes valid, yyyy/MM/dd; empty where the card does not say'),
    expiryDate: z
      .string()
      .nullable()
      .describe('When the card expires, MM/YY; null once card data was purged')
      .meta({ examples: ['12/28'] }),
    authorizationCode: z.string().describe('Of the issuer; empty without one'),
    tid: z.string().describe('The terminal at the processor'),
    transactionReference: z.string().describe('The id of the transaction'),
    merchantName: z.string().describe('As it stands on the receipt'),
    formattedMerchantAddress: z.string().describe('On one line; may be empty'),
    transactionType: z
      .string()
      .describe('By name')
      .meta({ examples: ['Tap'] }),
    approvalText: z
      .string()
      .describe('Approved, Declined or Reversed')
      .meta({ examples: ['Approved'] }),
    aid: z
      .string()
      .describe('The application on the card, in hex')
      .meta({ examples: ['A0000000031010'] }),
    amount: z
      .string()
      .describe('Currency code and amount in major units')
      .meta({ examples: ['ZAR 100.00'] }),
    currency: z.string().describe('ISO 4217 code'),
    applicationLabel: z.string().describe('The application as the card names it'),
    applicationPreferredName: z.string().nullable().describe('The name that the card prefers; null without one'),
    association: z.string().describe('The application label, else the scheme'),
    isoResponseCode: z
      .string()
      .describe('DE39 without a leading zero')
      .meta({ examples: ['0'] }),
    cryptogram: z.string().describe('Of the card, in hex'),
    cryptogramType: z.string().describe('ARQC, TC or AAC'),
    tvr: z.string().describe('Terminal verification results, in hex'),
    date: z
      .string()
      .describe('Of the purchase, yyyy/MM/dd')
      .meta({ examples: ['2026/03/01'] }),
    time: z
      .string()
      .describe('Of the purchase, HH:mm')
      .meta({ examples: ['12:20'] }),
    maskedPan: z
      .string()
      .describe('First six and last four digits')
      .meta({ examples: ['411111******1111'] }),
  })
  .partial()
  .meta({ id: 'ReceiptData' });

/** One attempt at a processor. */
const detail = z
  .object({
    tags: z.array(tagValue).describe('What the chip said, but for what is secret'),
    maskedPAN: z
      .string()
      .describe('First six and last four digits')
      .meta({ examples: ['411111******1111'] }),
    paymentProviderId: z.number().nullable().describe('The route that was taken; null when none was'),
  })
  .meta({ id: 'TransactionDetail' });

/** 2.1, spelled as the interface spells it. */
export const transaction = z
  .object({
    id: z.uuid().describe('Transaction id, UUID v4'),
    passthroughUserId: z
      .string()
      .nullable()
      .describe("The token's `usr` where that is not one of our users; null otherwise"),
    merchantTransactionReference: z.string().describe("The merchant's reference"),
    details: z.array(detail).describe('One entry per attempt'),
    latitude: z
      .string()
      .describe('Decimal degrees; empty when unknown')
      .meta({ examples: ['-33.9249'] }),
    longitude: z
      .string()
      .describe('Decimal degrees; empty when unknown')
      .meta({ examples: ['18.4241'] }),
    deviceinstallationId: z.string().describe('The installation of the app on the device'),
    transactionstatusId: z
      .int()
      .describe('Where it stands: `GET /enums`, statuses')
      .meta({ examples: [8] }),
    transactionDispositionId: z
      .int()
      .nullable()
      .describe('What became of it: `GET /enums`, dispositions; null until then')
      .meta({ examples: [0] }),
    amount: z
      .string()
      .describe('Decimal text in major units')
      .meta({ examples: ['100.00'] }),
    currency: z
      .string()
      .describe('ISO 4217 code')
      .meta({ examples: ['ZAR'] }),
    responseCode: z
      .number()
      .nullable()
      .describe('DE39 as a number; null without one, or when it has letters')
      .meta({ examples: [0] }),
    transactionTypeId: z
      .int()
      .describe('`GET /enums`, transactionTypes')
      .meta({ examples: [1] }),
    originalTransactionId: z.string().nullable().describe('Of a refund or void the sale; null otherwise'),
    acquirerId: z.int().describe('The acquirer'),
    userId: z.string().describe('The user who took it; empty when it is none of ours'),
    transactionFeesConfigId: z.number().nullable().describe('Of the merchant; null without fees'),
    transactionFee: z.number().nullable().describe('In major units; null without fees'),
    authorisationCode: z
      .string()
      .nullable()
      .describe('Of the issuer; empty when it gave none, null until there is an outcome'),
    createdAt: z
      .string()
      .describe('ISO 8601 with milliseconds, UTC')
      .meta({ examples: ['2026-03-01T10:20:30.123Z'] }),
    updatedAt: z
      .string()
      .describe('ISO 8601 with milliseconds, UTC')
      .meta({ examples: ['2026-03-01T10:20:31.456Z'] }),
    receiptData: receiptData.describe('Empty until there is an outcome'),
  })
  .meta({ id: 'Transaction' });

export type TransactionView = z.infer<typeof transaction>;
export type ReceiptData = z.infer<typeof receiptData>;

export const DISPOSITIONS = [
  'Approved',
  'Declined',
  'DeclinedOffline',
  'UnableToGoOnline',
  'Indeterminate',
  'Voided',
] as const;

/** A page is read in one statement; 500 rows are about 1 MB of JSON. */
const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 100;
/** Pages beyond it are reached by `after`: the database reads what it skips. */
const MAX_OFFSET = 100_000;
/** Major units of twelve digits. */
const MAX_AMOUNT = 999_999_999_999;

/** Query text is decimal digits and nothing else: `1e3`, ` 5` and `0x10` are no numbers here. */
const decimal = (max: number) =>
  z
    .string()
    .regex(/^\d{1,12}(\.\d{1,3})?$/, 'not a decimal number')
    .transform(Number)
    .pipe(z.number().max(max));
const count = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'not a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));
const id = z.string().min(1).max(64);

/** 4.1. Unknown parameters are refused: a misspelt filter must not widen a list. */
export const transactionQuery = z
  .strictObject({
    integrator: id
      .optional()
      .describe('All transactions of the integrator; the integrator of the credential unless given'),
    merchant: id.optional().describe('All transactions of the merchant; the merchant of the credential unless given'),
    user: plainText(255).optional().describe("The user's transactions alone"),
    startDate: day
      .optional()
      .describe('Created on this UTC day or later')
      .meta({ examples: ['2026-03-01'] }),
    endDate: day
      .optional()
      .describe('Created on this UTC day or earlier')
      .meta({ examples: ['2026-03-31'] }),
    limit: count(1, MAX_LIMIT).default(DEFAULT_LIMIT).describe('The most that are listed'),
    offset: count(0, MAX_OFFSET).default(0).describe('How many are skipped; further in, use `after`'),
    minAmount: decimal(MAX_AMOUNT).optional().describe('In major units, this much or more'),
    maxAmount: decimal(MAX_AMOUNT).optional().describe('In major units, this much or less'),
    merchantReference: merchantReference.optional().describe('With this reference alone'),
    transactionDisposition: z
      .union([
        z.enum(DISPOSITIONS),
        z
          .string()
          .regex(/^[0-5]$/)
          .transform((digit) => DISPOSITIONS[Number(digit)]!),
      ])
      .optional()
      .describe('With this outcome alone: its name or number'),
    needsReview: z
      .stringbool({ truthy: ['true'], falsy: ['false'] })
      .optional()
      .describe('Those alone that a person must look at, or those that none must (extension)'),
    after: z.uuid().optional().describe('Those behind the one with this id (extension)'),
  })
  .refine(({ startDate, endDate }) => !startDate || !endDate || startDate <= endDate, {
    path: ['endDate'],
    message: 'is before startDate',
  });

export const transactionId = z.object({ id: z.uuid().describe('Transaction id') });

/** The audit trail of one transaction (extension): an entry per move, oldest first. */
export const transactionEvents = z.array(
  z
    .object({
      attempt: z.int().describe('Of which attempt at a processor it is'),
      at: z.string().describe('When, ISO 8601 in UTC'),
      from: z.string().nullable().optional().describe('The status before; null at the beginning'),
      to: z.string().optional().describe('The status from then on'),
      reversal: z.string().optional().describe('A step of the reversal'),
      reversalAnswer: z
        .string()
        .optional()
        .describe('An answer to a reversal that did not end it: refused, unableToLocate, duplicate, undecided'),
      void: z.uuid().optional().describe('The void that this is about'),
      pin: z.string().optional().describe('A step of the PIN'),
      late: z.string().optional().describe('What a response said that came too late to decide anything'),
      responseCode: z.string().optional().describe('The response code (DE39) of a late response'),
      completion: z.string().optional().describe('givenUp: no switch has taken the completion of the approval'),
    })
    .meta({ id: 'TransactionEvent' }),
);
