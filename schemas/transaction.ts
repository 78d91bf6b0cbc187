import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { day } from './moment.ts';
import { plainText } from './plain-text.ts';

export const DISPOSITIONS = [
  'Approved',
  'Declined',
  'DeclinedOffline',
  'UnableToGoOnline',
  'Indeterminate',
  'Voided',
] as const;

/** One data object of the chip. */
export const tagValue = z
  .object({
    tag: z
      .string()
      .describe('EMV tag in hexadecimal')
      .meta({ examples: ['9F26'] }),
    value: z
      .string()
      .describe('Value of the tag in hexadecimal')
      .meta({ examples: ['A1B2C3D4E5F60718'] }),
  })
  .meta({ id: 'TagValue' });

/** 2.2; empty before an outcome. */
const receiptData = z
  .object({
    effectiveDate: z
      .string()
      .describe('First day of validity of the card, yyyy/MM/dd; empty if the card does not state it'),
    expiryDate: z
      .string()
      .nullable()
      .describe('Expiry date of the card, MM/YY; null after the card data was removed')
      .meta({ examples: ['12/28'] }),
    authorizationCode: z.string().describe('Authorisation code of the issuer; empty without an approval'),
    tid: z.string().describe('Terminal id at the processor; empty if none was used'),
    transactionReference: z.string().describe('Transaction id'),
    merchantName: z.string().describe('Name of the merchant'),
    formattedMerchantAddress: z.string().describe('Address of the merchant on one line; may be empty'),
    transactionType: z
      .string()
      .describe('Name of the transaction type')
      .meta({ examples: ['Tap'] }),
    approvalText: z
      .string()
      .describe('Outcome for the receipt: Approved, Declined or Reversed')
      .meta({ examples: ['Approved'] }),
    aid: z
      .string()
      .describe('Application identifier (AID) of the card in hexadecimal; empty if unknown')
      .meta({ examples: ['A0000000031010'] }),
    amount: z
      .string()
      .describe('Currency code and decimal amount in major units')
      .meta({ examples: ['ZAR 100.00'] }),
    currency: z.string().describe('ISO 4217 alphabetic currency code'),
    applicationLabel: z.string().describe('Application label of the card; empty if the card has none'),
    applicationPreferredName: z
      .string()
      .nullable()
      .describe('Preferred application name of the card; null if the card has none'),
    association: z.string().describe('Application label of the card, or the card scheme if the card has none'),
    isoResponseCode: z
      .string()
      .describe('Response code of the switch (ISO 8583 DE39), two characters; empty without a response')
      .meta({ examples: ['00'] }),
    cryptogram: z.string().describe('Application cryptogram of the card (tag 9F26) in hexadecimal'),
    cryptogramType: z.string().describe('Type of the cryptogram: ARQC, TC or AAC; empty if unknown'),
    tvr: z.string().describe('Terminal verification results (tag 95) in hexadecimal'),
    date: z
      .string()
      .describe('Date of the transaction at the merchant, yyyy/MM/dd')
      .meta({ examples: ['2026/03/01'] }),
    time: z
      .string()
      .describe('Time of the transaction at the merchant, HH:mm')
      .meta({ examples: ['12:20'] }),
    maskedPan: z
      .string()
      .describe('Masked card number: first six digits, stars, last four digits')
      .meta({ examples: ['411111******1111'] }),
  })
  .partial()
  .meta({ id: 'ReceiptData' });

/** One attempt at a processor. */
const detail = z
  .object({
    tags: z.array(tagValue).describe('Data objects from the chip of the card, without secrets'),
    maskedPAN: z
      .string()
      .describe('Masked card number: first six digits, stars, last four digits')
      .meta({ examples: ['411111******1111'] }),
    paymentProviderId: z.number().nullable().describe('Id of the route of the attempt; null if none was chosen'),
  })
  .meta({ id: 'TransactionDetail' });

