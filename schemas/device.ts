/** Devices that can receive payments by push (interface 2.14, 4.18). */
import { z } from 'zod';
import { pageOf } from './admin.ts';
import { deviceInstallationId } from './card-data.ts';
import { merchantIdInput } from './link.ts';
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
