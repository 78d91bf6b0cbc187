/** The words of links and intents: how they are made (4.11 to 4.14) and what has become of them (4.6 to 4.8). */
import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { moment } from './moment.ts';
import { plainText } from './plain-text.ts';

/** Major units of twelve digits. */
const MAX_AMOUNT = 999_999_999_999;
/** As long as ids of merchants are stored. */
const MAX_MERCHANT_ID_CHARS = 64;
/** IBANs are the longest account numbers there are (ISO 13616-1). */
const MAX_ACCOUNT_CHARS = 34;
/** A side of a QR code: below it a phone cannot read it, above it nobody shows it. */
const MIN_QR_CODE_PIXELS = 100;
const MAX_QR_CODE_PIXELS = 1_024;
const QR_CODE_PIXELS = 512;
const MIN_SESSION_MINUTES = 60;
const MAX_SESSION_MINUTES = 720;

/** Decimal text in major units, or the same as a JSON number. Whether the currency has so many decimals is the money's to say. */
const amount = z
  .union([z.string().regex(/^\d{1,12}(\.\d{1,3})?$/, 'not a decimal amount'), z.number().positive().max(MAX_AMOUNT)])
  .transform(String)
  .meta({ examples: ['100.00'] });

const merchantId = z
  .union([plainText(MAX_MERCHANT_ID_CHARS), z.int().nonnegative().transform(String)])
  .describe('Merchant id from the merchant portal')
  .meta({ examples: [1001] });

const paymentReference = merchantReference
  .describe('Reference of the payment; no other live or settled link of the merchant may have it')
  .meta({ examples: ['order-4711'] });
const currencyCode = z
  .string()
  .regex(/^[A-Z]{3}$/, 'not three capital letters')
  .describe('ISO 4217 code')
  .meta({ examples: ['ZAR'] });

/** The body of 4.13. */
export const intentRequest = z
  .object({
    merchantId,
    paymentReference,
    amount: amount.describe('Major units, more than zero, at most 12 digits'),
    timestamp: moment
      .describe('When the request was made: within 24 hours')
      .meta({ examples: ['2026-11-20T17:00:00.000Z'] }),
    currencyCode,
    xTid: plainText(255)
      .optional()
      .describe("The terminal that takes the tap (extension); the merchant's own when left out"),
  })
  .meta({ id: 'IntentTransaction' });

/** The body of 4.11 and 4.12. */
export const linkRequest = intentRequest
  .extend({
    isConsumerApp: z.boolean().describe("false: for a merchant's own app, without a pay page"),
    image: z
      .object({
        required: z.boolean().describe('Whether to draw a QR code of the URL'),
        size: z
          .int()
          .min(MIN_QR_CODE_PIXELS)
          .max(MAX_QR_CODE_PIXELS)
          .default(QR_CODE_PIXELS)
          .describe('Pixels of a side (extension)'),
      })
      .describe('The QR code'),
  })
  .meta({ id: 'Applink' });

const INSTALMENT_VISIBILITIES = ['both', 'maximumOnly', 'instalmentOnly'] as const;

/** What 2.4 says of a debit order besides its amounts. */
const mandateTerms = {
  collectionDay: z.int().min(1).max(31).describe('Day of the month on which the debit order is collected'),
  creditorABSN: merchantReference.describe('Name of the creditor company').meta({ examples: ['ACME INSURE'] }),
  accountNumber: plainText(MAX_ACCOUNT_CHARS)
    .describe("Customer's account number")
    .meta({ examples: ['62001234567'] }),
  idNumber: z
    .string()
    .regex(/^\d{13}$/, 'not 13 digits')
    .describe("Customer's id number")
    .meta({ examples: ['8001015009087'] }),
  instalmentVisibility: z.enum(INSTALMENT_VISIBILITIES).describe('Which of the two amounts the customer is shown'),
  contractReference: merchantReference.describe('Reference of the contract').meta({ examples: ['contract-12'] }),
};

const mandateRequest = {
  ...mandateTerms,
  instalmentAmount: amount.describe('Major units: what is collected as a rule; at most maxCollectionAmount'),
  maxCollectionAmount: amount.describe('Major units: the most that is ever collected at once'),
};

export const tt3IntentRequest = intentRequest.extend(mandateRequest).meta({ id: 'Tt3IntentTransaction' });
export const tt3LinkRequest = linkRequest.extend(mandateRequest).meta({ id: 'Tt3Applink' });

const expiresAt = z.iso.datetime().describe('Until then it can be paid (extension)');

/** 2.8. */
export const linkAnswer = z
  .object({
    url: z.string().describe('Opens the payment app; the token behind the # never leaves the phone'),
    reference: z.uuid().describe('Identifies the link in the status endpoints'),
    qrCode: z.string().optional().describe('data:image/png;base64,… of the URL; there when it was asked for'),
    expiresAt,
  })
  .meta({ id: 'LinkAnswer' });