/** 2.1, with the spelling of the interface. */
export const transaction = z
  .object({
    id: z.uuid().describe('Transaction id (UUID v4)'),
    passthroughUserId: z
      .string()
      .nullable()
      .describe('Value of the claim `usr` if it names no registered user of the gateway; null otherwise'),
    merchantId: z
      .string()
      .describe('Id of the merchant. Two merchants of an integrator may use the same reference (extension)')
      .meta({ examples: ['1001'] }),
    merchantTransactionReference: z
      .string()
      .describe('Reference of the transaction (merchantReference), chosen by the merchant'),
    details: z.array(detail).describe('Card and routing details, one entry per attempt'),
    latitude: z
      .string()
      .describe('Latitude of the device in decimal degrees; empty if unknown')
      .meta({ examples: ['-33.9249'] }),
    longitude: z
      .string()
      .describe('Longitude of the device in decimal degrees; empty if unknown')
      .meta({ examples: ['18.4241'] }),
    deviceinstallationId: z.string().describe('Identifier of the app installation on the device'),
    transactionstatusId: z
      .int()
      .describe('Status id, see `statuses` of `GET /enums`')
      .meta({ examples: [8] }),
    status: z
      .string()
      .describe('Name of the status, see `statuses` of `GET /enums` (extension)')
      .meta({ examples: ['RespondedToPhone'] }),
    transactionDispositionId: z
      .int()
      .nullable()
      .describe('Disposition id, see `dispositions` of `GET /enums`; null before an outcome')
      .meta({ examples: [0] }),
    disposition: z
      .enum(DISPOSITIONS)
      .nullable()
      .describe('Name of the disposition; null before an outcome (extension)')
      .meta({ examples: ['Approved'] }),
    amount: z
      .string()
      .nullable()
      .describe(
        'Amount as decimal text in major units; the approved amount if that is less; null if the card data of a refused tap had none',
      )
      .meta({ examples: ['100.00'] }),
    amountMinor: z
      .int()
      .nullable()
      .describe('Value of `amount` in minor units, such as cents; null with it (extension)')
      .meta({ examples: [10000] }),
    currency: z
      .string()
      .nullable()
      .describe('ISO 4217 alphabetic currency code; null if the card data of a refused tap had none')
      .meta({ examples: ['ZAR'] }),
    responseCode: z
      .int()
      .nullable()
      .describe(
        'Response code of the switch (ISO 8583 DE39) as a number; null without a response and if the code contains letters',
      )
      .meta({ examples: [0] }),
    transactionTypeId: z
      .int()
      .describe('Transaction type id, see `transactionTypes` of `GET /enums`')
      .meta({ examples: [1] }),
    type: z
      .string()
      .describe('Name of the transaction type (extension)')
      .meta({ examples: ['Tap'] }),
    originalTransactionId: z
      .string()
      .nullable()
      .describe('Transaction id of the sale that a refund or void refers to; null otherwise'),
    acquirerId: z.int().describe('Id of the acquirer'),
    userId: z.string().describe('Id of the registered user who took the tap; empty if unknown'),
    transactionFeesConfigId: z
      .number()
      .nullable()
      .describe('Id of the fee configuration of the merchant; null without fees'),
    transactionFee: z.number().nullable().describe('Fee of the transaction in major units; null without fees'),
    authorisationCode: z
      .string()
      .nullable()
      .describe('Authorisation code of the issuer; empty if the issuer gave none, null before an outcome'),
    createdAt: z
      .string()
      .describe('Time of creation, ISO 8601 with milliseconds, UTC')
      .meta({ examples: ['2026-03-01T10:20:30.123Z'] }),
    updatedAt: z
      .string()
      .describe('Time of the last change, ISO 8601 with milliseconds, UTC')
      .meta({ examples: ['2026-03-01T10:20:31.456Z'] }),
    receiptData: receiptData.describe('Data for the receipt; an empty object before an outcome'),
  })
  .meta({ id: 'Transaction' });

export type TransactionView = z.infer<typeof transaction>;
export type ReceiptData = z.infer<typeof receiptData>;

/** A page is read in one statement; 500 rows are about 1 MB of JSON. */
const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 100;
/** Use `after` for later pages: the database reads the rows that an offset skips. */
const MAX_OFFSET = 100_000;
/** Major units with twelve digits. */
const MAX_AMOUNT = 999_999_999_999;

/** Only decimal digits are accepted as numbers in a query: `1e3`, ` 5` and `0x10` are refused. */
const decimal = (max: number) =>
  z
    .string()
    .regex(/^\d{1,12}(\.\d{1,4})?$/, 'must be a decimal number with at most 12 digits and 4 decimals')
    .transform(Number)
    .pipe(z.number().max(max));
const count = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));
const id = z.string().min(1).max(64);

