/** The tap of a phone (4.4) and its PIN step (4.5). */
import { z } from 'zod';
import { attestationHeader } from './attestation.ts';
import { deviceInstallationId, generalCardData, merchantReference, paymentCardData } from './card-data.ts';
import { MAX_TOKEN_CHARS } from './tokens.ts';
import { DISPOSITIONS, tagValue } from './transaction.ts';

/** The body of 4.4, `MobileTransaction`. Unknown fields are ignored. */
export const mobileTransaction = z
  .object({ merchantReference, generalCardData, paymentCardData })
  .meta({ id: 'MobileTransaction' });

export const mobileHeaders = z.object({
  'x-device-installation-id': deviceInstallationId,
  'x-device-attestation': attestationHeader.optional(),
});

/** 2.12. `errorCode` is omitted if approved; optional fields are omitted if unknown. */
export const onlineAuthorization = z
  .object({
    serviceReference: z.uuid().describe('Backend transaction id; used for PIN submission, refunds, voids and receipts'),
    type: z.enum(DISPOSITIONS).describe('Disposition of the transaction; Declined while a PIN is required'),
    authorizationCode: z
      .string()
      .describe('Authorisation code of the issuer; empty without an approval')
      .meta({ examples: ['123456'] }),
    tags: z.array(tagValue).describe('Data objects from the switch for the card; often empty'),
    isSingleTapAndPin: z.boolean().describe('Whether a PIN is required; submit the PIN with the pinToken'),
    pinToken: z
      .string()
      .optional()
      .describe('Token for the PIN submission, valid for 90 seconds; present if a PIN is required'),
    cardReaderId: z.string().describe('Identifier of the proximity reader; empty if the card data contained none'),
    cardReaderTransactionId: z
      .string()
      .describe('Transaction identifier of the reader; empty if the card data contained none'),
    amount: z
      .int()
      .describe('Amount in minor units, such as cents; the approved amount if that is less')
      .meta({ examples: [10000] }),
    amountMinor: z
      .int()
      .describe('Equal to `amount`; every response and event of this API has it (extension)')
      .meta({ examples: [10000] }),
    currency: z
      .string()
      .describe('ISO 4217 alphabetic currency code')
      .meta({ examples: ['ZAR'] }),
    merchantReference: z.string().describe('Reference of the transaction, from the request'),
    cardScheme: z
      .string()
      .describe(
        'Card scheme: Visa, Mastercard, Maestro, Amex, JCB, UnionPay, Discover, or the name of a domestic scheme; empty if unknown',
      )
      .meta({ examples: ['Visa'] }),
    cardType: z.string().describe('Card type, such as `credit` or `debit`; empty if the switch does not report it'),
    maskedPAN: z
      .string()
      .describe('Masked card number: first six digits, stars, last four digits')
      .meta({ examples: ['411111******1111'] }),
    isoResponseCode: z
      .string()
      .describe('Response code of the switch (ISO 8583 DE39), two characters; empty without a usable response')
      .meta({ examples: ['00'] }),
    association: z
      .string()
      .optional()
      .describe('Application label of the card, or the card scheme if the card has none; absent if both are unknown'),
    expiryDate: z
      .string()
      .optional()
      .describe('Expiry date of the card, MM/YY; absent if the card data was removed')
      .meta({ examples: ['12/28'] }),
    paymentProviderReference: z
      .string()
      .optional()
      .describe('Reference of the payment processor; absent if the processor gave none'),
    customValues: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Additional values of the acquirer or processor; absent if there are none'),
    errorCode: z.int().optional().describe('Error code, see `errorCodes` of `GET /enums`; absent if approved'),
    errorMessage: z
      .string()
      .optional()
      .describe('Text of the response code, or the reason why there is no response; absent if approved'),
  })
  .meta({ id: 'OnlineAuthorizationResponse' });

export type OnlineAuthorization = z.infer<typeof onlineAuthorization>;

/** The response of 4.4 and 4.5. */
export const tapResponse = z
  .object({ onlineAuthorizationResponse: onlineAuthorization.describe('Outcome of the tap') })
  .meta({ id: 'TapResponse' });

/** The path of a PIN. */
export const pinParams = z.object({
  transactionId: z.uuid().describe('Backend transaction id, from `serviceReference` of the tap response'),
});

/** 8 bytes, or 16 in ISO format 4 (ISO 9564-1:2017 9.3 and 9.4). */
const pinBlock = z.string().regex(/^(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{32})$/, 'must be 8 or 16 bytes in hexadecimal');
/** 10 bytes with TDES (ANSI X9.24-1), 12 with AES (X9.24-3). */
const ksn = z.string().regex(/^(?:[0-9A-Fa-f]{20}|[0-9A-Fa-f]{24})$/, 'must be 10 or 12 bytes in hexadecimal');

/** The body of 4.5: that of 4.4 with the token, and the PIN block unless the sealed blob contains it. */
export const mobilePin = mobileTransaction
  .extend({
    pinToken: z.string().min(1).max(MAX_TOKEN_CHARS).describe('Token from the response that required the PIN'),
    pinBlock: pinBlock
      .optional()
      .describe('Encrypted PIN block, 8 or 16 bytes in hexadecimal; required if paymentCardData contains none'),
    ksn: ksn
      .optional()
      .describe('Key serial number of the PIN block, 10 or 12 bytes in hexadecimal; required with pinBlock'),
  })
  .refine(({ pinBlock, ksn }) => pinBlock === undefined || ksn !== undefined, {
    path: ['ksn'],
    message: 'is required with pinBlock',
  })
  .meta({ id: 'MobilePin' });

/** Claims in addition to those of all tokens of the gateway. */
export const pinTokenClaims = z.object({
  /** The transaction. */
  txn: z.uuid(),
  /** The attempt that asked for the PIN; the next attempt uses up the token. */
  attempt: z.int().positive(),
  /** The device installation that may submit it. */
  device: z.string(),
});

export type PinTokenClaims = z.infer<typeof pinTokenClaims>;
