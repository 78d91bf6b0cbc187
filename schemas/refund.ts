import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { decimalAmount } from './link.ts';
import { onlineAuthorization } from './mobile-transaction.ts';
import { DISPOSITIONS } from './transaction.ts';

/**
 * The body of a refund. `refundReference` is the refund's own merchantReference, unique among all of the merchant's.
 */
export const refundRequest = z
  .object({
    amount: decimalAmount
      .describe(
        'Amount to refund in major units, decimal text or a number; the currency of the sale determines the decimals',
      )
      .meta({ examples: ['25.00'] }),
    refundReference: merchantReference
      .describe('Reference (merchantReference) of the refund; unique among all references of the merchant')
      .meta({ examples: ['refund-1'] }),
  })
  .meta({ id: 'Refund' });

/**
 * The response of a refund: the fields of 2.12 that apply to a transaction without a card, flat, and the refunded
 * sale. It omits fields of the reader, the chip and the PIN step.
 */
export const refundResponse = z
  .object({
    serviceReference: z.uuid().describe('Transaction id of the refund'),
    originalTransactionId: z.uuid().describe('Transaction id of the sale'),
    type: z.enum(DISPOSITIONS).describe('Disposition of the refund'),
    authorizationCode: z.string().describe('Authorisation code of the issuer; empty without an approval'),
    amount: z
      .string()
      .describe('Refunded amount as decimal text in major units')
      .meta({ examples: ['25.00'] }),
    amountMinor: z
      .int()
      .describe('Refunded amount in minor units, such as cents')
      .meta({ examples: [2500] }),
    currency: z.string().describe('ISO 4217 alphabetic currency code'),
    merchantReference: z.string().describe('Value of refundReference in the request'),
    cardScheme: z
      .string()
      .describe(
        'Card scheme: Visa, Mastercard, Maestro, Amex, JCB, UnionPay, Discover, or the name of a domestic scheme; empty if unknown',
      ),
    cardType: onlineAuthorization.shape.cardType,
    maskedPAN: z.string().describe('Masked card number: first six digits, stars, last four digits'),
    isoResponseCode: z
      .string()
      .describe('Response code of the switch (ISO 8583 DE39), two characters; empty without a usable response'),
    paymentProviderReference: onlineAuthorization.shape.paymentProviderReference,
    errorCode: onlineAuthorization.shape.errorCode,
    errorMessage: onlineAuthorization.shape.errorMessage,
  })
  .meta({ id: 'RefundResponse' });

export type RefundResponse = z.infer<typeof refundResponse>;

/**
 * The response of a void, with 202: the switch has not acknowledged it yet. When it does, the sale becomes Voided and
 * a webhook reports it.
 */
export const voidResponse = z
  .object({
    serviceReference: z.uuid().describe('Transaction id of the void'),
    originalTransactionId: z.uuid().describe('Transaction id of the sale'),
    amount: z
      .string()
      .describe('Amount of the sale as decimal text in major units')
      .meta({ examples: ['100.00'] }),
    amountMinor: z
      .int()
      .describe('Amount of the sale in minor units, such as cents')
      .meta({ examples: [10000] }),
    currency: z.string().describe('ISO 4217 alphabetic currency code'),
  })
  .meta({ id: 'VoidResponse' });

export type VoidResponse = z.infer<typeof voidResponse>;

/** The response of an acknowledgement: the current status of the transaction. */
export const acknowledgement = z
  .object({
    serviceReference: z.uuid().describe('Transaction id of the acknowledged tap'),
    status: z.literal('AcknowledgedByPhone').describe('Status of the transaction after the acknowledgement'),
  })
  .meta({ id: 'Acknowledgement' });
