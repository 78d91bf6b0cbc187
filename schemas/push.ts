/** Payments that are pushed to a device (interface 4.18). */
import { z } from 'zod';
import { deviceInstallationId } from './card-data.ts';
import { intentRequest, linkAnswer, linkRequest } from './link.ts';

export const newPush = z
  .object({
    deviceId: deviceInstallationId.describe('The device: its deviceInstallationId, or the id of its registration'),
    amount: intentRequest.shape.amount.describe('Major units, more than zero, at most 12 digits'),
    currency: intentRequest.shape.currencyCode,
    merchantReference: intentRequest.shape.paymentReference,
    image: linkRequest.shape.image.optional(),
  })
  .meta({ id: 'NewPush' });

const PUSH_STATUSES = ['sent', 'queued', 'failed'] as const;
const PUSH_FAILURES = ['NO_PUSH_TOKEN', 'UNREGISTERED', 'REFUSED', 'NOT_CONFIGURED'] as const;

/** The link is there whatever became of the message: as a QR code or by any other way, it can be paid all the same. */
export const pushAnswer = z
  .object({
    reference: z.uuid().describe('Of the link: for its status (4.6)'),
    status: z
      .enum(PUSH_STATUSES)
      .describe('sent: the push service has it. queued: the push service is away, we try on for five minutes'),
    url: linkAnswer.shape.url,
    qrCode: linkAnswer.shape.qrCode,
    expiresAt: linkAnswer.shape.expiresAt,
    failureReason: z
      .enum(PUSH_FAILURES)
      .optional()
      .describe(
        'NO_PUSH_TOKEN: the device must register anew. UNREGISTERED: its app is gone. REFUSED: the push service takes no such message. NOT_CONFIGURED: this installation has no push service',
      ),
  })
  .meta({ id: 'PushAnswer' });

export type PushAnswer = z.infer<typeof pushAnswer>;