/** 4.1. Unknown parameters are refused: a misspelt filter must not widen a list. */
export const transactionQuery = z
  .strictObject({
    integrator: id
      .optional()
      .describe('Id of the integrator whose transactions are listed; default: the integrator of the credential'),
    merchant: id
      .optional()
      .describe('Id of the merchant whose transactions are listed; default: the merchant of the credential'),
    user: plainText(255)
      .optional()
      .describe('Filter: user who took the tap; id or user name of a registered user, or the value of the claim `usr`'),
    startDate: day
      .optional()
      .describe('Filter: created on or after this UTC day, YYYY-MM-DD')
      .meta({ examples: ['2026-03-01'] }),
    endDate: day
      .optional()
      .describe('Filter: created on or before this UTC day, YYYY-MM-DD')
      .meta({ examples: ['2026-03-31'] }),
    limit: count(1, MAX_LIMIT).default(DEFAULT_LIMIT).describe('Maximum number of results, 1 to 500'),
    offset: count(0, MAX_OFFSET)
      .default(0)
      .describe('Number of results to skip, at most 100,000; use `after` for later pages'),
    minAmount: decimal(MAX_AMOUNT).optional().describe('Filter: minimum amount in major units'),
    maxAmount: decimal(MAX_AMOUNT).optional().describe('Filter: maximum amount in major units'),
    merchantReference: merchantReference
      .optional()
      .describe(
        'Filter: merchant reference of the transaction, or paymentReference of the link or intent that a tap paid or tried to pay',
      ),
    transactionDisposition: z
      .union([
        z.enum(DISPOSITIONS),
        z
          .string()
          .regex(/^[0-5]$/)
          .transform((digit) => DISPOSITIONS[Number(digit)]!),
      ])
      .optional()
      .describe('Filter: disposition, by name or number'),
    needsReview: z
      .stringbool({ truthy: ['true'], falsy: ['false'] })
      .optional()
      .describe(
        'Filter: `true` for transactions that a person must resolve with the acquirer, `false` for all others (extension)',
      ),
    after: z
      .uuid()
      .optional()
      .describe('Id of the last transaction of the previous page; the list continues after it (extension)'),
  })
  .refine(({ startDate, endDate }) => !startDate || !endDate || startDate <= endDate, {
    path: ['endDate'],
    message: 'must not be before startDate',
  });

export const transactionId = z.object({ id: z.uuid().describe('Transaction id (UUID)') });

/** The audit trail of one transaction (extension): one entry per transition, oldest first. */
export const transactionEvents = z.array(
  z
    .object({
      attempt: z.int().describe('Number of the attempt, from 1'),
      at: z.string().describe('Time of the event, ISO 8601 in UTC'),
      from: z
        .string()
        .nullable()
        .optional()
        .describe('Status before the transition; null for the first, absent for other events'),
      to: z.string().optional().describe('Status after the transition; absent for other events'),
      reversal: z
        .string()
        .optional()
        .describe(
          'New state of the reversal: owed (required, not sent yet), sending (an attempt is stored and will be sent), unsent (that attempt was not sent), confirming (one more repeat must be acknowledged), acknowledged, refused, or needsReview (a person must act)',
        ),
      reversalResponse: z
        .string()
        .optional()
        .describe(
          'Response to a reversal attempt that does not complete the reversal: refused, unableToLocate (the switch does not find the original), duplicate, or undecided (the meaning is not clear)',
        ),
      void: z.uuid().optional().describe('Transaction id of a requested void'),
      pin: z
        .string()
        .optional()
        .describe(
          'New state of the PIN step: awaiting, submitted, done, exhausted (no further PIN is accepted) or expired',
        ),
      late: z
        .string()
        .optional()
        .describe('Meaning of a late response, which does not change the disposition: approved, declined or unknown'),
      resolution: z
        .string()
        .optional()
        .describe(
          "Result of a review: what the switch's books say about the transaction; voided (no amount stands), approved (the amount stands) or adjusted (the books were corrected)",
        ),
      responseCode: z.string().optional().describe('Response code (ISO 8583 DE39) of a late response'),
      completion: z
        .string()
        .optional()
        .describe(
          'Result of the completion, the message that makes an approval post; `givenUp` if the switch did not accept the completion',
        ),
    })
    .meta({ id: 'TransactionEvent' }),
);
