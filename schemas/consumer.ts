/** What a payment app asks and tells of the link or intent that it was handed (extensions). */
import { z } from 'zod';
import { LINK_STATES, shownMandate } from './link.ts';

export const qrCodePath = z.object({ id: z.uuid().describe('Consumer transaction id, or reference of the link') });

export const qrCodeDetails = z
  .object({
    merchantName: z
      .string()
      .describe('Whom the customer pays')
      .meta({ examples: ['Corner Coffee'] }),
    amount: z
      .string()
      .describe('Major units: 9F02 of the tap must say the same')
      .meta({ examples: ['100.00'] }),
    currency: z.string().describe('ISO 4217 code: 5F2A of the tap must say the same'),
    merchantReference: z
      .string()
      .describe('What the tap is to be submitted under: paymentReference, or another one when that has served'),
    type: z.enum(['Tap', 'TT3']).describe('TT3: the tap authenticates a mandate, and no money is taken'),
    expiresAt: z.iso.datetime().describe('Until then a tap may begin'),
    isConsumerApp: z.boolean().describe("false: for a merchant's own app"),
    ...z.object(shownMandate).partial().shape,
  })
  .meta({ id: 'QRCodeDetails' });

export type QrCodeDetails = z.infer<typeof qrCodeDetails>;

export const linkAcknowledgement = z
  .object({
    qrCodeId: z.uuid().describe('Consumer transaction id, or reference of the link'),
    status: z
      .union([
        z.enum(LINK_STATES),
        z
          .int()
          .min(0)
          .max(LINK_STATES.length - 1)
          .transform((number) => LINK_STATES[number]!),
      ])
      .describe('The qrCodeState that the app has come to, by name or number; one that lies behind changes nothing'),
    transactionId: z.uuid().optional().describe('The tap whose answer was received'),
  })
  .meta({ id: 'QRCodeAcknowledgement' });

export const linkAcknowledged = z
  .object({
    qrCodeId: z.uuid().describe('As it was asked for'),
    qrCodeState: z.enum(LINK_STATES).describe('Where it stands now'),
  })
  .meta({ id: 'QRCodeAcknowledged' });
