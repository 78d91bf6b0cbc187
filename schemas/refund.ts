import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { DISPOSITIONS } from './transaction.ts';

/** Decimal text in major units, or the same as a JSON number. Whether the currency has so many decimals is the sale's to say. */
const amount = z.union([
  z.string().regex(/^\d{1,12}(\.\d{1,3})?$/, 'not a decimal amount'),
  z.number().positive().max(999_999_999_999),
]);

/** The body of a refund. `refundReference` is the refund's own merchantReference: unique among all of the merchant's. */
export const refundRequest = z
  .object({
    amount: amount.describe('Major units, as decimal text or a number').meta({ examples: ['25.00'] }),
    refundReference: merchantReference
      .describe("The refund's own merchantReference, unique among all of the merchant's")
      .meta({ examples: ['refund-1'] }),
  })
  .meta({ id: 'Refund' });

/**
 * The answer of a refund: the fields of 2.12 that a transaction without a card at hand has, flat, and the sale that it gives
 * back. Those of the reader, the chip and the PIN step are left out.
 */
export const refundAnswer = z
  .object({
    serviceReference: z.uuid().describe('Of the refund'),
    originalTransactionId: z.uuid().describe('The sale'),
    type: z.enum(DISPOSITIONS).describe('What became of it'),
    authorizationCode: z.string().describe('Of the issuer; empty without one'),
    amount: z.int().describe('Minor units'),
    currency: z.string().describe('ISO 4217 code'),
    merchantReference: z.string().describe('The refundReference'),
    cardScheme: z
      .string()
      .describe('Visa, Mastercard, Maestro, Amex, JCB, UnionPay, Discover, or the name of a domestic scheme'),
    cardType: z.string().describe('credit or debit, where the switch says so'),
    maskedPAN: z.string().describe('First six and last four digits'),
    isoResponseCode: z.string().describe('DE39, two characters; empty when no usable answer came'),
    paymentProviderReference: z.string().optional().describe("The processor's reference"),
    errorCode: z.int().optional().describe('Left out when approved: `GET /enums`, errorCodes'),
    errorMessage: z.string().optional().describe('The text of isoResponseCode, or why there is none'),
  })
  .meta({ id: 'RefundAnswer' });

export type RefundAnswer = z.infer<typeof refundAnswer>;

/** The answer of a void, with 202: the switch has yet to acknowledge it. The sale is Voided then; a webhook tells it. */
export const voidAnswer = z
  .object({
    serviceReference: z.uuid().describe('Of the void'),
    originalTransactionId: z.uuid().describe('The sale'),
    amount: z.int().describe('Minor units'),
    currency: z.string().describe('ISO 4217 code'),
  })
  .meta({ id: 'VoidAnswer' });

export type VoidAnswer = z.infer<typeof voidAnswer>;

/** The answer of an acknowledgement: where the transaction stands now. */
export const acknowledgement = z
  .object({
    serviceReference: z.uuid().describe('Transaction id'),
    status: z.literal('AcknowledgedByPhone').describe('Where it stands now'),
  })
  .meta({ id: 'Acknowledgement' });
