import type { Device } from '#schemas/device';
import type { Secret } from '../bytes/secret.ts';
import type { Tenant } from '../transactions/ports/store-ports.ts';

/** Whose device it is, and which. */
export interface DeviceKey {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly deviceInstallationId: string;
}

/** A device as it is registered; a second registration of the same one renews it. */
export interface DeviceRegistration extends DeviceKey {
  readonly friendlyName: string;
  readonly sealedPushToken: Uint8Array;
}

/** A device as pushes need it. */
export interface PushDevice extends DeviceKey {
  readonly id: string;
  readonly integratorId: number;
  /** Null when there is no app that could be reached. */
  readonly sealedPushToken: Uint8Array | null;
}

export interface DevicePage {
  /** Goes on behind this one. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Where devices are kept. Everything that is asked by a tenant is answered from its own alone. */
export interface DeviceStore {
  /** Undefined when the merchant has as many as it may. */
  register(registration: DeviceRegistration): Promise<{ device: Device; isNew: boolean } | undefined>;
  /** Newest first. */
  list(owner: Tenant, page: DevicePage): Promise<Device[]>;
  /** Undefined when there is none. */
  rename(owner: Tenant, id: string, friendlyName: string): Promise<Device | undefined>;
  remove(owner: Tenant, id: string): Promise<boolean>;
  /** By the id of the registration or by the device's own; two at most, as one phone can be several merchants'. */
  find(owner: Tenant, deviceId: string): Promise<PushDevice[]>;
  /** Drops a push token, unless the device has got another one meanwhile. */
  dropToken(device: PushDevice): Promise<void>;
}

/** Which merchants a tenant speaks for. */
export interface OwnedMerchants {
  /** The one that it has; undefined when it has several. */
  onlyMerchant(owner: Tenant): Promise<string | undefined>;
  findOwned(owner: Tenant, merchantId: string): Promise<{ readonly isBlocked: boolean } | undefined>;
}

/** What a device is sent (interface 6.2). */
export interface PushMessage {
  /** The link or intent that it tells of: for logs. */
  readonly reference: string;
  readonly pushToken: Secret<string>;
  /** All text, as push services carry it. Holds tokens: never logged. */
  readonly data: Readonly<Record<string, string>>;
  /** How long the push service may try to reach the device. */
  readonly ttlSeconds: number;
}

/** A payment that a device is to be told of. */
export interface PushedPayment {
  readonly reference: string;
  /** Opens the payment app; the intent token is in its fragment. */
  readonly url: string;
  /** The intent token by itself: what the SDK is configured with. */
  readonly token: string;
  /** Decimal text in major units. */
  readonly amount: string;
  readonly currency: string;
  readonly merchantReference: string;
}

/** Why a message will never be delivered as it is. The codes stand in `failureReason`. */
export type PushFailure =
  /** The device has no push token, or had one that is gone. */
  | 'NO_PUSH_TOKEN'
  /** The push service has no app of this token any more. */
  | 'UNREGISTERED'
  /** The push service takes no such message, or not from us. */
  | 'REFUSED'
  /** The installation has no push service. */
  | 'NOT_CONFIGURED';

export type PushResult =
  | { readonly kind: 'sent' }
  | { readonly kind: 'failed'; readonly reason: PushFailure }
  /** The push service is away or busy. */
  | { readonly kind: 'unavailable'; readonly retryAfterSeconds: number | undefined };

/** A push service. Never throws for what the service answers, or for its silence. */
export interface PushSender {
  send(message: PushMessage, timeoutMs: number): Promise<PushResult>;
}