/** 2.9. */
export const intentAnswer = z
  .object({
    id: z.uuid().describe('Consumer transaction id: `transaction_id` of the intent'),
    token: z.string().describe('Signed JWT for the payment app: `jwt` of the intent'),
    expiresAt,
  })
  .meta({ id: 'IntentAnswer' });

/** The body of 4.14; it may be left out. */
export const sessionRequest = z
  .object({
    expiryMinutes: z
      .number()
      .min(MIN_SESSION_MINUTES)
      .max(MAX_SESSION_MINUTES)
      .default(MIN_SESSION_MINUTES)
      .describe('How long the token is good, in minutes'),
    merchantId: merchantId.optional().describe('Needed where the credential has several merchants (extension)'),
  })
  .nullish()
  .transform((body) => body ?? { expiryMinutes: MIN_SESSION_MINUTES, merchantId: undefined });

/** 2.10. */
export const sessionAnswer = z
  .object({
    token: z.string().describe('JWT for many intent transactions of the merchant'),
    expiresAt: z.iso.datetime().describe('Until then the token is good (extension)'),
  })
  .meta({ id: 'IntentSessionAnswer' });

/** The body of an intent by session token; merchant and time are the token's and now. */
export const sessionIntentRequest = intentRequest
  .pick({ paymentReference: true, amount: true, currencyCode: true })
  .meta({ id: 'SessionIntentTransaction' });

export const linkReference = z.object({ reference: z.uuid().describe('As it was answered at creation') });

export const LINK_STATES = [
  'QRCodeGenerated',
  'QRCodeScanned',
  'TransactionStarted',
  'TransactionCreated',
  'ResponseReceivedByPhone',
] as const;

/** Five, as in every status document: what the card declined itself is Declined here. */
const STATUS_DISPOSITIONS = ['Approved', 'Declined', 'UnableToGoOnline', 'Indeterminate', 'Voided'] as const;

const disposition = z.enum(STATUS_DISPOSITIONS).nullable().describe('What became of the tap; null until it is known');

/** 2.3. What the tap brings is null before one. */
export const linkStatus = z
  .object({
    qrCodeState: z.enum(LINK_STATES).describe('How far it has come on a phone'),
    transactionId: z.uuid().nullable().describe('The last tap on it'),
    merchantTransactionReference: z.string().describe('What the tap was submitted under; paymentReference before one'),
    userId: z.string().describe('Who took the tap, where the gateway knows him; else empty'),
    status: z.string().max(64).nullable().describe('Where the tap stands: `GET /enums`, statuses'),
    disposition,
    amount: z
      .string()
      .describe('Major units; what was approved, where that is less')
      .meta({ examples: ['100.00'] }),
    currency: z.string().describe('ISO 4217 code'),
    type: z.string().max(32).describe('Tap'),
    responseCode: z
      .string()
      .nullable()
      .describe('ISO 8583 response code without a leading zero; codes can have letters')
      .meta({ examples: ['0'] }),
    authorisationCode: z.string().nullable().describe('Of the issuer; empty without one'),
    createdAt: z.iso.datetime().describe('When it was made'),
    updatedAt: z.iso.datetime().describe('When it, or its tap, last changed'),
    paymentReference: z.string().describe('As it was given at creation'),
    expired: z.boolean().describe('Nobody has paid in time, and nobody can any more (extension)'),
    expiresAt,
  })
  .meta({ id: 'LinkStatus' });

export type LinkStatus = z.infer<typeof linkStatus>;

const decimalText = z.string().meta({ examples: ['250.00'] });

/** A mandate as it is shown. */
export const shownMandate = {
  ...mandateTerms,
  instalmentAmount: decimalText.describe('Decimal text in major units'),
  maxCollectionAmount: decimalText.describe('Decimal text in major units'),
};

/** 2.4. */
export const tt3LinkStatus = linkStatus
  .extend({
    ...shownMandate,
    amount: z
      .number()
      .describe('Major units')
      .meta({ examples: [100] }),
    type: z.string().max(32).describe('TT3'),
  })
  .meta({ id: 'Tt3LinkStatus' });

export type Tt3LinkStatus = z.infer<typeof tt3LinkStatus>;
export type ShownMandate = z.infer<z.ZodObject<typeof shownMandate>>;

export const tapOnOwnPath = z.object({ merchantReference });

/** 2.5. */
export const tapOnOwnStatus = z
  .object({
    id: z.uuid().describe('Backend transaction id'),
    merchantReference: z.string().describe('As it was asked for'),
    disposition,
    errorCode: z.int().nullable().describe('0 when approved; null until there is an outcome: `GET /enums`, errorCodes'),
    message: z.string().optional().describe('There in the event of an error'),
    amount: z
      .string()
      .nullable()
      .describe('Decimal text in major units, the approved amount if that is less; null if none was read (extension)')
      .meta({ examples: ['100.00'] }),
    currency: z
      .string()
      .nullable()
      .describe('ISO 4217 code of the amount; null if none was read (extension)')
      .meta({ examples: ['ZAR'] }),
  })
  .meta({ id: 'TapOnOwnStatus' });

export type TapOnOwnStatus = z.infer<typeof tapOnOwnStatus>;
