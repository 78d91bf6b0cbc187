import { SealError } from '../basics/errors.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { openBytes, type SealedFor, sealBytes } from '../card/seal-bytes.ts';
import { Secret } from '../codecs/bytes/secret.ts';
import type { DeviceKey } from './ports.ts';

/**
 * Stored push tokens: sealed to their device and its merchant. A token allows sending any message to that app in the
 * gateway's name.
 */
export interface PushTokenVault {
  seal(device: DeviceKey, pushToken: string): Uint8Array;
  /**
   * Undefined if its key was removed, or it belongs to another device. The device then has no token until it
   * registers again.
   */
  open(device: DeviceKey, sealed: Uint8Array): Secret<string> | undefined;
}

export function createPushTokenVault({ webhookSealing: keys }: Pick<KeyRing, 'webhookSealing'>): PushTokenVault {
  return {
    seal: (device, pushToken) => sealBytes(keys, sealedFor(device), Buffer.from(pushToken)),
    open(device, sealed) {
      try {
        return new Secret(openBytes(keys, sealedFor(device), sealed).toString());
      } catch (error) {
        if (error instanceof SealError) return undefined;
        throw error;
      }
    },
  };
}

function sealedFor({ acquirerId, merchantId, deviceInstallationId }: DeviceKey): SealedFor {
  return { purpose: 'push', owner: JSON.stringify([acquirerId, merchantId, deviceInstallationId]) };
}
