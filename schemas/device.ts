/** Devices, and the payments that they receive by push (interface 2.14, 4.18). */
import { z } from 'zod';
import { pageOf } from './admin.ts';
import { deviceInstallationId } from './card-data.ts';
import { intentRequest, linkRequest, linkResponse, merchantIdInput } from './link.ts';
import { plainText } from './plain-text.ts';

/** FCM guarantees no length. Its tokens have 140 to 200 characters, and none over 4 KB is known. */
const MAX_PUSH_TOKEN_CHARS = 4_096;
/** Limit of a device's name, from the contract. */
const MAX_FRIENDLY_NAME_CHARS = 32;

const friendlyName = plainText(MAX_FRIENDLY_NAME_CHARS)
  .describe('Display name of the device, at most 32 characters')
  .meta({ examples: ['Till 3'] });
const id = z.uuid().describe('Id of the device registration');

/** For a credential with several merchants; any other credential uses its own merchant. */
const namedMerchant = merchantIdInput
  .optional()
  .describe('Id of the merchant; required if the credential covers several merchants')
  .meta({ examples: ['1001'] });

/**
 * The body of a registration. In Go, a generated `NewDevice` would collide with the function that constructs a `Device`.
 * A device that is already registered gets this name and this token.
 */
export const newDevice = z
  .object({
    deviceInstallationId,
    pushToken: z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII')
      .max(MAX_PUSH_TOKEN_CHARS)
      .describe('Push service token of the app installation; never returned')
      .meta({ examples: ['cXw1:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx'] }),
    friendlyName,
    merchantId: namedMerchant,
  })
  .meta({ id: 'DeviceRegistration' });

export type NewDevice = z.output<typeof newDevice>;

export const deviceChange = z.object({ friendlyName }).meta({ id: 'DeviceChange' });

export const registeredDevice = z.object({ id, deviceInstallationId, friendlyName }).meta({ id: 'RegisteredDevice' });

export const device = registeredDevice
  .extend({
    merchantId: z.string().describe('Id of the merchant that registered the device'),
    hasPushToken: z
      .boolean()
      .describe('Whether a push token is stored; false after the push service reported that the app was removed'),
    createdAt: z.string().describe('Time of registration, ISO 8601 in UTC'),
  })
  .meta({ id: 'Device' });

export type Device = z.infer<typeof device>;

export const removedDevice = z.object({ id }).meta({ id: 'RemovedDevice' });
export const devicePath = z.object({ id });
/** Newest first. */
export const devicePage = pageOf(z.uuid());

/** A payment for a device. */
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
