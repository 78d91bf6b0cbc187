/** Requests of a payment app about its link or intent (extensions). */
import { z } from 'zod';
import { LINK_STATES, shownMandate } from './link.ts';

export const qrCodePath = z.object({
  id: z.uuid().describe('Id of the intent, or reference of the link'),
});

export const qrCodeDetails = z
  .object({
    merchantName: z
      .string()
      .describe('Name of the merchant that the customer pays')
      .meta({ examples: ['Corner Coffee'] }),
    amount: z
      .string()
      .describe('Amount to pay as decimal text in major units; the amount of the tap (tag 9F02) must be equal')
      .meta({ examples: ['100.00'] }),
    amountMinor: z
      .int()
      .describe('Value of `amount` in minor units, such as cents')
      .meta({ examples: [10000] }),
    currency: z.string().describe('ISO 4217 currency code; the currency of the tap (tag 5F2A) must be equal'),
    merchantReference: z
      .string()
      .describe(
        'Reference to submit as merchantReference of the tap: the paymentReference, or a new reference if an earlier tap used that one',
      ),
    type: z
      .enum(['Tap', 'TT3'])
      .describe('Type of payment: Tap, or TT3, where the tap authenticates a debit order mandate and takes no money'),
    expiresAt: z.iso.datetime().describe('Time until which a tap may begin, ISO 8601 in UTC'),
    isConsumerApp: z
      .boolean()
      .describe("Whether a consumer app takes the payment; false for the merchant's own reader app"),
    ...z.object(shownMandate).partial().shape,
  })
  .meta({ id: 'QRCodeDetails' });

export type QrCodeDetails = z.infer<typeof qrCodeDetails>;

export const linkAcknowledgement = z
  .object({
    qrCodeId: z.uuid().describe('Id of the intent, or reference of the link'),
    status: z
      .union([
        z.enum(LINK_STATES),
        z
          .int()
          .min(0)
          .max(LINK_STATES.length - 1)
          .transform((number) => LINK_STATES[number]!),
      ])
      .describe('New qrCodeState, by name or number; an earlier state than the current one has no effect'),
    transactionId: z.uuid().optional().describe('Id of the transaction whose response the app received; optional'),
  })
  .meta({ id: 'QRCodeAcknowledgement' });

export const linkAcknowledged = z
  .object({
    qrCodeId: z.uuid().describe('Value of qrCodeId in the request'),
    qrCodeState: z.enum(LINK_STATES).describe('Current qrCodeState, after this request'),
  })
  .meta({ id: 'QRCodeAcknowledged' });
