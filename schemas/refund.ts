import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { DISPOSITIONS } from './transaction.ts';

/** Decimal text in major units, or the same as a JSON number. Whether the currency has so many decimals is the sale's to say. */
const amount = z.union([
  z.string().regex(/^\d{1,12}(\.\d{1,3})?$/, 'not a decimal amount'),
  z.number().positive().max(999_999_999_999),
]);

/** The body of a refund. `refundReference` is the refund's own merchantReference: unique among all of the merchant's. */
export const refundRequest = z.object({ amount, refundReference: merchantReference }).meta({ id: 'Refund' });

/**
 * The answer of a refund: the fields of 2.12 that a transaction without a card at hand has, flat, and the sale that it gives
 * back. Those of the reader, the chip and the PIN step are left out.
 */
export const refundAnswer = z
  .object({
    serviceReference: z.uuid().describe('Of the refund'),
    originalTransactionId: z.uuid(),
    type: z.enum(DISPOSITIONS),
    authorizationCode: z.string(),
    amount: z.int().describe('Minor units'),
    currency: z.string(),
    merchantReference: z.string().describe('The refundReference'),
    cardScheme: z.string(),
    cardType: z.string(),
    maskedPAN: z.string(),
    isoResponseCode: z.string(),
    paymentProviderReference: z.string().optional(),
    errorCode: z.int().optional(),
    errorMessage: z.string().optional(),
  })
  .meta({ id: 'RefundAnswer' });

export type RefundAnswer = z.infer<typeof refundAnswer>;

/** The answer of a void, with 202: the switch has yet to acknowledge it. The sale is Voided then; a webhook tells it. */
export const voidAnswer = z
  .object({
    serviceReference: z.uuid().describe('Of the void'),
    originalTransactionId: z.uuid(),
    amount: z.int().describe('Minor units'),
    currency: z.string(),
  })
  .meta({ id: 'VoidAnswer' });

export type VoidAnswer = z.infer<typeof voidAnswer>;

/** The answer of an acknowledgement: where the transaction stands now. */
export const acknowledgement = z
  .object({ serviceReference: z.uuid(), status: z.literal('AcknowledgedByPhone') })
  .meta({ id: 'Acknowledgement' });
