/** Payments sent to a device by push (interface 4.18). */
import { z } from 'zod';
import { deviceInstallationId } from './card-data.ts';
import { intentRequest, linkRequest, linkResponse } from './link.ts';

export const newPush = z
  .object({
    deviceId: deviceInstallationId.describe(
      'Target device: the deviceInstallationId or the id of the device registration',
    ),
    amount: intentRequest.shape.amount.describe(
      'Amount to pay in major units, decimal text or a number; more than zero, at most 12 digits',
    ),
    currency: intentRequest.shape.currencyCode,
    merchantReference: intentRequest.shape.paymentReference,
    image: linkRequest.shape.image.optional(),
  })
  .meta({ id: 'NewPush' });

const PUSH_STATUSES = ['sent', 'queued', 'failed'] as const;
const PUSH_FAILURES = ['NO_PUSH_TOKEN', 'UNREGISTERED', 'REFUSED', 'NOT_CONFIGURED'] as const;

/** The link exists even if the message fails: a customer can pay it by QR code or in any other way. */
export const pushResponse = z
  .object({
    reference: z.uuid().describe('Reference of the created link, for `GET /consumer/QRCode/{reference}`'),
    status: z
      .enum(PUSH_STATUSES)
      .describe(
        'Delivery state of the push message. sent: the push service accepted the message. queued: the push service is unavailable, and the gateway retries for five minutes. failed: see failureReason',
      ),
    url: linkResponse.shape.url,
    qrCode: linkResponse.shape.qrCode,
    expiresAt: linkResponse.shape.expiresAt,
    failureReason: z
      .enum(PUSH_FAILURES)
      .optional()
      .describe(
        'Reason of a failed push; absent otherwise. NO_PUSH_TOKEN: the device must register again. UNREGISTERED: the app was removed from the device. REFUSED: the push service refused the message. NOT_CONFIGURED: this installation has no push service',
      ),
  })
  .meta({ id: 'PushResponse' });

export type PushResponse = z.infer<typeof pushResponse>;
