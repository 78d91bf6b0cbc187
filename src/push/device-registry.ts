import type { Device, NewDevice } from '#schemas/device';
import { Forbidden, invalidValue, NotFound, RequestRejected, SealError } from '../basics/errors.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { openBytes, type SealedFor, sealBytes } from '../card/seal-bytes.ts';
import { Secret } from '../codecs/bytes/secret.ts';
import type { Directory } from '../payments/ports/directory-ports.ts';
import type { Tenant } from '../payments/ports/store-ports.ts';
import type { DeviceKey, DevicePage, DeviceRefusal, DeviceStore, DeviceUser, OwnedMerchants } from './ports.ts';

/**
 * The devices of merchants. The SDK or a backend registers them, and the tenants to which the merchant belongs manage
 * them.
 */
export class DeviceRegistry {
  readonly #options;

  constructor(options: {
    readonly devices: DeviceStore;
    readonly vault: PushTokenVault;
    readonly merchants: OwnedMerchants;
    readonly directory: Pick<Directory, 'isBlockedDevice'>;
  }) {
    this.#options = options;
  }

  /**
   * Registers a device, or renews the name and token of a registered one.
   *
   * @throws NotFound for a merchant that does not belong to the owner; Forbidden for a blocked merchant or device, and a device of another user;
   * RequestRejected (INVALID_VALUES if the merchant must be named, DEVICE_LIMIT_REACHED)
   */
  async register(owner: Tenant, user: DeviceUser, given: NewDevice): Promise<{ device: Device; isNew: boolean }> {
    const { devices, vault, directory } = this.#options;
    const { deviceInstallationId, friendlyName, pushToken } = given;
    const { acquirerId } = owner;
    const merchantId = await this.#merchantOf(owner, given.merchantId);
    if (directory.isBlockedDevice(acquirerId, deviceInstallationId)) throw new Forbidden('BLOCKED_DEVICE');
    const key = { acquirerId, merchantId, deviceInstallationId };
    const sealedPushToken = vault.seal(key, pushToken);
    return orRefuse(await devices.register({ ...key, user, friendlyName, sealedPushToken }));
  }

  list(owner: Tenant, page: DevicePage): Promise<Device[]> {
    return this.#options.devices.list(owner, page);
  }

  /** @throws RequestRejected (DEVICE_NOT_REGISTERED); Forbidden for a device of another user */
  async rename(owner: Tenant, user: DeviceUser, id: string, friendlyName: string): Promise<Device> {
    return orRefuse(await this.#options.devices.rename(owner, user, id, friendlyName));
  }

  /** @throws RequestRejected (DEVICE_NOT_REGISTERED); Forbidden for a device of another user */
  async remove(owner: Tenant, user: DeviceUser, id: string): Promise<void> {
    orRefuse(await this.#options.devices.remove(owner, user, id));
  }

  async #merchantOf(owner: Tenant, named: string | undefined): Promise<string> {
    const { merchants } = this.#options;
    const id = named ?? owner.merchantId ?? (await merchants.onlyMerchant(owner));
    if (id === undefined)
      throw invalidValue('merchantId', 'is required because the credential covers several merchants');
    const merchant = merchants.findOwned(owner, id);
    if (!merchant) throw new NotFound();
    if (merchant.isBlocked) throw new Forbidden('FORBIDDEN');
    return id;
  }
}

function orRefuse<Done>(done: Done | DeviceRefusal): Done {
  if (done === 'ofAnotherUser') throw new Forbidden('FORBIDDEN');
  if (done === 'unknown') throw unknownDevice();
  if (done === 'tooMany') throw new RequestRejected('DEVICE_LIMIT_REACHED');
  return done as Done;
}

/** One rejection for an unknown device and for a device of another tenant. */
export function unknownDevice(): RequestRejected {
  return new RequestRejected('DEVICE_NOT_REGISTERED');
}

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
