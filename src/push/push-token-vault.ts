import { Secret } from '../bytes/secret.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { openBytes, type SealedFor, sealBytes } from '../card/seal-bytes.ts';
import { SealError } from '../errors.ts';
import type { DeviceKey } from './ports.ts';

/** Push tokens at rest: sealed to their device and its merchant. Whoever has one can send that app anything in our name. */
export interface PushTokenVault {
  seal(device: DeviceKey, pushToken: string): Uint8Array;
  /** Undefined when its key is gone, or it belongs to another device: the device then has none until it registers anew. */
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
