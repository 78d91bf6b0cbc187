import type { Device } from '#schemas/device';
import type { Secret } from '../codecs/bytes/secret.ts';
import type { Tenant } from '../payments/ports/store-ports.ts';

/** A device and its merchant. */
export interface DeviceKey {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly deviceInstallationId: string;
}

/**
 * The caller of a change: the user of a merchant's token, or null for an administrator. A device belongs to the first user
 * who registers it. Later only this user and administrators may change it.
 */
export type DeviceUser = string | null;

/** A device as it is registered; a second registration renews the first. */
export interface DeviceRegistration extends DeviceKey {
  readonly user: DeviceUser;
  readonly friendlyName: string;
  readonly sealedPushToken: Uint8Array;
}

/** The device data for a push. */
export interface PushDevice extends DeviceKey {
  readonly id: string;
  readonly integratorId: number;
  /** Null if there is no app that could be reached. */
  readonly sealedPushToken: Uint8Array | null;
}

export interface DevicePage {
  /** The page starts after this device. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Why a device was not changed: it does not exist, it belongs to another user, or the merchant has too many. */
export type DeviceRefusal = 'unknown' | 'ofAnotherUser' | 'tooMany';

/** Stores devices. Each call for a tenant returns only that tenant's devices. */
export interface DeviceStore {
  register(registration: DeviceRegistration): Promise<{ device: Device; isNew: boolean } | DeviceRefusal>;
  /** Newest first. */
  list(owner: Tenant, page: DevicePage): Promise<Device[]>;
  rename(owner: Tenant, user: DeviceUser, id: string, friendlyName: string): Promise<Device | DeviceRefusal>;
  remove(owner: Tenant, user: DeviceUser, id: string): Promise<'removed' | DeviceRefusal>;
  /**
   * Finds by the id of the registration or the device's own id; at most two, because one phone can belong to several
   * merchants.
   */
  find(owner: Tenant, deviceId: string): Promise<PushDevice[]>;
  /** Removes a push token, unless the device has registered another one meanwhile. */
  dropToken(device: PushDevice): Promise<void>;
}

/** The merchants of a tenant. */
export interface OwnedMerchants {
  /** The only merchant of an owner; undefined if it has several. */
  onlyMerchant(owner: Tenant): Promise<string | undefined>;
  findOwned(owner: Tenant, merchantId: string): { readonly isBlocked: boolean } | undefined;
}

/** The message to a device (interface 6.2). */
export interface PushMessage {
  /** Reference of the link or intent, for logs. */
  readonly reference: string;
  readonly pushToken: Secret<string>;
  /** Only text, as push services require. Contains tokens: never logged. */
  readonly data: Readonly<Record<string, string>>;
  /** How long the push service may try to reach the device. */
  readonly ttlSeconds: number;
}

/** A payment to be sent to a device. */
export interface PushedPayment {
  readonly reference: string;
  /** Opens the payment app; the intent token is in its fragment. */
  readonly url: string;
  /** The intent token alone, for the configuration of the SDK. */
  readonly token: string;
  /** Decimal text in major units. */
  readonly amount: string;
  readonly currency: string;
  readonly merchantReference: string;
}

/** Why a message can never be delivered. The codes are used in `failureReason`. */
export type PushFailure =
  /** The device has no push token, or its token was removed. */
  | 'NO_PUSH_TOKEN'
  /** The push service no longer has an app with this token. */
  | 'UNREGISTERED'
  /** The push service refuses such a message, or any message of this gateway. */
  | 'REFUSED'
  /** The installation has no push service. */
  | 'NOT_CONFIGURED';

export type PushResult =
  | { readonly kind: 'sent' }
  | { readonly kind: 'failed'; readonly reason: PushFailure }
  /** The push service is unavailable or busy. */
  | { readonly kind: 'unavailable'; readonly retryAfterSeconds: number | undefined };

/** The outcome of an attempt, for people. */
export interface PushRecord {
  readonly acquirerId: number;
  /** Reference of the link. */
  readonly reference: string;
  /** Id of the device's registration. */
  readonly deviceId: string;
  /** `queued`: the next attempt follows. */
  readonly outcome: 'sent' | 'queued' | PushFailure | 'UNAVAILABLE';
}

/** A push service. It does not throw for a response of the service, or for a missing one. */
export interface PushSender {
  send(message: PushMessage, timeoutMs: number): Promise<PushResult>;
}
