/** Links and intents: their creation (4.11 to 4.14) and their status (4.6 to 4.8). */
import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { moment } from './moment.ts';
import { plainText } from './plain-text.ts';

/** Major units with twelve digits. */
const MAX_AMOUNT = 999_999_999_999;
/** Limit of a merchant id, the same as for stored ones. */
const MAX_MERCHANT_ID_CHARS = 64;
/** IBANs are the longest account numbers (ISO 13616-1). */
const MAX_ACCOUNT_CHARS = 34;
/** Side length of a QR code. A phone cannot read a smaller one, and no page shows a larger one than the maximum. */
const MIN_QR_CODE_PIXELS = 100;
const MAX_QR_CODE_PIXELS = 1_024;
const QR_CODE_PIXELS = 512;
const MIN_SESSION_MINUTES = 60;
const MAX_SESSION_MINUTES = 720;

/**
 * Decimal text in major units, or the same as a JSON number. The money functions check the decimals of the currency.
 * It has a name, as every alternative of types has: otherwise generators make a class of each property with it.
 */
export const decimalAmount = z
  .union([
    z.string().regex(/^\d{1,12}(\.\d{1,4})?$/, 'must be a decimal amount with at most 12 digits and 4 decimals'),
    z.number().positive().max(MAX_AMOUNT),
  ])
  .meta({ id: 'DecimalAmount' });

const amount = decimalAmount.transform(String).meta({ examples: ['100.00'] });

/** The id of a merchant in a request. */
export const merchantIdInput = z
  .union([plainText(MAX_MERCHANT_ID_CHARS), z.int().nonnegative().transform(String)])
  .meta({ id: 'MerchantId' });

const merchantId = merchantIdInput
  .describe('Merchant id from the merchant portal; an integer or text')
  .meta({ examples: [1001] });

const paymentReference = merchantReference
  .describe('Reference of the payment; no other open or paid link or intent of the merchant may use it')
  .meta({ examples: ['order-4711'] });
const currencyCode = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be three capital letters')
  .describe('ISO 4217 alphabetic currency code')
  .meta({ examples: ['ZAR'] });

/** The body of 4.13. */
export const intentRequest = z
  .object({
    merchantId,
    paymentReference,
    amount: amount.describe(
      'Amount to pay in major units, decimal text or a number; more than zero, at most 12 digits',
    ),
    timestamp: moment
      .describe('Time of the request, ISO 8601; at most 24 hours from the clock of the gateway')
      .meta({ examples: ['2026-11-20T17:00:00.000Z'] }),
    currencyCode,
    xTid: plainText(255)
      .optional()
      .describe("Terminal (`x-tid`) that takes the tap; the merchant's terminal if omitted (extension)"),
  })
  .meta({ id: 'IntentTransaction' });

/** The body of 4.11 and 4.12. */
export const linkRequest = intentRequest
  .extend({
    isConsumerApp: z
      .boolean()
      .describe(
        "Whether a consumer app takes the payment; false for the merchant's own reader app, which has no pay page",
      ),
    image: z
      .object({
        required: z.boolean().describe('Whether the response contains a QR code of the URL'),
        size: z
          .int()
          .min(MIN_QR_CODE_PIXELS)
          .max(MAX_QR_CODE_PIXELS)
          .default(QR_CODE_PIXELS)
          .describe('Side length of the QR code in pixels, 100 to 1024 (extension)'),
      })
      .describe('Request for a QR code of the URL'),
  })
  .meta({ id: 'Applink' });

const INSTALMENT_VISIBILITIES = ['both', 'maximumOnly', 'instalmentOnly'] as const;

/** Fields of a debit order in 2.4 besides its amounts. */
const mandateTerms = {
  collectionDay: z.int().min(1).max(31).describe('Day of the month on which the debit order is collected, 1 to 31'),
  creditorABSN: merchantReference.describe('Name of the creditor company').meta({ examples: ['ACME INSURE'] }),
  accountNumber: plainText(MAX_ACCOUNT_CHARS)
    .describe("Customer's account number, at most 34 characters")
    .meta({ examples: ['62001234567'] }),
  idNumber: z
    .string()
    .regex(/^\d{13}$/, 'must be 13 digits')
    .describe("Customer's id number, 13 digits")
    .meta({ examples: ['8001015009087'] }),
  instalmentVisibility: z
    .enum(INSTALMENT_VISIBILITIES)
    .describe('Amounts that the customer sees: the instalment, the maximum, or both'),
  contractReference: merchantReference
    .describe('Reference of the debit order contract, at most 255 characters')
    .meta({ examples: ['contract-12'] }),
};

const mandateRequest = {
  ...mandateTerms,
  instalmentAmount: amount.describe('Regular instalment in major units; not more than maxCollectionAmount'),
  maxCollectionAmount: amount.describe('Maximum amount of one collection, in major units'),
};

export const tt3IntentRequest = intentRequest.extend(mandateRequest).meta({ id: 'Tt3IntentTransaction' });
export const tt3LinkRequest = linkRequest.extend(mandateRequest).meta({ id: 'Tt3Applink' });

const expiresAt = z.iso.datetime().describe('Time until which the payment can begin, ISO 8601 in UTC (extension)');

/** The response of 2.8. */
export const linkResponse = z
  .object({
    url: z
      .string()
      .describe(
        'URL that opens the payment app. The part after `#` contains the intent token; browsers do not send it to servers',
      ),
    reference: z.uuid().describe('Reference of the link, for the status operations'),
    qrCode: z
      .string()
      .optional()
      .describe('QR code of the URL as a data URL (PNG in Base64); present if the request asked for it'),
    expiresAt,
  })
  .meta({ id: 'LinkResponse' });

/** The response of 2.9. */
export const intentResponse = z
  .object({
    id: z
      .uuid()
      .describe(
        'Id of the intent (consumer transaction id); the payment app receives it as the extra `transaction_id`',
      ),
    token: z.string().describe('Signed JWT for the payment app; the extra `jwt` of the intent'),
    expiresAt,
  })
  .meta({ id: 'IntentResponse' });

/** The body of 4.14; optional. */
export const sessionRequest = z
  .object({
    expiryMinutes: z
      .number()
      .min(MIN_SESSION_MINUTES)
      .max(MAX_SESSION_MINUTES)
      .default(MIN_SESSION_MINUTES)
      .describe('Lifetime of the token in minutes, 60 to 720'),
    merchantId: merchantId
      .optional()
      .describe('Id of the merchant; required if the credential covers several merchants (extension)'),
  })
  .nullish()
  .transform((body) => body ?? { expiryMinutes: MIN_SESSION_MINUTES, merchantId: undefined });

/** The response of 2.10. */
export const sessionResponse = z
  .object({
    token: z.string().describe('JWT for the creation of many intent transactions of the merchant'),
    expiresAt: z.iso.datetime().describe('Time at which the token expires, ISO 8601 in UTC (extension)'),
  })
  .meta({ id: 'IntentSessionResponse' });

/** The body of an intent with a session token; the merchant comes from the token, and the time is the current one. */
export const sessionIntentRequest = intentRequest
  .pick({ paymentReference: true, amount: true, currencyCode: true })
  .meta({ id: 'SessionIntentTransaction' });

export const linkReference = z.object({
  reference: z.uuid().describe('Reference of the link, or id of the intent, from the response to its creation'),
});

export const LINK_STATES = [
  'QRCodeGenerated',
  'QRCodeScanned',
  'TransactionStarted',
  'TransactionCreated',
  'ResponseReceivedByPhone',
] as const;

/** The five dispositions of every status document: a decline by the card is Declined here. */
const STATUS_DISPOSITIONS = ['Approved', 'Declined', 'UnableToGoOnline', 'Indeterminate', 'Voided'] as const;

const disposition = z
  .enum(STATUS_DISPOSITIONS)
  .nullable()
  .describe('Final outcome of the payment; null before an outcome');

/** 2.3. Fields of the transaction are null before a tap. */
export const linkStatus = z
  .object({
    qrCodeState: z.enum(LINK_STATES).describe('Progress of the payment on the phone'),
    transactionId: z.uuid().nullable().describe('Id of the last transaction for the link or intent; null before a tap'),
    merchantTransactionReference: z
      .string()
      .describe('Reference (merchantReference) of the last tap; the paymentReference before a tap'),
    userId: z.string().describe('Id of the user who took the tap; empty if unknown'),
    status: z
      .string()
      .max(64)
      .nullable()
      .describe('Status of the transaction, see `statuses` of `GET /enums`; null before a tap'),
    disposition,
    amount: z
      .string()
      .describe('Amount as decimal text in major units; the approved amount if that is less')
      .meta({ examples: ['100.00'] }),
    amountMinor: z
      .int()
      .describe('Value of `amount` in minor units, such as cents (extension)')
      .meta({ examples: [10000] }),
    currency: z.string().describe('ISO 4217 alphabetic currency code'),
    type: z.string().max(32).describe('Type of the payment: Tap'),
    responseCode: z
      .string()
      .nullable()
      .describe('ISO 8583 response code without a leading zero; can contain letters; null before a response')
      .meta({ examples: ['0'] }),
    authorisationCode: z
      .string()
      .nullable()
      .describe('Authorisation code of the issuer; empty if the issuer gave none, null before an outcome'),
    createdAt: z.iso.datetime().describe('Time of creation, ISO 8601 in UTC'),
    updatedAt: z.iso
      .datetime()
      .describe('Time of the last change to the link, the intent or its transaction, ISO 8601 in UTC'),
    paymentReference: z.string().describe('Reference of the payment, from the request that created it'),
    expired: z.boolean().describe('Whether the link or intent expired without payment (extension)'),
    expiresAt,
  })
  .meta({ id: 'LinkStatus' });

export type LinkStatus = z.infer<typeof linkStatus>;

const decimalText = z.string().meta({ examples: ['250.00'] });

/** A mandate in a response. */
export const shownMandate = {
  ...mandateTerms,
  instalmentAmount: decimalText.describe('Regular instalment as decimal text in major units'),
  maxCollectionAmount: decimalText.describe('Maximum amount of one collection as decimal text in major units'),
};

/** The status of a TT3 link, 2.4. */
export const tt3LinkStatus = linkStatus
  .extend({
    ...shownMandate,
    amount: z
      .number()
      .describe('Amount in major units, as a number')
      .meta({ examples: [100] }),
    type: z.string().max(32).describe('Type of the payment: TT3'),
  })
  .meta({ id: 'Tt3LinkStatus' });

export type Tt3LinkStatus = z.infer<typeof tt3LinkStatus>;
export type ShownMandate = z.infer<z.ZodObject<typeof shownMandate>>;

export const tapOnOwnPath = z.object({ merchantReference });

/** The status of a tap on a phone of the customer, 2.5. */
export const tapOnOwnStatus = z
  .object({
    id: z.uuid().describe('Id of the backend transaction'),
    merchantId: z
      .string()
      .describe(
        'Id of the merchant of the tap; of a token for several merchants, any may have used the reference (extension)',
      )
      .meta({ examples: ['1001'] }),
    merchantReference: z.string().describe('Value of merchantReference in the request'),
    disposition,
    errorCode: z
      .int()
      .nullable()
      .describe('Error code, see `errorCodes` of `GET /enums`; 0 if approved, null before an outcome'),
    message: z.string().optional().describe('Text of the error; absent without an error'),
    amount: z
      .string()
      .nullable()
      .describe(
        'Amount as decimal text in major units; the approved amount if that is less; null if the card data contained none (extension)',
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
      .describe('ISO 4217 code of the amount; null if the card data contained none (extension)')
      .meta({ examples: ['ZAR'] }),
  })
  .meta({ id: 'TapOnOwnStatus' });

export type TapOnOwnStatus = z.infer<typeof tapOnOwnStatus>;
